"""The last stops: the answer, what breaks without a part, and how the numbers came about."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.cells import COLUMN
from viz_model.drawing.scene import Mark, Path, Rect, Text, points
from viz_model.drawing.writing import percent
from viz_model.topics.walk.pictures.lines import Stream, outline, start, strips, table
from viz_model.topics.walk.pictures.stage import LEFT, TOP, Guess, Shot, Stage, at, bars, heading, lengths, wide


class Answer(NamedTuple):
    """From the last line to the next token.

    Attributes:
        line: [D] what the table is asked with, and its site.
        guesses: the most probable tokens, with ``logits``.
        chosen: the token that is taken: the most probable; "" where none joins the text.
        then: what comes after that.
        warmed: a temperature with the probabilities of ``guesses`` there; none where nothing is drawn.
        n_vocab: how many tokens there are.
    """

    line: np.ndarray
    site: str
    guesses: tuple[Guess, ...]
    logits: tuple[float, ...]
    chosen: str
    then: tuple[Guess, ...]
    warmed: tuple[tuple[float, tuple[float, ...]], ...]
    position: int
    n_vocab: int


def out(stage: Stage, view: Answer, sample: np.ndarray) -> list[Shot]:
    """``sample`` [S, D] are rows of the table, as at the stop where the rows were pulled out."""
    say, still, row = stage.say, stage.chips(), stage.asking
    own: dict[str, Any] = {"site": view.site, "where": (stage.first + row, COLUMN)}
    top = float(np.abs(view.line).max(initial=0))
    still.append(stage.line(row, f"row.{row}", view.line, x=LEFT, width=wide(0.3), top=top, **own))
    if not view.guesses:
        return [Shot(say("out_vectors"), still)]
    largest = max(abs(logit) for logit in view.logits) or 1.0
    lengths = [max(0.0, logit) / largest for logit in view.logits]
    written = [f"{logit:.2f}".replace("-", "−") for logit in view.logits]

    def shown(guesses: tuple[Guess, ...], title: str, **more: Any) -> list[Mark]:
        return bars(guesses, title=title, left=0.36, **more)

    scores = shown(view.guesses, say("logits"), written=written, shares=lengths)
    chances = shown(view.guesses, say("chances"), position=view.position)
    picked = shown(view.guesses, say("chances"), position=view.position, marked=0)
    shots = [
        Shot(say("out_table", n=f"{view.n_vocab:,}"), [*still, *table(stage, sample, view.n_vocab)], 2),
        Shot(say("out_logits"), [*still, *scores], 2, 1.2),
        Shot(say("out_softmax"), [*still, *chances], 2, 1.2),
    ]
    for t, warm in view.warmed:
        changed = shown(_with(view.guesses, warm), say("warmed", t=f"{t:g}"))
        shots.append(Shot(say("out_warmed", t=f"{t:g}"), [*still, *changed], 2, 1.0))
    shots.append(
        Shot(say("out_pick" if view.chosen else "out_place", token=view.guesses[0].label), [*still, *picked], 2)
    )
    if view.chosen:
        # The line has become the token that joins the text.
        joined = [*stage.chips(), *stage.chip(stage.n, view.chosen)]
        shots.append(Shot(say("out_joins", token=view.chosen), [*joined, *picked], 2, 1.2))
        if view.then:
            following = shown(view.then, say("bars", token=view.chosen))
            shots.append(Shot(say("out_again"), [*joined, *following], 2, 1.2))
    return shots


def _with(guesses: tuple[Guess, ...], chances: tuple[float, ...]) -> tuple[Guess, ...]:
    """The same tokens with other chances."""
    return tuple(guess._replace(chance=chance) for guess, chance in zip(guesses, chances, strict=True))


class Broken(NamedTuple):
    """The same tokens without a part.

    Attributes:
        name: of the part.
        guesses: as the model is.
        chances: of the same tokens without the part.
        first: the first guess then.
    """

    name: str
    guesses: tuple[Guess, ...]
    chances: tuple[float, ...]
    first: str


def broken(stage: Stage, guesses: tuple[Guess, ...], view: Broken | None) -> list[Shot]:
    """The model as it is, and then without a part, where one was taken out."""
    say, still = stage.say, stage.chips()
    whole = Shot(say("break_whole"), [*still, *bars(guesses, title=say("chances"), left=0.2)], 1.6)
    if view is None:
        return [whole]
    marks = bars(_with(guesses, view.chances), title=say("without", what=view.name), left=0.2)
    for n, guess in enumerate(guesses):
        x, y = at(0.2 + 0.8 * guess.chance, -1), TOP + 36 * n
        marks.append(Rect(id=f"before.{n}", x=x, y=y, width=2, height=28, fill="ink", opacity=0.6))
    return [whole, Shot(say("break_without", what=view.name, first=view.first), [*still, *marks], 2.6, 1.2)]


class Learnt(NamedTuple):
    """The loss of a training run: [P] steps and the mean loss there; and how many tokens the model chose among."""

    steps: np.ndarray
    loss: np.ndarray
    n_vocab: int


def learnt(stage: Stage, view: Learnt) -> list[Shot]:
    say, still = stage.say, stage.chips()
    blind = {"n": f"{view.n_vocab:,}", "loss": f"{math.log(view.n_vocab):.1f}"}
    tall = stage.height - TOP - 40
    x = 0.1 + 0.86 * view.steps / view.steps.max()
    y = TOP + tall * (1 - view.loss / float(view.loss.max()))
    first, last = (f"{view.loss[n]:.1f}" for n in (0, -1))
    steps, right = say("steps", n=f"{int(view.steps[-1]) + 1:,}"), at(0.96)
    down = points([0, 1, 1], pixels=tall) + np.array([0, TOP])
    axis: list[Mark] = [
        Path(id="axis", x=lengths(np.array([0.1, 0.1, 0.96])), y=down, stroke="muted", thick=1),
        heading("loss", say("loss"), at(0.1)),
        Text(id="loss.first", text=first, x=at(0.1, -6), y=float(y[0]), anchor="end", size=12),
        Text(id="loss.last", text=last, x=at(1, -2), y=float(y[-1]) - 12, anchor="end", size=12, bold=True),
        Text(id="loss.steps", text=steps, x=right, y=TOP + tall + 16, anchor="end", size=12),
    ]

    def curve(count: int) -> Mark:
        shown = np.minimum(np.arange(len(x)), count - 1)
        down = np.stack([np.zeros(len(x)), y[shown]], -1).astype(np.float32)
        return Path(id="curve", x=lengths(x[shown]), y=down, stroke="accent", thick=2)

    return [
        Shot(say("learnt_start", **blind), [*still, *axis[:3], curve(2)], 1.6),
        Shot(say("learnt_curve", first=first, last=last), [*still, *axis, curve(len(x))], 2.4, 2.4),
    ]


def end(stage: Stage, stream: Stream, embedded: np.ndarray, guesses: tuple[Guess, ...]) -> list[Shot]:
    """The whole machine once more."""
    marks = [
        *stage.chips(),
        *start(stage, embedded),
        *outline(stage, stream),
        *strips(stage, stream, len(stream.values)),
    ]
    if guesses:
        y = stage.y(stage.n) + 14
        told = f"{guesses[0].label} {percent(guesses[0].chance)}"
        marks.append(Text(id="lens.last", text=told, x=at(1, -2), y=y, anchor="end", size=14, bold=True))
    return [Shot(stage.say("end_whole"), marks)]
