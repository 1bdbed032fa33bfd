"""The stage of the walk: tokens down the left side, time to the right, and the marks that all stops share.

Lengths are measured from the chips on: :func:`at` is a place in the room to their right, :func:`wide` a width of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import palettes
from viz_model.drawing.cells import COLUMN, Index
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Cells, Length, Mark, Panel, Path, Rect, Scene, Select, Text
from viz_model.drawing.writing import percent

MOST_ROWS = 14
"""Tokens that stand on the stage."""

TOP, CHIP, LEFT = 30, 104, 116
"""Pixels above the first token, of a chip, and up to the room beside the chips."""

_TALL = 340
LETTERS = 9


class Shot(NamedTuple):
    """What happens, and the marks it is seen on; ``seconds`` it stands, ``moves`` it takes to come."""

    caption: str
    marks: Sequence[Mark]
    seconds: float = 1.8
    moves: float = 0.8


class Guess(NamedTuple):
    """A token with its probability."""

    label: str
    chance: float
    id: int


class Stage(NamedTuple):
    """The tokens that stand on the stage.

    Attributes:
        labels, ids: of the n tokens.
        first: the position of the first of them.
        after: how many tokens of the text come after the last of them.
        asking: which of the n is the one that the walk follows.
        say: a word of the walk's texts, with its values filled in.
    """

    labels: tuple[str, ...]
    ids: tuple[int, ...]
    first: int
    after: int
    asking: int
    say: Callable[..., str]

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def step(self) -> float:
        """Pixels from one token to the next; below the last there is room for one that joins them."""
        return min(32.0, (_TALL - TOP) / (self.n + 1))

    def y(self, row: int) -> float:
        return TOP + row * self.step

    def middle(self, row: int) -> float:
        return self.y(row) + self.high / 2

    @property
    def high(self) -> float:
        """Pixels of a token's cells."""
        return self.step - 4

    @property
    def height(self) -> float:
        return _TALL + 10

    @property
    def name(self) -> str:
        """The token that the walk follows."""
        return self.labels[self.asking]

    def colour(self, row: int) -> str:
        """The role of a token's colour."""
        return palettes.token(self.first + row)

    def scene(self, title: str, shot: Shot) -> Scene:
        panel = Panel(id="stage", marks=[*shot.marks, *self._beyond()], height=self.height, min=280)
        words = {"masked": self.say("hidden")}
        return Scene(id="walk", panels=[panel], title=title, description=shot.caption, words=words)

    def _beyond(self) -> list[Mark]:
        """How many tokens there is no room for: what is drawn of a long text is not all that counts."""
        if not self.first and not self.after:
            return []
        name = "beyond" if self.first and self.after else "before" if self.first else "after"
        told = self.say(name, before=self.first, after=self.after)
        return [Text(id="beyond", text=told, x=0, y=TOP - 11, size=11, fill="muted")]

    def chips(self, *, ids: bool = False) -> list[Mark]:
        """The tokens; a click follows another."""
        marks: list[Mark] = []
        for row, (label, id) in enumerate(zip(self.labels, self.ids, strict=True)):
            marks += self.chip(row, label)
            if ids:
                y = self.middle(row)
                marks.append(Text(id=f"id.{row}", text=str(id), x=CHIP - 5, y=y, anchor="end", size=11, fill="muted"))
        return marks

    def chip(self, row: int, label: str) -> list[Mark]:
        """One token, of the text or joining it."""
        position, is_asking = self.first + row, row == self.asking
        act = Select(token=position) if row < self.n else None
        told = f"{position}: {label}" + (f" · id {self.ids[row]}" if row < self.n else "")
        box: dict[str, Any] = {"y": self.y(row), "height": self.high, "fill": self.colour(row)}
        strength = 0.4 if is_asking else 0.16
        return [
            Rect(id=f"chip.{row}", width=CHIP, opacity=strength, radius=4, act=act, label=told, **box),
            Rect(id=f"edge.{row}", width=3, **box),
            Text(id=f"word.{row}", text=short(label), x=9, y=self.middle(row), size=13, bold=is_asking),
        ]

    def line(self, row: int, id: str, values: np.ndarray, **more: Any) -> Cells:
        """Numbers [D] (:func:`vector`) in the line of a token."""
        return vector(id, values, **{"y": self.y(row), "height": self.high, "name": self.labels[row], **more})

    def lines(
        self,
        id: str,
        values: np.ndarray,
        site: str = "",
        *,
        x: Length = LEFT,
        width: Length = (1, -LEFT),
        top: float | None = None,
        among: Sequence[int] | None = None,
        **more: Any,
    ) -> list[Mark]:
        """Numbers [n, D], a line for each token; ``among`` draws some of them."""
        top = float(np.abs(values[np.isfinite(values)]).max(initial=0)) if top is None else top
        place = {"x": x, "width": width, "top": top, "site": site, **more}
        return [
            self.line(row, f"{id}.{row}", values[row], where=(self.first + row, COLUMN) if site else None, **place)
            for row in (range(len(values)) if among is None else among)
        ]

    def map(self, id: str, values: np.ndarray, **more: Any) -> Cells:
        """Numbers [n, n]: a row a key, a column a query."""
        axes: dict[str, Any] = {"row_axis": self.say("key"), "column_axis": self.say("asks")}
        return Cells(id=id, values=values, rows=self.labels, columns=self.labels, **axes, **more)

    def number(
        self,
        row: int,
        told: str,
        x: Length,
        width: Length,
        fill: str,
        *,
        name: str = "score",
        among: str = "",
        right: Length = (1, -2),
        bold: bool = False,
    ) -> list[Mark]:
        """A bar in the line of a token, and its number, that ends at ``right``; ``among`` names one of several."""
        y, told = self.y(row) + 2, told.replace("-", "−")
        end: dict[str, Any] = {"x": right, "y": self.middle(row), "anchor": "end"}
        return [
            Rect(id=f"{name}.{among}{row}", x=x, y=y, width=width, height=self.high - 4, fill=fill, opacity=0.75),
            Text(id=f"{name}.told.{among}{row}", text=told, size=12, bold=bold, **end),
        ]


