"""One measure by place, in the run before and in the run after, or what each change costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes as scales
from viz_model.drawing import bars, curves, sheet, theme
from viz_model.drawing import by_depth as depth

MOST_LABELS = 60
WRITTEN = 14
"""Bars up to which each has its number written on it."""
COLOURS = {
    "before": theme.ROLES["residual"],
    "after": theme.ROLES["output"],
    "attn": theme.ROLES["pattern"],
    "cross": theme.ROLES["query"],
    "ffn": theme.ROLES["ffn"],
    "cost": theme.ROLES["output"],
    "out": theme.ROLES["ffn"],
    "alone": theme.ROLES["output"],
}


class SeriesView(NamedTuple):
    """Numbers over the same places, a series for each run or for each sort of part.

    ``series`` maps names of :data:`COLOURS` to [N] numbers; what is not finite is left out of the drawing.
    ``marked`` are the places whose names stand out.
    """

    labels: tuple[str, ...]
    series: Mapping[str, np.ndarray]
    site: str = ""
    marked: tuple[int, ...] = ()

    @property
    def shown(self) -> dict[str, np.ndarray]:
        return {name: np.where(np.isfinite(values), values, np.nan) for name, values in self.series.items()}

    def table(self) -> dict[str, list[object]]:
        """Columns for a table."""
        return {"": list(self.labels)} | {name: values.tolist() for name, values in self.series.items()}


def draw_bars(view: SeriesView, names: Mapping[str, str], axes: tuple[str, str]) -> sheet.Sheet:
    """Bars side by side; ``axes`` are the names of the places and of the measure."""
    figure = sheet.Sheet()
    is_few = len(view.labels) * len(view.series) <= WRITTEN
    top = 0.0
    for key, values in view.shown.items():
        top = max(top, float(np.nanmax(values, initial=0.0)))
        written = [f"{value:.2f}" if np.isfinite(value) else "" for value in values]
        bars.upward(
            figure,
            values,
            COLOURS[key],
            columns=theme.unique(view.labels),
            name=names.get(key, ""),
            outside=written if is_few else None,
            size=theme.SMALL,
            hover=_hover(axes, names.get(key, ""), "%{x}"),
            extra=view.site,
        )
    figure.update_layout(barmode="group", bargap=0.3, bargroupgap=0.06)
    scales.columns(figure, view.labels, axes[0], longest=14, most=MOST_LABELS, bold=view.marked, type="category")
    return _finished(figure, view, axes, range=[0, (top or 1.0) * 1.12])


def draw_lines(view: SeriesView, names: Mapping[str, str], axes: tuple[str, str]) -> sheet.Sheet:
    """Lines over ordered places, such as the depths of the stream; logarithmic where lengths lie far apart."""
    figure = sheet.Sheet()
    places = range(len(view.labels))
    for key, values in view.shown.items():
        curves.line(
            figure,
            list(places),
            values,
            curves.Style(COLOURS[key], width=2.5),
            name=names.get(key, ""),
            marks=6,
            hover=_hover(axes, names.get(key, ""), "%{text}"),
            extra=view.site,
            text=view.labels,
        )
    shown = places[:: scales.every(len(places), depth.MOST_TICKS)]
    ticks = {"tickvals": list(shown), "ticktext": [view.labels[n] for n in shown], "tickangle": 0}
    scales.across(figure, axes[0], **ticks)
    every = np.concatenate(list(view.shown.values()))
    every = every[np.isfinite(every)]
    return _finished(figure, view, axes, **(depth.scale(every) if (every > 0).all() else {}))


def _hover(axes: tuple[str, str], name: str, place: str) -> str:
    name, x, y = map(theme.plain, (name, *axes))
    return f"{name}<br>{x} {place}<br>{y} <b>%{{y:.4f}}</b>"


def _finished(figure: sheet.Sheet, view: SeriesView, axes: tuple[str, str], **more: object) -> sheet.Sheet:
    scales.upward(figure, axes[1], grid=True, **{"nticks": 6, **more})
    legend: theme.Legend = "above" if len(view.series) > 1 else None
    return theme.finished(figure, height=330, margin={"t": 34}, legend=legend)
