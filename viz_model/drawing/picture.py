"""A picture that a model reads, its patches, numbers of the patches painted over it, and the classes it may be of."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from viz_model.drawing.cells import COLUMN, Index
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Act, Cells, Mark, Panel, Rect, Text
from viz_model.drawing.tables import By, Each, Phrase

Tint: TypeAlias = Literal["share", "signed"]
FAINT = 0.4
"""How much of the ink is left where numbers are painted over it."""
CLASS, PITCH = 40.0, 8.0
"""Pixels that the cell of [CLS] takes beside a picture, and what lies between them."""
TILE = 20.0
"""Pixels above a small picture, for its name."""
TOP = 24.0
"""Above a large one."""


class Painted(NamedTuple):
    """Numbers of the positions: [CLS], where it stands before them, and patches, row after row.

    Attributes:
        pixels: the ink, float32 [height, width] in 0 to 1; or the light of a picture that nobody draws,
            [height, width, 1].
        values: float32 [T]; NaN where there is none.
        grid: rows and columns of patches.
        names: of the positions, for what is said of them.
        site: of the values, and ``place`` where they stand in it, with COLUMN for the position; "" where
            they are no value of the run.
        chosen: the position that is ringed, if one is; "token" is the selected one.
        has_class: whether the first position is [CLS].
    """

    pixels: np.ndarray
    values: Any
    grid: tuple[int, int]
    names: Sequence[str]
    site: str = ""
    place: Index = (COLUMN,)
    chosen: int | Literal["token"] | None = None
    has_class: bool = True

    @property
    def left(self) -> float:
        """Pixels that stand before the picture."""
        return CLASS + PITCH if self.has_class else 0.0


def ink(id: str, pixels: np.ndarray, x: float, y: float, width: float, height: float, opacity: float = 1) -> list[Mark]:
    """The ink of a picture, or of a patch; where it is light, [h, w, 1], it is white on black whatever the page."""

    def cells(id: str, values: np.ndarray, role: str) -> Mark:
        return Cells(
            id=id, x=x, y=y, width=width, height=height, values=values, look="share", role=role, top=1.0,
            walk=False, coarse=True, opacity=opacity,
        )  # fmt: skip

    if pixels.ndim == 2:
        return [cells(id, pixels, "ink")]
    return [cells(f"{id}.ground", np.ones((1, 1)), "black"), cells(id, pixels[..., 0], "white")]


def painted(
    view: Painted, x: float, y: float, size: float, top: float, *, look: Tint = "share", selects: bool = True
) -> list[Mark]:
    """The picture ``size`` pixels wide with its numbers over it, [CLS] in a cell to its left.

    ``top`` is the magnitude of full color. Where it ``selects``, a click on a patch selects that one.
    """
    rows, columns = view.grid
    left, tall = x + view.left, size / columns
    marks: list[Mark] = ink("ink", view.pixels, left, y, size, tall * rows, FAINT)

    def of(name: str, positions: range, x: float, y: float, width: float) -> Cells:
        names = [view.names[n] for n in positions]
        values = _made(view.values, lambda all: all[..., positions.start : positions.stop])
        numbers: Any = values if isinstance(values, By) else By((), values)
        return Cells(
            id=name, x=x, y=y, width=width, height=tall, opacity=0.8,
            values=_made(values, lambda all: all[..., None, :]),
            look=look, role="pattern", top=top,
            columns=tuple(names),
            labels=cast(Any, Each("{{name}}: {{value}}", {"name": names, "value": numbers._replace(write="3")})),
            where=Where(view.site, view.place, columns=tuple(positions)) if view.site else None,
            choose="column" if selects else None,
            first=positions.start,
            walk=selects,
        )  # fmt: skip

    if view.has_class:
        marks.append(of("class", range(1), x, y, CLASS))
    for row in range(rows):
        first = view.has_class + row * columns
        positions = range(first, first + columns)
        marks.append(of(f"row.{row}", positions, left, y + row * tall, size))
    if view.has_class:
        middle, below = x + CLASS / 2, y + tall + 9
        marks.append(Text(id="class.name", text="[CLS]", x=middle, y=below, anchor="middle", fill="muted"))
    return [*marks, *frames(view, x, y, size)]


def enlarged(
    view: Painted, size: float, top: Any, name: Any, said: Any = "", *, look: Tint = "share", selects: bool = True
) -> Panel:
    """A picture as :func:`painted`, a panel under its name and, where it is ``said``, what full color stands for."""
    rows, columns = view.grid
    width = view.left + size
    marks: list[Mark] = [Text(id="name", text=name, y=12, bold=True, size=13)]
    if said:
        marks.append(Text(id="top", text=said, x=width, y=12, anchor="end", fill="muted"))
    marks += painted(view, 0, TOP, size, top, look=look, selects=selects)
    return Panel(id="large", marks=marks, height=TOP + size * rows / columns + 6, min=int(width), most=int(width))


def frames(view: Painted, x: float, y: float, size: float) -> list[Mark]:
    """Lines around the picture and around [CLS], and a ring around what is chosen."""
    rows, columns = view.grid
    left, tall, wide = x + view.left, size / columns, size / columns
    marks: list[Mark] = [Rect(id="frame", x=left, y=y, width=size, height=tall * rows, stroke="grid")]
    if view.has_class:
        marks.append(Rect(id="class.frame", x=x, y=y, width=CLASS, height=tall, stroke="grid"))
    if view.chosen is None:
        return marks
    boxes = [(x, y, CLASS)] * view.has_class
    boxes += [(left + n % columns * wide, y + n // columns * tall, wide) for n in range(rows * columns)]
    ring: Any = {"height": tall, "stroke": "accent", "thick": 3}
    for n, name in enumerate(("x", "y", "width")):
        places = By(("token",), np.array([box[n] for box in boxes], np.float32))
        ring[name] = places if view.chosen == "token" else float(places.values[int(view.chosen)])
    return [*marks, Rect(id="ring", **ring)]


def _made(values: Any, make: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Numbers made of some values, with the same axes if these are a table."""
    return values._replace(values=make(values.values)) if isinstance(values, By) else make(values)