def at(share: float, pixels: float = 0) -> Length:
    """A place so far into the room beside the chips."""
    return share, LEFT * (1 - share) + pixels


def lengths(shares: np.ndarray) -> np.ndarray:
    """Places in the room beside the chips: [N, 2]."""
    return np.stack([shares, LEFT * (1 - shares)], axis=-1).astype(np.float32)


def wide(share: float, pixels: float = 0) -> Length:
    """That share of the room beside the chips."""
    return share, pixels - LEFT * share


def short(label: str, most: int = LETTERS) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def heading(name: str, text: str, x: Length, anchor: Any = "start") -> Text:
    """A name over a column."""
    return Text(id=f"heading.{name}", text=text, x=x, y=13, anchor=anchor, size=12, fill="muted")


def ring(x: Length, y: float, width: Length, height: float, stroke: str, id: str = "ring") -> Rect:
    """A line around what is spoken of."""
    return Rect(id=id, x=x, y=y, width=width, height=height, stroke=stroke, thick=2, radius=3)


def vector(
    id: str, values: np.ndarray, *, name: str, top: float, site: str = "", where: Index | None = None, **place: Any
) -> Cells:
    """Numbers [D] of one token in a line; ``where`` is their place in the site, :data:`COLUMN` for the dimension."""
    return Cells(
        id=id,
        values=values[None],
        top=top or 1.0,
        rows=(name,),
        columns=[str(d) for d in range(len(values))],
        column_axis="·",
        site=site,
        name=name,
        where=None if where is None else Where(site, where),
        **place,
    )


def teller(id: str, value: float, row: str, where: Where | None, *, column: str = "", **place: Any) -> Cells:
    """What tells of a number that a bar shows."""
    site = "" if where is None else where.site
    told: dict[str, Any] = {"rows": (row,), "columns": (column,), "where": where, "site": site}
    return Cells(id=id, values=np.array([[value]]), look="blank", **told, **place)


def bars(
    guesses: Sequence[Guess],
    *,
    title: str,
    left: float,
    written: Sequence[str] | None = None,
    shares: Sequence[float] | None = None,
    marked: int | None = None,
    position: int | None = None,
) -> list[Mark]:
    """Tokens with bars; by default as long as they are probable. ``position`` is whose predictions they are."""
    marks: list[Mark] = [heading("bars", title, at(left))]
    for n, guess in enumerate(guesses):
        y, share, is_marked = TOP + 36 * n, guess.chance if shares is None else shares[n], n == marked
        told = percent(guess.chance) if written is None else written[n]
        where = None if position is None else Where("probs", (position, guess.id))
        place: dict[str, Any] = {"x": at(left), "y": y, "height": 28}
        look: dict[str, Any] = {"fill": "output", "radius": 4, **place}
        edge = "accent" if is_marked else None
        marks += [
            Rect(id=f"room.{n}", width=wide(1 - left), opacity=0.1, stroke=edge, thick=2, **look),
            Rect(id=f"bar.{n}", width=wide((1 - left) * share), opacity=0.5, **look),
            Text(id=f"guess.{n}", text=short(guess.label, 14), x=at(left, 9), y=y + 14, size=14, bold=is_marked),
            Text(id=f"share.{n}", text=told, x=at(1, -8), y=y + 14, size=13, anchor="end"),
            teller(f"cell.{n}", guess.chance, guess.label, where, name=guess.label, width=wide(1 - left), **place),
        ]
    return marks


def link(
    id: str, x0: Length, y0: float, x1: Length, y1: float, *, stroke: str, thick: float, opacity: float = 0.6
) -> Path:
    """A sweep from one place to another."""
    ends = np.array([_pair(x0), _pair(x1)], dtype=np.float32)
    y = np.array([[0, y0], [0, y1]], dtype=np.float32)
    return Path(id=id, x=ends, y=y, stroke=stroke, thick=thick, opacity=opacity, curve="link")


def _pair(length: Length) -> tuple[float, float]:
    return (0.0, float(length)) if isinstance(length, int | float) else length
