"""A picture as data: panels that flow like words, and on them marks, each with an identity and a color role.

Lengths across and down are pixels, or ``(share, pixels)``: that share of the panel's width and so many
pixels, so that a picture fits the width it gets and its writing keeps its size.

Any field may be a table (:mod:`viz_model.drawing.tables`) of what it says here, by layer, head, token: the browser
looks up the entry of what is selected in the frame of the click, files are written of one selection (:func:`seen`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.tables import resolved

Length: TypeAlias = "float | tuple[float, float]"


class Run(NamedTuple):
    """A part of a line of writing; ``fill`` where it has a color of its own."""

    text: str
    bold: bool = False
    fill: str = ""


Words: TypeAlias = str | tuple[tuple[Run, ...], ...]
"""One line as it is, or lines of runs."""


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
class Marked:
    """What all marks have: whether they are there."""

    present: bool = True


@dataclass(frozen=True, kw_only=True)
class Answering(Marked):
    """What a mark may answer: a click, and what is said of it to those who point at it or hear it."""

    act: Act | None = None
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Cells(Answering):
    """Numbers as colored cells, or as bars.

    Attributes:
        values: [R, C], or [C] for one row; what is not finite is masked.
        look: "signed" is colored symmetrically about 0, "share" from 0 on in the hue of ``role``; "bars" stand
            up from the lower edge, or where ``signed``, from the middle; "stops" goes from stop
            to stop, "blank" are only told, not drawn.
        top: the magnitude of full color, or full height.
        rows, columns: their names, for what is said of a cell; none where they are not worth naming.
        written: whether cells hold their numbers, where there is room; ``hidden`` in those that are masked.
        gap: pixels between cells in a row.
        where: which numbers of the run these are.
        choose: whether a click selects the token of its row or column, counted from ``first``.
        walk: whether the keyboard walks from cell to cell.
        bound: written before a value that stands for several, such as "≤ ".
        stops: (value, role, opacity) from the smallest value on.
        told: what is said of a cell, in lines, with ``{value}``, ``{row}`` and ``{column}``; or ``labels``, one for
            each cell, row after row.
        digits: behind the point, of a value that is said.
        empty: whether cells without a number are left empty, and not marked as masked.
        coarse: whether a byte a number is enough, because none is told.
        opacity: of all of them.
    """

    id: str
    x: Length = 0
    y: Length = 0
    width: Length = (1, 0)
    height: Length = 0
    values: Any = None
    look: Literal["signed", "share", "bars", "stops", "blank"] = "signed"
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
    stops: Sequence[tuple[float, str, float]] = ()
    told: str = ""
    labels: Sequence[str] = ()
    digits: int = 4
    empty: bool = False
    coarse: bool = False
    opacity: float = 1


@dataclass(frozen=True, kw_only=True)
class Items(Marked):
    """The bars or the points of one series: each is told of, walked to and clicked for itself.

    Attributes:
        x, y: of points their middles, of bars a corner: lengths [N, 2], or pixels [N].
        width, height: the same of bars; points have none.
        symbol: of points: "circle", "square", "diamond", "triangle-up", "cross", "x", "line-ns" …, with "-open" for
            a ring; "" for points of a line that are only pointed at.
        size: of points, across, in pixels.
        fill, stroke, thick, opacity: one for all, or one for each.
        hatch: the role of lines across bars, slanted as ``slant`` says.
        labels: what is said of each, in lines.
        picks: what a click on each tells the page.
        where: which numbers of the run these are: the count is both row and column.
        down: whether they follow each other from above to below.
        walk: whether they are pointed at at all.
    """

    id: str
    x: np.ndarray
    y: np.ndarray
    width: np.ndarray | None = None
    height: np.ndarray | None = None
    symbol: str | Sequence[str] = ""
    size: float | Sequence[float] = 8
    fill: str | Sequence[str] | None = None
    stroke: str | Sequence[str] | None = None
    thick: float | Sequence[float] = 1
    opacity: float | Sequence[float] = 1
    hatch: str | None = None
    slant: Literal["/", "\\"] = "/"
    labels: Sequence[str] = ()
    name: str = ""
    picks: Sequence[Any] = ()
    where: Where | None = None
    down: bool = False
    walk: bool = True


@dataclass(frozen=True, kw_only=True)
class Texts(Marked):
    """Many short writings: ``x`` lengths [N, 2] or pixels [N], ``y`` pixels [N], their middles.

    Those that are wider than their ``rooms`` [N, 2] are left out.
    """

    id: str
    texts: Sequence[Words]
    x: np.ndarray
    y: np.ndarray
    anchor: Literal["start", "middle", "end"] | Sequence[str] = "middle"
    size: float = 12
    fill: str | Sequence[str] = "ink"
    mono: bool = False
    rooms: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Labels(Marked):
    """Names along an edge of ``length``, as many as there is room for; the ``marked`` one is bold.

    They begin at (``x``, ``y``): names along "y" end there, names along "x" hang below. They stand evenly, or at
    ``places`` [N, 2]. ``turn`` says whether names along "x" may be slanted.
    """

    id: str
    texts: Sequence[Words]
    length: Length
    x: Length = 0
    y: Length = 0
    along: Literal["x", "y"] = "x"
    anchor: Literal["start", "middle", "end"] | None = None
    marked: int | None = None
    most: int = 14
    places: np.ndarray | None = None
    turn: Literal["auto", "never", "always"] = "auto"
    size: float = 12
    fill: str = "ink"
    mono: bool = False


@dataclass(frozen=True, kw_only=True)
class Text(Answering):
    """Some words, of one line or several, their middle at ``y``."""

    id: str
    text: Words
    x: Length = 0
    y: Length = 0
    anchor: Literal["start", "middle", "end"] = "start"
    size: float = 12
    bold: bool = False
    fill: str = "ink"
    rotate: float = 0
    opacity: float = 1
    mono: bool = False


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
class Path(Marked):
    """A line through points: ``x`` and ``y`` are lengths [N, 2] (:func:`along`), or pixels [N].

    A ``curve`` "link" joins the first point and the last in a level sweep. Where a point is not finite the line is
    broken. ``head`` is the length of an arrow's head at its end.
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
    head: float = 0


