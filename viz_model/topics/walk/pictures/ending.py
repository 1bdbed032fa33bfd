"""The last stops: the answer, what breaks without a part, and how the numbers came about."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from viz_model.drawing.cells import COLUMN
from viz_model.drawing.scene import Cells, Mark, Path, Rect, Text, points
from viz_model.drawing.writing import percent
from viz_model.topics.walk.pictures.lines import Stream, outline, strips
from viz_model.topics.walk.pictures.stage import (
    LEFT,
    TOP,
    Guess,
    Shot,
    Stage,
    at,
    bars,
    chip,
    chips,
    heading,
    lengths,
    rows,
    vector,
    wide,
)


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
    say, still, row = stage.say, chips(stage), stage.asking
    top = float(np.abs(view.line).max(initial=0))
    line = vector(
        f"row.{row}",
        view.line,
        x=LEFT,
        y=stage.y(row),
        width=wide(0.3),
        height=stage.high,
        top=top,
        name=stage.name,
        site=view.site,
        where=(stage.first + row, COLUMN),
    )
    if not view.guesses:
        return [Shot(say("out_vectors"), [*still, line])]
    room = stage.height - TOP - 8
    table = Cells(
        id="table",
        x=at(0.56),
        y=TOP,
        width=wide(0.44),
        height=room,
        values=sample,
        coarse=True,
        rows=[""] * len(sample),
        top=float(np.abs(sample).max(initial=0)) or 1.0,
        walk=False,
        opacity=0.45,
    )
    frame = Rect(id="table.frame", x=at(0.56), y=TOP, width=wide(0.44), height=room, stroke="muted", thick=1)
    title = heading("table", say("table", n=f"{view.n_vocab:,}"), at(1), "end")
    largest = max(abs(logit) for logit in view.logits) or 1.0
    lengths = [max(0.0, logit) / largest for logit in view.logits]
    written = [f"{logit:.2f}".replace("-", "−") for logit in view.logits]
    scores = bars(stage, view.guesses, title=say("logits"), left=0.36, written=written, shares=lengths)
    chances = bars(stage, view.guesses, title=say("chances"), left=0.36, position=view.position)
    picked = bars(stage, view.guesses, title=say("chances"), left=0.36, marked=0, position=view.position)
    shots = [
        Shot(say("out_table", n=f"{view.n_vocab:,}"), [*still, line, table, frame, title], 2),
        Shot(say("out_logits"), [*still, line, *scores], 2, 1.2),
        Shot(say("out_softmax"), [*still, line, *chances], 2, 1.2),
        *_warmed(stage, view, [*still, line]),
        Shot(say("out_pick" if view.chosen else "out_place", token=view.guesses[0].label), [*still, line, *picked], 2),
    ]
    if view.chosen:
        joined = chip(stage, stage.n, view.chosen)
        shots.append(Shot(say("out_joins", token=view.chosen), [*still, *joined, *picked], 2, 1.2))
        if view.then:
            following = bars(stage, view.then, title=say("bars", token=view.chosen), left=0.36)
            shots.append(Shot(say("out_again"), [*still, *joined, *following], 2, 1.2))
    return shots


def _warmed(stage: Stage, view: Answer, still: list[Mark]) -> list[Shot]:
    """The same tokens at other temperatures."""
    shots = []
    for t, chances in view.warmed:
        changed = [guess._replace(chance=chance) for guess, chance in zip(view.guesses, chances, strict=True)]
        told = bars(stage, changed, title=stage.say("warmed", t=f"{t:g}"), left=0.36)
        shots.append(Shot(stage.say("out_warmed", t=f"{t:g}"), [*still, *told], 2, 1.0))
    return shots


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
    say, still = stage.say, chips(stage)
    whole = Shot(say("break_whole"), [*still, *bars(stage, guesses, title=say("chances"), left=0.2)], 1.6)
    if view is None:
        return [whole]
    changed = [guess._replace(chance=chance) for guess, chance in zip(guesses, view.chances, strict=True)]
    marks = bars(stage, changed, title=say("without", what=view.name), left=0.2)
    marks += [
        Rect(
            id=f"before.{n}",
            x=at(0.2 + 0.8 * guess.chance, -1),
            y=TOP + 36 * n,
            width=2,
            height=28,
            fill="ink",
            opacity=0.6,
        )
        for n, guess in enumerate(guesses)
    ]
    return [whole, Shot(say("break_without", what=view.name, first=view.first), [*still, *marks], 2.6, 1.2)]


class Learnt(NamedTuple):
    """The loss of a training run: [P] steps and the mean loss there; and how many tokens the model chose among."""

    steps: np.ndarray
    loss: np.ndarray
    n_vocab: int


def learnt(stage: Stage, view: Learnt) -> list[Shot]:
    say, still = stage.say, chips(stage)
    low, high = 0.0, float(view.loss.max())
    blind = {"n": f"{view.n_vocab:,}", "loss": f"{math.log(view.n_vocab):.1f}"}
    tall = stage.height - TOP - 40
    x = 0.1 + 0.86 * view.steps / view.steps.max()
    y = TOP + tall * (1 - (view.loss - low) / (high - low))
    axis: list[Mark] = [
        Path(
            id="axis",
            x=lengths(np.array([0.1, 0.1, 0.96])),
            y=points([0, 1, 1], pixels=tall) + np.array([0, TOP]),
            stroke="muted",
            thick=1,
        ),
        heading("loss", say("loss"), at(0.1)),
        Text(id="loss.first", text=f"{view.loss[0]:.1f}", x=at(0.1, -6), y=float(y[0]), anchor="end", size=12),
        Text(
            id="loss.last",
            text=f"{view.loss[-1]:.1f}",
            x=at(1, -2),
            y=float(y[-1]) - 12,
            anchor="end",
            size=12,
            bold=True,
        ),
        Text(
            id="loss.steps",
            text=say("steps", n=f"{int(view.steps[-1]) + 1:,}"),
            x=at(0.96),
            y=TOP + tall + 16,
            anchor="end",
            size=12,
        ),
    ]

    def curve(count: int) -> Mark:
        shown = np.minimum(np.arange(len(x)), count - 1)
        return Path(
            id="curve",
            x=lengths(x[shown]),
            y=np.stack([np.zeros(len(x)), y[shown]], -1).astype(np.float32),
            stroke="accent",
            thick=2,
        )

    return [
        Shot(say("learnt_start", **blind), [*still, *axis[:3], curve(2)], 1.6),
        Shot(
            say("learnt_curve", first=f"{view.loss[0]:.1f}", last=f"{view.loss[-1]:.1f}"),
            [*still, *axis, curve(len(x))],
            2.4,
            2.4,
        ),
    ]


def end(stage: Stage, stream: Stream, embedded: np.ndarray, guesses: tuple[Guess, ...]) -> list[Shot]:
    """The whole machine once more."""
    start = rows(stage, "row", embedded, "embed.out", width=wide(0.16))
    marks = [*chips(stage), *start, *outline(stage, stream), *strips(stage, stream, len(stream.values))]
    if guesses:
        y = stage.y(stage.n) + 14
        told = f"{guesses[0].label} {percent(guesses[0].chance)}"
        marks.append(Text(id="lens.last", text=told, x=at(1, -2), y=y, anchor="end", size=14, bold=True))
    return [Shot(stage.say("end_whole"), marks)]
