"""A token alone with itself: norm and feed-forward; and the ride through all blocks."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.config import NormAt
from viz_model.drawing.cells import COLUMN, Index
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Cells, Mark, Rect, Text
from viz_model.drawing.writing import percent
from viz_model.topics.walk.pictures.lines import Stream, outline, start, strips
from viz_model.topics.walk.pictures.schema import Schema, one_block
from viz_model.topics.walk.pictures.stage import LEFT, TOP, Shot, Stage, at, heading, short, teller, wide

Does = Literal["sizes", "changes", "keeps"]


class Alone(NamedTuple):
    """The feed-forward half of a block on one token.

    Attributes:
        layer: of the block.
        norm_at: where the norms stand.
        x: [D] the stream before it, normed [D] what the norm makes of it (of Post-LN, of the sum), act [F] (None where
            there are no hidden neurons), out [D].
        written: [D] what a norm makes of ``out``, and its site; None where there is no norm on the way back.
        total: [D] the sum.
        finds: of the strongest neurons: which one, and its value on each token of the stage, [n].
        read: the site of ``x``.
        norm_does: to a line, whatever its length: brings it to one size, changes it in another way, or neither.
    """

    layer: int
    norm_at: NormAt
    x: np.ndarray
    normed: np.ndarray | None
    act: np.ndarray | None
    out: np.ndarray
    written: tuple[np.ndarray, str] | None
    total: np.ndarray
    finds: tuple[tuple[int, np.ndarray], ...]
    read: str
    norm_does: Does


def alone(stage: Stage, view: Alone) -> list[Shot]:
    say, still, at_block = stage.say, stage.chips(), f"blocks.{view.layer}"
    top = float(max(np.abs(view.x).max(), np.abs(view.total).max(), np.abs(view.out).max()))
    index: Index = (stage.first + stage.asking, COLUMN)
    place: dict[str, Any] = {"x": LEFT, "width": (1, -LEFT), "height": 18}

    def strip(id: str, slot: float, values: np.ndarray, name: str, site: str, largest: float) -> list[Mark]:
        y = TOP + slot
        where = index if site else None
        return [
            Text(id=f"{id}.name", text=name, x=LEFT, y=y - 10, size=12, fill="muted"),
            stage.line(stage.asking, id, values, y=y, top=largest, site=site, where=where, **place),
        ]

    def sized(key: str, values: np.ndarray, **more: object) -> str:
        return say(key, size=f"{float(np.abs(values).mean()):.2f}", **more)

    line = strip("row", 0, view.x, sized("line", view.x, token=stage.name), view.read, top)
    lit = [] if view.act is None else _neurons(stage, view.act, f"{at_block}.ffn.act", 84)
    out = strip("out", 208, view.out, say("written"), f"{at_block}.ffn.out", top)
    total = strip("row", 0, view.total, sized("line", view.total, token=stage.name), "", top)
    norm: list[Mark] = []
    if view.normed is not None:
        largest = float(np.abs(view.normed).max(initial=0))
        norm = strip("normed", 42, view.normed, sized("normed", view.normed), f"{at_block}.ffn.norm.out", largest)
    is_before = view.norm_at in ("pre", "both")
    before = norm if is_before else []
    shots = [Shot(say("alone_line", token=stage.name), [*still, *line])]
    if before:
        shots.append(Shot(say(f"alone_norm_{view.norm_does}"), [*still, *line, *norm], 2.4))
    if view.act is not None:
        counted = {"n": f"{view.act.size:,}", "active": f"{int((view.act > 0).sum()):,}"}
        shots.append(Shot(say("alone_neurons", **counted), [*still, *line, *before, *lit], 2.2))
    if view.finds:
        shots.append(Shot(say("alone_find", token=stage.name), [*still, *_detectors(stage, view)], 3.2, 1.0))
    shots.append(Shot(say("alone_out" if lit else "alone_out_none"), [*still, *line, *before, *lit, *out], 2))
    if view.written is not None:
        values, site = view.written
        out = strip("out", 208, values, sized("normed", values), site, float(np.abs(values).max(initial=0)))
        shots.append(Shot(say(f"alone_norm_written_{view.norm_does}"), [*still, *line, *before, *lit, *out], 2.4))
    shots.append(Shot(say("alone_add"), [*still, *total, *before, *lit], 2, 1.2))
    if norm and view.norm_at == "post":
        shots.append(Shot(say(f"alone_norm_after_{view.norm_does}"), [*still, *total, *norm, *lit], 2.4))
    return shots


def _neurons(stage: Stage, act: np.ndarray, site: str, slot: float) -> list[Mark]:
    """All hidden neurons in a field, as bright as they are strong."""
    lines = 8
    across = -(-act.size // lines)
    field = np.full(lines * across, np.nan, dtype=np.float32)
    field[: act.size] = act
    y = TOP + slot
    return [
        Text(id="act.name", text=stage.say("neurons", n=f"{act.size:,}"), x=LEFT, y=y - 10, size=12, fill="muted"),
        Cells(
            id="act",
            x=LEFT,
            y=y,
            width=(1, -LEFT),
            height=96,
            values=field.reshape(lines, across),
            top=float(np.abs(act).max()) or 1.0,
            look="signed",
            empty=True,
            rows=[""] * lines,
            columns=[""] * across,
            name=stage.say("neurons", n=act.size),
            site=site,
            walk=False,
        ),
        Rect(id="act.frame", x=LEFT, y=y, width=(1, -LEFT), height=96, stroke="grid", radius=2),
    ]


def _detectors(stage: Stage, view: Alone) -> list[Mark]:
    """The strongest neurons side by side: what each is on every token."""
    marks: list[Mark] = []
    across, site = 1 / len(view.finds), f"blocks.{view.layer}.ffn.act"
    for n, (number, values) in enumerate(view.finds):
        left, top, name = n * across, float(np.abs(values).max()) or 1.0, stage.say("neuron", n=number)
        marks.append(heading(f"find.{n}", name, at(left, 4)))
        named: dict[str, Any] = {"name": "find", "among": f"{n}.", "right": at(left + across * 0.92)}
        for row, value in enumerate(values):
            fill, length = "positive" if value >= 0 else "negative", wide(across * 0.55 * abs(float(value)) / top)
            is_own, where = row == stage.asking, Where(site, (stage.first + row, number))
            marks += stage.number(row, f"{value:.2f}", at(left, 4), length, fill, bold=is_own, **named)
            place = {"x": at(left, 4), "y": stage.y(row), "width": wide(across * 0.92), "height": stage.high}
            id = f"find.cell.{n}.{row}"
            marks.append(teller(id, value, stage.labels[row], where, column=name, walk=False, **place))
    return marks


class Ride(NamedTuple):
    """What is read off at the asking token after each depth.

    Attributes:
        depths: 0 is before any block.
        guesses: at each, the most probable token and its probability; none where no token is predicted.
    """

    depths: tuple[int, ...]
    guesses: tuple[tuple[str, float], ...]


def again(stage: Stage, view: Ride, stream: Stream, embedded: np.ndarray, one: Schema | None) -> list[Shot]:
    """``one`` block drawn out, where it can be, and the ride through all."""
    say, still = stage.say, [*stage.chips(), *start(stage, embedded), *outline(stage, stream)]
    shots = [] if one is None else [one_block(stage, one)]
    for n, depth in enumerate(view.depths):
        told = say("again_start") if n == 0 else say("again_block", n=depth - 1)
        marks = [*still, *strips(stage, stream, n + 1), *_read_off(stage, view, n)]
        shots.append(Shot(told, marks, 1.5, 0.7))
    return shots


def _read_off(stage: Stage, view: Ride, shown: int) -> list[Mark]:
    """Under the machine, the guess after each block, below that block."""
    if not view.guesses:
        return []
    marks: list[Mark] = []
    y, count = stage.y(stage.n) + 2, len(view.depths) - 1
    for n in range(shown + 1):
        word, chance = view.guesses[n]
        x: Any = at(0.09) if n == 0 else at(0.18 + (n - 0.5) * 0.82 / count)
        is_last = n == shown
        marks += [
            Text(id=f"lens.{n}", text=short(word, 8), x=x, y=y + 8, size=13, anchor="middle", bold=is_last),
            Text(id=f"lens.share.{n}", text=percent(chance), x=x, y=y + 24, size=11.5, anchor="middle", fill="muted"),
        ]
    return marks