Mark: TypeAlias = Cells | Items | Labels | Text | Texts | Rect | Path


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
class Key:
    """A line of a legend: a name, and marks within 28 by 14 pixels that look as what it names."""

    name: Words
    marks: Sequence[Mark]


class Series(NamedTuple):
    """The numbers of a line or of bars beside each other: what they are, what each stands at, and their values."""

    name: str
    at: Sequence[Any]
    values: Sequence[float] | np.ndarray


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A picture.

    Attributes:
        id: the same for pictures that move into each other when the sentence changes.
        title: what it is, in a few words; it names the picture for those who do not see it.
        description: what it shows.
        words: "masked", what is said of a cell without a number.
        heading: written over it.
        keys: its legend; ``keys_at`` says where.
        note: written under it; where one ``chooses`` among its marks, in its place what is said of the chosen one.
        even: whether the panels are alike and stand in columns; else they flow.
        series: the numbers behind lines and bars, for who asks for numbers; cells hold their own. They are not drawn.
        data: the arrays that it was drawn from, a NamedTuple, whose fields may be tables.
        sites: the names of the values that it shows, as the run is seen.
        call: of :mod:`viz_model.plot`, which draws the same; "" where there is none.
        other: what that call names ``other``, as Python.
        own: whether its numbers are those of the page's run, which can be asked about.
        option: what of the page's options a click on a mark that tells its value chooses.
        coarser: the same picture in fewer cells, which says so; what is sent of other selections than the present one
            where there is no room for more.
    """

    id: str
    panels: Sequence[Panel]
    title: str
    description: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    heading: str = ""
    keys: Sequence[Key] = ()
    keys_at: Literal["above", "below"] = "above"
    note: str = ""
    chooses: bool = False
    even: bool = False
    series: Sequence[Series] = ()
    data: Any = None
    sites: Sequence[str] = ()
    call: str = ""
    other: str = ""
    own: bool = True
    option: str = ""
    coarser: "Callable[[], Scene] | None" = None


def along(shares: Any, left: float = 0.0, across: tuple[float, float] = (1.0, 0.0)) -> Any:
    """Shares of a room that is ``across`` wide and begins ``left`` pixels in, as lengths: of an array float32 [..., 2].

    Places in it; without ``left`` widths.
    """
    at = np.stack([np.multiply(shares, across[0]), left + np.multiply(shares, across[1])], axis=-1)
    return at.astype(np.float32) if at.ndim > 1 else tuple(at.tolist())


def seen(scene: Scene, place: Mapping[str, int]) -> Scene:
    """A scene as it is for one selection: tables looked up, and marks that are not there left out.

    Raises:
        viz_model.drawing.tables.Absent: the run was read for other layers.
    """
    found: Scene = resolved(scene, place)
    panels = [
        replace(panel, marks=[mark for mark in panel.marks if mark.present]) for panel in found.panels if panel.present
    ]
    return replace(found, panels=panels)
