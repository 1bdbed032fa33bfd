"""The stage of the walk: tokens down the left side, time to the right, and the marks that all stops share.

Lengths are measured from the chips on: :func:`at` is a place in the room to their right, :func:`wide` a width of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

    def scene(self, title: str, shot: Shot) -> Scene:
        panel = Panel(id="stage", marks=[*shot.marks, *_beyond(self)], height=self.height, min=280)
        return Scene(
            id="walk", panels=[panel], title=title, description=shot.caption, words={"masked": self.say("hidden")}
        )


def _beyond(stage: Stage) -> list[Mark]:
    """How many tokens there is no room for: what is drawn of a long text is not all that counts."""
    if not stage.first and not stage.after:
        return []
    name = "beyond" if stage.first and stage.after else "before" if stage.first else "after"
    told = stage.say(name, before=stage.first, after=stage.after)
    return [Text(id="beyond", text=told, x=0, y=TOP - 11, size=11, fill="muted")]


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


def chips(stage: Stage, *, ids: bool = False, boxes: bool = True) -> list[Mark]:
    """The tokens; a click follows another."""
    marks: list[Mark] = []
    for row, (label, id) in enumerate(zip(stage.labels, stage.ids, strict=True)):
        marks += chip(stage, row, label, boxes=boxes)
        if ids:
            y = stage.y(row) + stage.high / 2
            marks.append(Text(id=f"id.{row}", text=str(id), x=CHIP - 5, y=y, anchor="end", size=11, fill="muted"))
    return marks


def chip(stage: Stage, row: int, label: str, *, boxes: bool = True) -> list[Mark]:
    """One token; ``boxes`` draws it as a chip, and not as a word alone."""
    y, role, position = stage.y(row), palettes.token(stage.first + row), stage.first + row
    word = Text(id=f"word.{row}", text=short(label), x=9, y=y + stage.high / 2, size=13, bold=row == stage.asking)
    if not boxes:
        return [word]
    act = Select(token=position) if row < stage.n else None
    told = f"{position}: {label}" + (f" · id {stage.ids[row]}" if row < stage.n else "")
    box: dict[str, Any] = {"y": y, "height": stage.high, "fill": role}
    return [
        Rect(
            id=f"chip.{row}",
            width=CHIP,
            opacity=0.4 if row == stage.asking else 0.16,
            radius=4,
            act=act,
            label=told,
            **box,
        ),
        Rect(id=f"edge.{row}", width=3, **box),
        word,
    ]


def heading(name: str, text: str, x: Length, anchor: Any = "start") -> Text:
    """A name over a column."""
    return Text(id=f"heading.{name}", text=text, x=x, y=13, anchor=anchor, size=12, fill="muted")


def vector(
    id: str,
    values: np.ndarray,
    *,
    x: Length,
    y: float,
    width: Length,
    height: float,
    top: float,
    name: str,
    site: str = "",
    where: Index | None = None,
    **more: Any,
) -> Cells:
    """Numbers [D] of one token in a line; ``where`` is their place in the site, :data:`COLUMN` for the dimension."""
    return Cells(
        id=id,
        x=x,
        y=y,
        width=width,
        height=height,
        values=values[None],
        top=top or 1.0,
        rows=(name,),
        columns=[str(d) for d in range(len(values))],
        column_axis="·",
        site=site,
        name=name,
        where=None if where is None else Where(site, where),
        **more,
    )


def rows(
    stage: Stage,
    id: str,
    values: np.ndarray,
    site: str,
    *,
    x: Length = LEFT,
    width: Length = (1, -LEFT),
    top: float | None = None,
    where: Callable[[int], Index] | None = None,
    among: Sequence[int] | None = None,
    **more: Any,
) -> list[Mark]:
    """Numbers [n, D], a line for each token on the stage; ``among`` draws some of them."""
    top = float(np.abs(values[np.isfinite(values)]).max(initial=0)) if top is None else top
    index = where or (lambda row: (stage.first + row, COLUMN))
    return [
        vector(
            f"{id}.{row}",
            values[row],
            x=x,
            y=stage.y(row),
            width=width,
            height=stage.high,
            top=top,
            name=stage.labels[row],
            site=site,
            where=index(row) if site else None,
            **more,
        )
        for row in (range(len(values)) if among is None else among)
    ]


class Guess(NamedTuple):
    """A token with its probability."""

    label: str
    chance: float
    id: int


def bars(
    stage: Stage,
    guesses: Sequence[Guess],
    *,
    title: str,
    left: float = 0.0,
    written: Sequence[str] | None = None,
    shares: Sequence[float] | None = None,
    marked: int | None = None,
    position: int | None = None,
) -> list[Mark]:
    """Tokens with bars; by default as long as they are probable. ``position`` is whose predictions they are."""
    marks: list[Mark] = [heading("bars", title, at(left))]
    for n, guess in enumerate(guesses):
        y, share = TOP + 36 * n, guess.chance if shares is None else shares[n]
        told = percent(guess.chance) if written is None else written[n]
        where = None if position is None else Where("probs", (position, guess.id))
        marks += [
            Rect(
                id=f"room.{n}",
                x=at(left),
                y=y,
                width=wide(1 - left),
                height=28,
                fill="output",
                opacity=0.1,
                radius=4,
                stroke="accent" if n == marked else None,
                thick=2,
            ),
            Rect(
                id=f"bar.{n}",
                x=at(left),
                y=y,
                width=wide((1 - left) * share),
                height=28,
                fill="output",
                opacity=0.5,
                radius=4,
            ),
            Text(id=f"guess.{n}", text=short(guess.label, 14), x=at(left, 9), y=y + 14, size=14, bold=n == marked),
            Text(id=f"share.{n}", text=told, x=at(1, -8), y=y + 14, size=13, anchor="end"),
            Cells(
                id=f"cell.{n}",
                x=at(left),
                y=y,
                width=wide(1 - left),
                height=28,
                values=np.array([[guess.chance]]),
                look="blank",
                rows=(guess.label,),
                columns=("",),
                site="" if where is None else "probs",
                where=where,
                name=guess.label,
            ),
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


Words = Mapping[str, str]
