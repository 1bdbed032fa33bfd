"""One run of a picture from left to right: patches, vectors, places, where a patch looks in each block, the class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.brief import brief
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.picture import Painted, across, ink, painted, shares
from viz_model.drawing.scene import Cells, Mark, Panel, Pick, Rect, Scene, Select, Text
from viz_model.measures.classes import Classes

TOP, PICTURE, SMALL, ROWS, BAR = 46.0, 168.0, 112.0, 238.0, 22.0
"""Pixels above a panel's body, of the picture, of those in the blocks, of all rows of a strip, and of a bar."""


WORDS = ("patches", "projected", "places", "block", "head", "classes", "length")
"""What :func:`scene` is given words for."""


class Looking(NamedTuple):
    """A head of a block, and its weights as they are painted."""

    layer: int
    head: int
    view: Painted


@brief
class DrawnView(NamedTuple):
    """The stages of a run; ``projected`` and ``places`` are [T, D], ``lengths`` of the stream behind each block [L]."""

    pixels: np.ndarray
    grid: tuple[int, int]
    names: tuple[str, ...]
    token: int
    projected: np.ndarray
    places: np.ndarray | None
    blocks: tuple[Looking, ...]
    lengths: np.ndarray
    classes: Classes | None


def scene(view: DrawnView, id: str, title: str, words: Mapping[str, str]) -> Scene:
    """``words`` are those of :data:`WORDS`."""
    panels = [_picture(view, words), _strip(view, "projected", view.projected, "embed.patch", "embedding", words)]
    if view.places is not None:
        panels.append(_strip(view, "places", view.places, "embed.position", "position", words))
    panels += [_block(one, float(length), words) for one, length in zip(view.blocks, view.lengths, strict=True)]
    if view.classes is not None:
        panels.append(_classes(view.classes, words))
    return Scene(id=id, panels=panels, title=title)


def _heading(name: str, beside: str, **opens: object) -> list[Mark]:
    """Two lines over a panel; a click opens the page that they name."""
    return [
        Text(id="title", text=name, y=10, bold=True),
        Text(id="beside", text=beside, y=28, fill="muted"),
        Rect(id="open", width=(1, 0), height=38, act=Pick(opens), label=f"{name} · {beside}"),
    ]


def _picture(view: DrawnView, words: Mapping[str, str]) -> Panel:
    rows, columns = view.grid
    wide, tall = PICTURE / columns, PICTURE / rows
    marks = _heading(words["patches"], f"{rows} × {columns} + [CLS]", page="embedding")
    marks += ink("ink", view.pixels, 0, TOP, PICTURE, PICTURE)
    for n in range(rows * columns):
        row, column = divmod(n, columns)
        is_chosen = n + 1 == view.token
        marks.append(
            Rect(
                id=f"patch.{n}", x=column * wide, y=TOP + row * tall, width=wide, height=tall,
                stroke="accent" if is_chosen else "grid", thick=3 if is_chosen else 1, act=Select(token=n + 1),
                label=view.names[n + 1],
            )
        )  # fmt: skip
    y = TOP + PICTURE + 14
    is_chosen = view.token == 0
    marks += [
        Rect(
            id="class", y=y, width=54, height=26, radius=4, stroke="accent" if is_chosen else "grid",
            thick=3 if is_chosen else 1, act=Select(token=0), label="[CLS]",
        ),
        Text(id="class.name", text="[CLS]", x=27, y=y + 13, anchor="middle"),
    ]  # fmt: skip
    return Panel(id="picture", marks=marks, height=TOP + ROWS + 8, min=int(PICTURE), most=int(PICTURE))


def _strip(view: DrawnView, part: str, values: np.ndarray, site: str, page: str, words: Mapping[str, str]) -> Panel:
    top = float(np.abs(values).max()) or 1.0
    step = ROWS / len(values)
    cells = Cells(
        id="cells", y=TOP, height=ROWS, values=values, top=top, rows=view.names,
        columns=[str(d) for d in range(values.shape[1])], site=site, where=Where(site, (ROW, COLUMN)),
        name=words[part], choose="row",
    )  # fmt: skip
    ring = Rect(id="ring", y=TOP + view.token * step, width=(1, 0), height=step, stroke="accent", thick=2)
    heading = _heading(words[part], f"{values.shape[0]} × {values.shape[1]}", page=page)
    return Panel(id=part, marks=[*heading, cells, ring], height=TOP + ROWS + 8, min=110, most=190)


def _block(one: Looking, length: float, words: Mapping[str, str]) -> Panel:
    opens: dict[str, Any] = {"page": "attention", "layer": one.layer, "head": one.head}
    top = float(one.view.values.max()) or 1.0
    y = TOP + SMALL + 18
    marks = [
        *_heading(f"{words['block']} {one.layer}", f"{words['head']} {one.head}", **opens),
        *painted(one.view, 0, TOP, SMALL, top, selects=True),
        Text(id="length", text=f"{words['length']} {length:.1f}", y=y, fill="muted"),
    ]
    width = int(across(SMALL))
    return Panel(id=f"block.{one.layer}", marks=marks, height=TOP + ROWS + 8, min=width, most=width)


def _classes(said: Classes, words: Mapping[str, str]) -> Panel:
    marks = _heading(words["classes"], said.labels[said.top], page="next_token")
    shown = said.order[:10] if len(said.labels) > 10 else range(len(said.labels))
    left = 6.0 + 9.0 * max(len(said.labels[n]) for n in shown)
    marks += shares(said.labels, said.probs, shown, left=left, top=TOP, step=BAR, site="class.probs")
    return Panel(id="classes", marks=marks, height=TOP + ROWS + 8, min=150, most=260)
