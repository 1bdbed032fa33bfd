"""Tokens from above to below, each with its number as a bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.sheet import Numbers
from viz_model.drawing.writing import hover


def draw_ranked(
    labels: Sequence[str],
    values: Numbers,
    title: str,
    colour: str,
    *,
    hovers: Sequence[str] | None = None,
    height: int | None = None,
    **axis: Any,
) -> sheet.Sheet:
    """Tokens from above to below, each with its number as a bar; ``axis`` is Plotly's for the numbers."""
    figure = sheet.Sheet()
    written = [f"{value:.2f}" for value in values]
    told = hovers or [hover((label, f"{value:.4f}")) for label, value in zip(labels, values, strict=True)]
    bars.across(figure, values, bars.outlined(colour, 0.55), width=None, outside=written, hover=told)
    axes.rows(figure, labels, longest=14, tickfont={"family": "monospace", "size": theme.FONT_SIZE, "color": theme.INK})
    both = min(values) < 0 < max(values)
    axes.across(figure, title, **({"range": axes.reach(values, 0.22 if both else 0.02), "nticks": 5} | axis))
    return theme.finished(figure, height=height or 60 + 24 * len(labels))
