"""The residual stream by depth: ticks for its places, and a scale on which its lengths can be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme

STYLES = (
    curves.Style(theme.HIGHLIGHT, width=3),
    curves.Style(theme.ROLES["ffn"], "dash", "diamond"),
    curves.Style(theme.ROLES["residual"], "dot", "square"),
)
MOST_TICKS = 11
WIDE = 30
"""Lengths that differ by more than this factor are drawn on a logarithmic scale."""


def shown(sites: Sequence[str], most: int = MOST_TICKS) -> list[int]:
    """Which sites get a tick: all of a few, else the embedding and the ends of every n-th block."""
    if len(sites) <= most:
        return list(range(len(sites)))
    ends = [n for n, site in enumerate(sites) if site.endswith(".out")]  # embed.out is the first
    return ends[:: -(-len(ends) // most)]


def ticks(sites: Sequence[str]) -> dict[str, Any]:
    """Ticks for the sites of the stream; of deep models only every n-th block's end is written."""
    return {
        "tickvals": shown(sites),
        "ticktext": [short(sites[n]) for n in shown(sites)],
        "tickfont": {"size": theme.SMALL},
        "tickangle": 0,
    }


def short(site: str) -> str:
    """``blocks.2.resid.mid`` as "2<br>mid"."""
    first, *rest = site.split(".")
    return f"{rest[0]}<br>{rest[-1]}" if first == "blocks" else "embed" if site == "embed.out" else rest[0]


def scale(lengths: np.ndarray) -> dict[str, Any]:
    """A y axis for lengths: from 0, or logarithmic where a few vectors are very much longer than the rest."""
    top = float(lengths.max())
    low = float(lengths[lengths > 0].min()) if (lengths > 0).any() else 1.0
    if top > WIDE * low:
        return {"type": "log", "range": [np.log10(low) - 0.1, np.log10(top) + 0.1], "dtick": 1}
    return {"range": [0, (top or 1.0) * 1.05]}


def is_wide(lengths: np.ndarray) -> bool:
    """Whether :func:`scale` is logarithmic."""
    return "type" in scale(lengths)


def draw_by_depth(
    sites: Sequence[str], lines: Mapping[str, np.ndarray], step: str, quantity: str, **axis: Any
) -> sheet.Sheet:
    """Some numbers [S] at every place of the stream, a line each with its name; ``axis`` is that of the numbers."""
    figure = sheet.Sheet()
    for style, (name, values) in zip(STYLES, lines.items(), strict=False):
        hover = f"{theme.plain(name)}<br>%{{customdata}}<br><b>%{{y:.4f}}</b>"
        curves.line(
            figure, list(range(len(sites))), values, style, name=name, marks=7, hover=hover, customdata=list(sites)
        )
    axes.across(figure, step, range=[-0.5, len(sites) - 0.5], **ticks(sites))
    axes.upward(figure, quantity, grid=True, **{"rangemode": "tozero", **axis})
    return theme.finished(figure, height=320, margin={"t": 30}, legend="above")
