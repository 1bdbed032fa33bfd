"""The stage of the walk for a picture: its patches keep their identity from the first stop to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.picture import FAINT, ink, shares
from viz_model.drawing.scene import Cells, Mark, Panel, Path, Rect, Scene, Text, points
from viz_model.measures.classes import Classes
from viz_model.measures.filters import Filtered

SIDE, GAP, TOP, HEIGHT, BESIDE = 180.0, 6.0, 30.0, 400.0, 250.0
"""Pixels of the whole picture, between patches apart, above it, of the stage, and where its right half begins."""
STEP, MOST_ROWS, BARS = 21.0, 17, 10
"""Pixels from row to row of vectors, rows at the most, and bars at the most."""


class Patched(NamedTuple):
    """What all frames are drawn of: the patches [N, h, w] in a grid, and the names of all positions.

    Where they are light and no ink, [N, h, w, 1] (:func:`viz_model.drawing.picture.ink`).
    """

    patches: np.ndarray
    grid: tuple[int, int]
    names: Sequence[str]

    @property
    def rows(self) -> tuple[int, ...]:
        """The positions that have a row where vectors stand below each other: [CLS] and the patches with most ink."""
        inked = np.argsort(-self.patches.reshape(len(self.patches), -1).sum(1), kind="stable")[: MOST_ROWS - 1]
        return (0, *sorted(int(n) + 1 for n in inked))


class Shot(NamedTuple):
    """A frame: its marks, a caption, and seconds that it stands."""

    marks: list[Mark]
    caption: str
    seconds: float = 2.4


def scene(shot: Shot, title: str) -> Scene:
    panel = Panel(id="stage", marks=shot.marks, height=HEIGHT, min=300)
    return Scene(id="walk.picture", panels=[panel], title=title, description=shot.caption)


def whole(view: Patched, apart: float = 0, values: np.ndarray | None = None, ring: int | None = None) -> list[Mark]:
    """The patches in their places, ``apart`` from each other; ``values`` [T] are painted over them and [CLS]."""
    columns = view.grid[1]
    side = SIDE / columns
    marks: list[Mark] = []
    top = None if values is None else float(np.abs(values).max()) or 1.0
    for n, patch in enumerate(view.patches):
        row, column = divmod(n, columns)
        x, y = column * (side + apart), TOP + row * (side + apart)
        marks += ink(f"patch.{n}", patch, x, y, side, side, 1.0 if values is None else 0.45)
        if values is not None and top is not None:
            marks.append(_weight(n + 1, float(values[n + 1]), top, x, y, side, side, view.names[n + 1]))
        marks.append(Rect(id=f"frame.{n}", x=x, y=y, width=side, height=side, stroke="grid"))
        if ring == n + 1:
            marks.append(Rect(id="ring", x=x, y=y, width=side, height=side, stroke="accent", thick=3))
    return marks


def cut(view: Patched, values: np.ndarray | None = None) -> list[Mark]:
    """The patches apart, and [CLS] below them."""
    y = _class_top(view)
    marks = whole(view, GAP, values)
    if values is not None:
        marks.append(_weight(0, float(values[0]), float(values.max()) or 1.0, 0, y, 60, 30, "[CLS]"))
    marks += [
        Rect(id="class", x=0, y=y, width=60, height=30, stroke="accent", thick=2, radius=4),
        Text(id="class.name", text="[CLS]", x=30, y=y + 15, anchor="middle", bold=True),
    ]
    return marks


def _class_top(view: Patched) -> float:
    """Pixels down to the cell of [CLS]."""
    return TOP + SIDE + (view.grid[0] - 1) * GAP + 26


def looks(view: Patched, values: np.ndarray) -> list[Mark]:
    """Lines from [CLS] to the patches, as thick as what it takes of each."""
    rows, columns = view.grid
    side, y = SIDE / columns, _class_top(view)
    marks: list[Mark] = []
    for n in range(rows * columns):
        row, column = divmod(n, columns)
        x_to, y_to = column * (side + GAP) + side / 2, TOP + row * (side + GAP) + side / 2
        thick = 14 * float(values[n + 1])
        if thick < 0.3:
            continue
        xs, ys = points([30.0, x_to], 0, 1), points([y, y_to], 0, 1)
        marks.append(Path(id=f"look.{n}", x=xs, y=ys, stroke="pattern", thick=thick, opacity=0.55))
    return marks


def _weight(n: int, value: float, top: float, x: float, y: float, width: float, height: float, name: str) -> Cells:
    return Cells(
        id=f"weight.{n}", x=x, y=y, width=width, height=height, values=np.array([[value]]), look="share",
        role="pattern", top=top, columns=(name,), labels=(f"{name}: {value:.3f}",), opacity=0.75,
    )  # fmt: skip


def vectors(view: Patched, strips: Sequence[tuple[str, str, np.ndarray]], top: float) -> list[Mark]:
    """A row for each position, its patch small on the left; ``strips`` are named, [T, D] each, side by side."""
    marks: list[Mark] = []
    left, share = 62.0, 1 / len(strips)
    for row, position in enumerate(view.rows):
        y = TOP + row * STEP
        if position:
            n = position - 1
            marks += ink(f"patch.{n}", view.patches[n], 30, y, STEP - 3, STEP - 3)
        else:
            marks.append(Text(id="class.name", text="[CLS]", x=8, y=y + STEP / 2 - 1, bold=True))
        for k, (id, _, values) in enumerate(strips):
            marks.append(
                Cells(
                    id=f"{id}.{position}", x=(k * share, left * (1 - k * share)), y=y,
                    width=(share, -left * share - 8), height=STEP - 3, values=values[position], top=top,
                    name=view.names[position], walk=False, coarse=True,
                )
            )  # fmt: skip
    for k, (id, name, _) in enumerate(strips):
        marks.append(Text(id=f"{id}.name", text=name, x=(k * share, left * (1 - k * share)), y=14, bold=True))
    return marks


def filtering(seen: Filtered, words: Mapping[str, str]) -> list[Mark]:
    """To the right of the picture: a patch, times a filter, gives products, whose sum is a number."""
    size, marks = 84.0, list[Mark]()
    parts = (("patch", seen.patch, ""), ("filter", seen.filters[seen.number], "×"), ("product", seen.products, "="))
    for row, (name, values, sign) in enumerate(parts):
        y = 8 + row * (size + 26)
        marks += [
            Text(id=f"{name}.name", text=f"{sign} {words[name]}".strip(), x=BESIDE, y=y + 8, bold=True),
            Cells(
                id=f"{name}.large", x=BESIDE, y=y + 18, width=size, height=size, values=values,
                top=float(np.abs(values).max()) or 1.0, walk=False, coarse=True,
            ),
            Rect(id=f"{name}.frame", x=BESIDE, y=y + 18, width=size, height=size, stroke="grid"),
        ]  # fmt: skip
    total = f"Σ = {seen.value:+.3f}".replace("-", "−")
    return [*marks, Text(id="sum", text=total, x=BESIDE, y=HEIGHT - 40, size=18, bold=True)]


def bars(said: Classes, probs: np.ndarray, name: str) -> list[Mark]:
    """The classes to the right of the picture."""
    shown = range(len(said.labels)) if len(said.labels) <= BARS else sorted(said.order[:BARS])
    left = BESIDE + 10.0 * max(len(said.labels[n]) for n in shown) + 8
    marks: list[Mark] = [Text(id="bars.name", text=name, x=BESIDE, y=14, bold=True)]
    place: dict[str, Any] = {"left": left, "top": TOP, "step": 27.0, "inset": (3, 4), "right": -6}
    return [*marks, *shares(said.labels, probs, shown, size=15, **place)]


def readers(view: Patched, weights: np.ndarray, chosen: int, name: str) -> list[Mark]:
    """All heads of a layer to the right of the picture, each over a picture of its own; ``weights`` are [H, T]."""
    rows, columns = view.grid
    most = min(len(weights), 6)
    size, marks = 96.0, list[Mark]()
    whole_ = view.patches.reshape(rows, columns, *view.patches.shape[1:]).swapaxes(1, 2)
    pixels = whole_.reshape(rows * view.patches.shape[1], columns * view.patches.shape[2], *view.patches.shape[3:])
    for n in range(most):
        x, y = BESIDE + (n % 2) * (size + 14), 8 + (n // 2) * (size + 26)
        values = weights[n, 1:].reshape(rows, columns)
        marks += [
            Text(id=f"head.{n}.name", text=f"{name} {n}", x=x, y=y + 8, bold=n == chosen),
            *ink(f"head.{n}.ink", pixels, x, y + 18, size, size, FAINT),
            Cells(
                id=f"head.{n}.cells", x=x, y=y + 18, width=size, height=size, values=values, look="share",
                top=float(weights[n].max()) or 1.0, walk=False, coarse=True, opacity=0.8,
            ),
            Rect(
                id=f"head.{n}.frame", x=x, y=y + 18, width=size, height=size,
                stroke="accent" if n == chosen else "grid", thick=3 if n == chosen else 1,
            ),
        ]  # fmt: skip
    return marks
