"""A picture as data: panels that flow like words, and on them marks, each with an identity and a colour role.

Lengths across and down are pixels, or ``(share, pixels)``: that share of the panel's width and so many
pixels, so that a picture fits the width it gets and its writing keeps its size.

A scene is of one selection of layer, head and token. What the browser is sent are scenes of many, merged
(:mod:`.encode`), of which it shows one in the frame of the click (``frontend/src``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from viz_model.drawing.cells import Cells as Where

Length: TypeAlias = "float | tuple[float, float]"


@dataclass(frozen=True)
class Select:
    """Selecting a layer, head or token, as what a click does; those left out stay as they are."""

    layer: int | None = None
    head: int | None = None
    token: int | None = None


@dataclass(frozen=True)
class Pick:
    """Telling the page what was clicked, as a plain value."""

    value: Any


Act: TypeAlias = Select | Pick


@dataclass(frozen=True, kw_only=True)
class Answering:
    """What a mark may answer: a click, and what is said of it to those who point at it or hear it."""

    act: Act | None = None
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Cells(Answering):
    """Numbers as coloured cells, or as bars.

    Attributes:
        values: [R, C], or [C] for one row; what is not finite is masked.
        look: "signed" is coloured symmetrically about 0, "share" from 0 on in the hue of ``role``; "bars" stand
            up from the lower edge, or where ``signed``, from the middle; "blank" are only told, not drawn.
        top: the magnitude of full colour, or full height.
        rows, columns: their names, for what is said of a cell; none where they are not worth naming.
        written: whether cells hold their numbers, where there is room; ``hidden`` in those that are masked.
        gap: pixels between cells in a row.
        where: which numbers of the run these are.
        choose: whether a click selects the token of its row or column, counted from ``first``.
        walk: whether the keyboard walks from cell to cell.
        bound: written before a value that stands for several, such as "≤ ".
        coarse: whether a byte a number is enough, because none is told.
    """

    id: str
    x: Length = 0
    y: Length = 0
    width: Length = (1, 0)
    height: Length = 0
    values: Any = None
    look: Literal["signed", "share", "bars", "blank"] = "signed"
    signed: bool = False
    top: float = 1.0
    role: str = "pattern"
    name: str = ""
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    row_axis: str = ""
    column_axis: str = ""
    site: str = ""
    written: bool = False
    hidden: str = "−∞"
    gap: float = 0
    where: Where | None = None
    choose: Literal["row", "column"] | None = None
    first: int = 0
    walk: bool = True
    bound: str = ""
    coarse: bool = False


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Names along an edge of ``length``, as many as there is room for; the ``marked`` one is bold.

    They begin at (``x``, ``y``): names along "y" end there, names along "x" hang below.
    """

    id: str
    texts: Sequence[str]
    length: Length
    x: Length = 0
    y: Length = 0
    along: Literal["x", "y"] = "x"
    anchor: Literal["start", "middle", "end"] | None = None
    marked: int | None = None
    most: int = 14


@dataclass(frozen=True, kw_only=True)
class Text(Answering):
    """A line of writing, its middle at ``y``."""

    id: str
    text: str
    x: Length = 0
    y: Length = 0
    anchor: Literal["start", "middle", "end"] = "start"
    size: float = 12
    bold: bool = False
    fill: str = "ink"
    rotate: float = 0


@dataclass(frozen=True, kw_only=True)
class Rect(Answering):
    """A frame, or a bar; where width or height is negative it reaches back from (``x``, ``y``)."""

    id: str
    x: Length = 0
    y: Length = 0
    width: Length = 0
    height: Length = 0
    fill: str | None = None
    stroke: str | None = None
    opacity: float = 1.0
    thick: float = 1
    radius: float = 0
    dash: str | None = None


@dataclass(frozen=True, kw_only=True)
class Path:
    """A line through points: ``x`` and ``y`` are arrays [N, 2] of lengths (:func:`points`).

    A ``curve`` "link" joins the first point and the last in a level sweep.
    """

    id: str
    x: np.ndarray
    y: np.ndarray
    stroke: str | None = None
    fill: str | None = None
    opacity: float = 1.0
    thick: float = 1.5
    dash: str | None = None
    curve: Literal["line", "link"] = "line"


Mark: TypeAlias = Cells | Labels | Text | Rect | Path


@dataclass(frozen=True, kw_only=True)
class Panel(Answering):
    """A part of a picture in one piece: ``min`` to ``most`` pixels wide, ``grow`` its share of spare room."""

    id: str
    marks: Sequence[Mark]
    height: Length
    min: int = 280
    most: int | None = None
    grow: int = 1


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A picture.

    Attributes:
        id: the same for pictures that move into each other when the sentence changes.
        title: what it is, in a few words; it names the picture for those who do not see it.
        description: what it shows.
        words: "masked", what is said of a cell without a number.
        even: whether the panels are alike and stand in columns; else they flow.
    """

    id: str
    panels: Sequence[Panel]
    title: str
    description: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    even: bool = False


def points(values: Sequence[float] | np.ndarray, share: float = 0.0, pixels: float = 0.0) -> np.ndarray:
    """Values in [0, 1] along an axis -> float32 [..., N, 2]: lengths up to ``share`` of the width and ``pixels``."""
    along = np.asarray(values, dtype=np.float32)
    return np.stack([along * share, along * pixels], axis=-1)