def across(size: float) -> float:
    """Pixels that a painted picture of that width takes, with [CLS]."""
    return CLASS + PITCH + size


class Tile(NamedTuple):
    """A small picture among others: its name, values [T], full color, what a click does, what is said of it."""

    id: str
    name: str
    values: Any
    top: float
    act: Act | None
    label: str
    is_chosen: Any


def tiles(
    view: Painted,
    each: Sequence[Tile],
    id: str,
    size: float,
    columns: int,
    *,
    look: Tint = "share",
    beside: bool = True,
) -> Panel:
    """Small pictures without [CLS], so many in a row, each under its name; ``beside`` says whether [CLS] is told,
    where there is one.
    """
    rows, wide = view.grid
    tall = size * rows / wide

    def cut(every: np.ndarray) -> np.ndarray:
        return every[..., view.has_class :].reshape(*every.shape[:-1], rows, wide)

    marks: list[Mark] = []
    for n, tile in enumerate(each):
        x, y = (n % columns) * (size + 14), (n // columns) * (tall + 30)
        marks += [
            Text(id=f"{tile.id}.name", text=tile.name, x=x, y=y + 12, bold=tile.is_chosen),
            *ink(f"{tile.id}.ink", view.pixels, x, y + TILE, size, tall, FAINT),
            Cells(
                id=tile.id, x=x, y=y + TILE, width=size, height=tall, values=_made(tile.values, cut),
                look=look, role="pattern", top=tile.top, opacity=0.8, coarse=True, walk=False, act=tile.act,
                label=tile.label,
            ),
            Rect(
                id=f"{tile.id}.frame", x=x, y=y + TILE, width=size, height=tall,
                stroke=_where(tile.is_chosen, "accent", "grid"), thick=_where(tile.is_chosen, 3, 1),
            ),
        ]  # fmt: skip
        if beside and view.has_class:
            first = _made(tile.values, lambda all: all[..., 0])
            said: Any = (
                Phrase("[CLS] {{share}}", {"share": first._replace(write="%0")})
                if isinstance(first, By)
                else f"[CLS] {first:.0%}"
            )
            marks.append(Text(id=f"{tile.id}.class", text=said, x=x + size, y=y + 12, anchor="end", fill="muted"))
    n_rows = -(-len(each) // columns)
    width = int(columns * (size + 14))
    return Panel(id=id, marks=marks, height=n_rows * (tall + 30), min=width, most=width)


def _where(is_chosen: Any, yes: Any, no: Any) -> Any:
    """One of two values, or a table of them."""
    if isinstance(is_chosen, By):
        return is_chosen._replace(values=[yes if one else no for one in is_chosen.values])
    return yes if is_chosen else no


def shares(
    labels: Sequence[str],
    probs: np.ndarray,
    shown: Sequence[int],
    *,
    left: float,
    top: float,
    step: float,
    inset: tuple[float, float] = (2, 2),
    size: float = 12,
    right: float = -4,
    written: Callable[[float], str] = percent,
    site: str = "",
) -> list[Mark]:
    """A bar for each class that is ``shown``, of [Y] probabilities, from ``left`` pixels on; the largest stands out.

    ``inset`` are the pixels of a ``step`` above and below a bar. What a bar tells is a value of ``site``, where there
    is one.
    """
    marks: list[Mark] = []
    for row, n in enumerate(shown):
        y, share, label, is_best = top + row * step, float(probs[n]), labels[n], n == int(np.argmax(probs))
        told, middle = written(share), y + step / 2
        bar: dict[str, Any] = {"x": left, "y": y + inset[0], "height": step - sum(inset), "fill": "output"}
        length, strong = (share, -left * share), 0.85 if is_best else 0.5
        before = left - (size + 1) // 2
        marks += [
            Text(id=f"label.{n}", text=label, x=before, y=middle, anchor="end", bold=is_best, size=size),
            Rect(id=f"room.{n}", width=(1, -left), opacity=0.12, **bar),
            Rect(id=f"bar.{n}", width=length, opacity=strong, label="" if site else f"{label}: {told}", **bar),
            Text(id=f"share.{n}", text=told, x=(1, right), y=middle, anchor="end", bold=is_best),
        ]
        if site:
            place: dict[str, Any] = {"x": left, "y": y, "width": (1, -left), "height": step}
            told_of: dict[str, Any] = {"rows": (label,), "columns": ("",), "where": Where(site, (n,)), "name": label}
            marks.append(Cells(id=f"cell.{n}", values=np.array([[share]]), look="blank", **told_of, **place))
    return marks
