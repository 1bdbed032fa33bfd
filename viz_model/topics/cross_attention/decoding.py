"""The target said step by step, up to the selected token: what is read, what is expected, what comes."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, theme
from viz_model.drawing.cells import ROW, Cells
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Mark, Panel, Path, Rect, Scene, Text
from viz_model.drawing.scene.writing import short
from viz_model.drawing.tables import Among, By, by
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.runs import generation
from viz_model.runs.generation import MOST_SAID, Sampling
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.cross_attention.row import row as one_row
from viz_model.topics.cross_attention.weights import facts, place, weights

MOST_STEPS = 12
"""Steps below each other at the most."""
TOP, PITCH, TALL, LEFT = 34.0, 32.0, 23.0, 0.08
"""Pixels above the first step, of a step, and of a box; the share of the width that the numbers of steps take."""


class Step(NamedTuple):
    """One step of decoding: the newest token read, the best guesses, and what the target has next.

    ``came`` is None after the last token; ``probability`` and ``rank`` (1 is first) are then NaN and 0.
    """

    reads: Token
    guesses: tuple[tuple[Token, float], ...]
    came: Token | None
    probability: float
    rank: int

    @property
    def hit(self) -> bool:
        """Whether the target goes on as predicted."""
        return self.came is not None and self.came.id == self.guesses[0][0].id


class Steps(NamedTuple):
    """Of all steps [Tq] whether the target ends there, and whether it goes on as predicted."""

    ends: np.ndarray
    hits: np.ndarray


class Own(NamedTuple):
    """A given target beside the model's own words.

    Attributes:
        same: tokens at the start in which they agree.
        own: of the model's own words that were worked out.
        target: of the given target.
        most: own words that are worked out at the most.
    """

    same: int
    own: int
    target: int
    most: int


STEP: Verdict[Steps] = Verdict(
    "cross_attention.step", Claim("end", lambda step: step.ends), Claim("hit", lambda step: step.hits)
)
OWN: Verdict[Own] = Verdict(
    "cross_attention.own",
    Claim("same", lambda own: own.same == own.target),
    Claim("cut", lambda own: own.same == own.own == own.most),
    Claim("apart", lambda own: own.same == 0),
)


def decoding(trace: Trace, k: int = 5) -> tuple[Step, ...]:
    """Every step of saying the target, in order.

    One run holds them all: position i of the decoder sees nothing beyond i, so it predicts what
    it would have predicted had the target ended there. This is what makes training with the true
    target as input ("teacher forcing") a single run.
    """
    read = trace.target_tokens
    following = torch.tensor([token.id for token in read[1:]], dtype=torch.long)[:, None]
    parts: list[tuple[Tensor, ...]] = []
    for logits, came in itertools.zip_longest(trace.chunks("logits"), following.split(64), fillvalue=following[:0]):
        total = logits.logsumexp(-1, keepdim=True)  # [≤ 64, 1]
        top = logits.topk(min(k, logits.shape[-1]))
        own = logits[: len(came)].gather(1, came)  # the last position has nothing that came
        chance = (own - total[: len(came)]).exp()[:, 0]
        parts.append((top.indices, (top.values - total).exp(), chance, 1 + (logits[: len(came)] > own).sum(-1)))
    ids, chances, probabilities, ranks = (torch.cat(each).tolist() for each in zip(*parts, strict=True))
    found = []
    for i, token in enumerate(read):
        guesses = tuple(zip(map(trace.tokenizer.token, ids[i]), chances[i], strict=True))
        is_last = i + 1 == len(read)
        came = (None, math.nan, 0) if is_last else (read[i + 1], probabilities[i], ranks[i])
        found.append(Step(token, guesses, *came))
    return tuple(found)


def steps(look: Look) -> tuple[Step, ...]:
    return look.once(lambda look: decoding(look.trace), "decoding")


def own_words(look: Look) -> tuple[Token, ...]:
    """What the model says to this source by itself, always taking the most probable token."""

    def make(look: Look) -> tuple[Token, ...]:
        trace = look.trace.whole
        begins = (trace.target_ids or ())[:1]
        decoder = generation.Decoder(trace.model, begins, source_ids=trace.ids, picture=trace.picture)
        said: list[Token] = []
        for step in generation.steps(decoder, trace.tokenizer, Sampling(temperature=0), seed=0):
            said.append(step.token)
            if len(said) == MOST_SAID or step.token.id == trace.tokenizer.end_of_text:
                break
        return tuple(said)

    return look.once(make, "own words")


def agreement(found: tuple[Step, ...], own: tuple[Token, ...]) -> int:
    """How many tokens at the start of the target are those that the model says by itself."""
    target = [step.came.id for step in found if step.came is not None]
    same = [a == b.id for a, b in zip(target, own, strict=False)]
    return same.index(False) if False in same else len(same)


def known(look: Look) -> dict[str, Any]:
    """For prose: of the step that reads the selected token."""
    found = steps(look)
    guesses = [step.guesses[0] for step in found]
    at = look.by("token", np.arange(len(found)))
    return {
        "token": look.token_named(),
        "n": look.by("token", np.arange(1, len(found) + 1), "whole"),
        "guess": Among([token.label for token, _ in guesses], at, is_code=True),
        "chance": look.by("token", np.array([chance for _, chance in guesses]), "percent"),
        "came": Among(["" if step.came is None else step.came.label for step in found], at, is_code=True),
        "p": look.by("token", np.array([step.probability for step in found]), "percent"),
        "rank": look.by("token", np.array([step.rank for step in found]), "0"),
    }


def title(look: Look) -> Iterator[Line]:
    given = known(look)
    yield look.title("decoding_title", n=given["n"], guess=given["guess"])
    yield look.text("decoding", start=facts(look)["start"])


def choose(look: Look) -> Chooser | None:
    """A slider over the steps; a step is the selected token."""
    if len(look) < 2:
        return None  # nothing to choose
    return Chooser("token", range(len(look)), look.words("step"), look.words("step_help"), is_scale=True)


class Column(NamedTuple):
    """What stands in a column, a box a step: "" where there is none.

    Attributes:
        texts, told: written in it, and said of it.
        roles, shades: its color, and how strong that is.
        hits: whether it is framed, because a prediction is right.
    """

    texts: list[str]
    told: list[str]
    roles: list[str]
    shades: list[float]
    hits: list[bool]


def table(look: Look) -> dict[str, Column]:
    """The columns: what the decoder reads, what the target has next, what is predicted, what the model would say."""
    found, own = steps(look), own_words(look)
    n, hits, first = len(found), [step.hit for step in found], [step.guesses[0] for step in found]
    colors = [theme.token(i) for i in range(n + 1)]
    reads = [step.reads.label for step in found]
    comes = ["" if step.came is None else step.came.label for step in found]
    odds = [f"{step.came.label} · {percent(step.probability)} · #{step.rank}" if step.came else "" for step in found]
    told = [f"{token.label} · {percent(chance)}" for token, chance in first]
    shades = [0.12 + 0.5 * chance for _, chance in first]
    says = [own[i].label if i < len(own) else "" for i in range(n)]
    same = [i < len(own) and step.came is not None and own[i].id == step.came.id for i, step in enumerate(found)]
    return {
        "reads": Column(reads, reads, colors[:-1], [0.2] * n, [False] * n),
        "comes": Column(comes, odds, colors[1:], [0.2] * n, hits),
        "predicts": Column([token.label for token, _ in first], told, ["output"] * n, shades, hits),
        "says": Column(says, says, ["residual"] * n, [0.2] * n, same),
    }


def draw(look: Look) -> Scene:
    """One row a step, with a box in every column.

    A line joins each token of the target to its place as the next step's input: the shift by one. Of a long target the
    steps around the selected token stand there; the writing of those after it is faint.
    """
    columns = look.once(table)
    n, positions = min(len(look), MOST_STEPS), np.arange(len(look))
    first = np.clip(positions - n // 2, 0, len(look) - n)
    marks: list[Mark] = []
    for k, name in enumerate(columns):
        title = look.words(f"column_{name}")
        marks.append(Text(id=f"head.{name}", text=title, x=_across(k + 0.5), y=16, anchor="middle", bold=True))
    for row in range(n):
        at, middle = by("token", first + row), TOP + PITCH * (row + 0.5)
        number: Any = Among([str(i) for i in positions], at)
        marks.append(Text(id=f"number.{row}", text=number, x=(LEFT - 0.02, 0), y=middle, anchor="end"))
        faint = by("token", np.where(first + row > positions, 0.5, 1.0))
        for k, (name, column) in enumerate(columns.items()):
            marks += _box(f"{name}.{row}", column, look.words(f"column_{name}"), at, k, middle, faint)
        if row + 1 < n:
            x = np.array([[_across(1.06)[0], 0], [_across(0.94)[0], 0]], np.float32)
            y = np.array([middle, middle + PITCH], np.float32)
            role: Any = Among(columns["comes"].roles, at)
            marks.append(Path(id=f"shift.{row}", x=x, y=y, stroke=role))
    frame: Any = by("token", (TOP + PITCH * (positions - first)).astype(np.float32))
    wide: dict[str, Any] = {"x": (LEFT, 0), "width": (1 - LEFT, -2), "height": PITCH}
    marks.append(Rect(id="newest", y=frame, stroke="accent", thick=2, **wide))
    panel = Panel(id="steps", marks=marks, height=TOP + PITCH * n + 4, min=300)
    scene = Scene(id="cross_attention.decoding", panels=[panel], title=look.words("decoding_alt"))
    return look.drawn(scene, ["tokens.ids", "logits"])


def _across(column: float) -> tuple[float, float]:
    return LEFT + (1 - LEFT) / 4 * column, 0.0


def _box(id: str, column: Column, name: str, at: By, k: int, middle: float, faint: Any) -> list[Mark]:
    """The box of a step, of which ``at`` is a table of numbers."""

    def among(values: list[Any]) -> Any:
        return Among(values, at)

    place: dict[str, Any] = {"x": _across(k + 0.06), "y": middle - TALL / 2, "height": TALL, "width": _wide(0.88)}
    label = among([f"{name}: {text}" if text else "" for text in column.told])
    is_there, fill = among([bool(text) for text in column.texts]), among(column.roles)
    text = among([short(one, 10) for one in column.texts])
    return [
        Rect(id=id, fill=fill, opacity=among(column.shades), label=label, present=is_there, **place),
        Rect(id=f"{id}.hit", stroke=fill, thick=1.5, present=among(column.hits), **place),
        Text(id=f"{id}.name", text=text, x=_across(k + 0.5), y=middle, anchor="middle", opacity=faint),
    ]


def _wide(share: float) -> tuple[float, float]:
    return (1 - LEFT) / 4 * share, 0.0


def tell(look: Look) -> Iterator[Line]:
    """What this step predicts, and what comes."""
    found = steps(look)
    each = Steps(np.array([step.came is None for step in found]), np.array([step.hit for step in found]))
    yield look.claim(STEP, each, "token", "text", **known(look))
    yield look.text("continuations")


def guesses(look: Look) -> Scene:
    """The most probable tokens of the step; the one that the target has next is framed."""
    found = steps(look)
    names = [token.label for step in found for token, _ in step.guesses]
    k = len(found[0].guesses)
    at = look.by("token", np.arange(len(names)).reshape(-1, k))
    chances = look.by("token", np.array([[chance for _, chance in step.guesses] for step in found]))
    ids = np.array([[token.id for token, _ in step.guesses] for step in found])
    where = Cells("probs", (look.by("token", np.arange(len(found))), ROW), rows=look.by("token", ids))
    came = [step.rank - 1 if 0 < step.rank <= k else -1 for step in found]
    told = "{{name}}: {{exact}}"
    exact = chances._replace(write="%4")
    series = chart.Bars("", chances, "output", told=told, write="percent", facts={"exact": exact}, where=where)
    scene = chart.bars(
        "cross_attention.guesses", look.words("guesses_alt"), Among(names, at), [series],
        chart.Axis(0.0, 1.0), chosen=look.by("token", np.array(came)), row=27,
    )  # fmt: skip
    return look.drawn(scene, ["probs"])


def row(look: Look) -> Scene:
    """What the newest token reads in the source."""
    return one_row(look, "cross_attention.row", "row_alt", place(look), weights(look), "cross")


def compare(look: Look) -> Iterator[Line]:
    """The given target beside the model's own words."""
    found, own = steps(look), own_words(look)
    if len(found) < 2:
        return
    beside = Own(agreement(found, own), len(own), len(found) - 1, MOST_SAID)
    yield look.text("own")
    yield look.claim(OWN, beside, "", "text", n=beside.same, n_target=beside.target)
