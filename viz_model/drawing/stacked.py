"""Bars to the right that are cut into parts of a whole, 0 to 100%: in groups with a name each."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing.chart import Axis, bar_key, ticks_below, upright_grid
from viz_model.drawing.scene import Items, Labels, Mark, Panel, Scene, Series, Text, Texts, Words, along
from viz_model.drawing.scene.writing import width_of
from viz_model.drawing.theme import ROLES, over

HEAD, TOP = 26.0, 8.0
"""Pixels of a group's name, and above all."""


class Part(NamedTuple):
    """A part of every bar: its name, its color, and how full that is."""

    name: str
    role: str
    opacity: float = 1.0


class Group(NamedTuple):
    """Bars one below the other.

    Attributes:
        name: over them; none where there is one group alone.
        rows: their names; of several lines, runs of words.
        shares: of each bar and part, [R, P].
        said: what is said of each part of each bar, R × P.
        ends: written where the first part ends, R or none.
    """

    name: str
    rows: Sequence[Words]
    shares: np.ndarray
    said: Sequence[Sequence[str]]
    ends: Sequence[str] = ()


def scene(
    id: str,
    title: str,
    parts: Sequence[Part],
    groups: Sequence[Group],
    axis: str = "",
    *,
    row: float = 26.0,
    is_written: bool = False,
) -> Scene:
    """The bars, with a legend of their parts; ``is_written`` is whether shares stand in those that have room."""
    names = [name for group in groups for name in group.rows]
    left = min(190.0, max((width_of(line) for name in names for line in _lines(name)), default=0.0)) + 10
    across = (1.0, -left - 18.0)
    bars: list[Mark] = []
    series = []
    top = TOP
    for g, group in enumerate(groups):
        if group.name:
            top += HEAD
            bars.append(Text(id=f"group.{g}", text=group.name, x=left, y=top - HEAD / 2, bold=True))
        n = len(group.rows)
        starts = np.cumsum(group.shares, axis=1) - group.shares
        y = (top + 0.15 * row + np.arange(n) * row).astype(np.float32)
        for p, part in enumerate(parts):
            at, wide = starts[:, p], group.shares[:, p]
            bars.append(
                Items(
                    id=f"bars.{g}.{p}", x=along(at, left, across), y=y, width=along(wide, 0, across),
                    height=np.full(n, 0.7 * row, np.float32), fill=part.role, opacity=part.opacity,
                    labels=[said[p] for said in group.said], name=part.name, down=True,
                )
            )  # fmt: skip
            if is_written:
                bars.append(
                    Texts(
                        id=f"shares.{g}.{p}", texts=[f"{one:.0%}" if one >= 0.07 else "" for one in wide],
                        x=along(at + wide / 2, left, across), y=y + 0.35 * row,
                        fill=over(ROLES[part.role]),
                    )
                )  # fmt: skip
            rows = [" ".join(_lines(name)) for name in group.rows]
            series.append(Series(" · ".join(filter(None, (group.name, part.name))), rows, wide))
        for r, text in enumerate(group.ends):
            place = along(group.shares[r, 0], left + 4, across)
            bars.append(Text(id=f"end.{g}.{r}", text=text, x=place, y=top + (r + 0.5) * row, bold=True))
        bars.append(Labels(id=f"names.{g}", texts=group.rows, x=left - 8, y=top, length=n * row, along="y", most=60))
        top += n * row
    scale = Axis(0.0, 1.0, axis, "%0")
    marks = [*upright_grid(scale, left, across, TOP, top), *bars, *ticks_below(scale, left, across, top)]
    panel = Panel(id="bars", marks=marks, height=top + (44.0 if axis else 26.0))
    keys = [bar_key(part.name, part.role, part.opacity) for part in parts]
    return Scene(id=id, panels=[panel], title=title, keys=keys, series=series)


def _lines(name: Words) -> list[str]:
    return [name] if isinstance(name, str) else ["".join(run.text for run in line) for line in name]
