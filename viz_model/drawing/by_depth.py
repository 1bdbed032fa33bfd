"""The residual stream by depth: what its places are called, lines over them, and a scale for lengths."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz_model.drawing import chart
from viz_model.drawing.scene import Scene

WIDE = 30
"""Lengths that differ by more than this factor are drawn on a logarithmic scale."""


def shown(sites: Sequence[str], most: int) -> list[int]:
    """Which sites get a number: all of a few, else the embedding and the ends of every n-th block."""
    if len(sites) <= most:
        return list(range(len(sites)))
    ends = [n for n, site in enumerate(sites) if site.endswith(".out")]  # embed.out is the first
    return ends[:: -(-len(ends) // most)]


def short(site: str) -> str:
    """``blocks.2.resid.mid`` as "2 mid"."""
    first, *rest = site.split(".")
    return f"{rest[0]} {rest[-1]}" if first == "blocks" else "embed" if site == "embed.out" else rest[0]


def scale(lengths: np.ndarray, title: str, log: str, room: float = 0.05) -> chart.Axis:
    """For lengths: from 0, or logarithmic, which ``log`` says, where a few are very much longer than the rest."""
    top, some = float(lengths.max()), lengths[lengths > 0]
    low = float(some.min()) if some.size else 1.0
    if top > WIDE * low:
        return chart.Axis(low / 1.25, top * 1.25, f"{title} {log}", "0", True)
    return chart.Axis(0, (top or 1.0) * (1 + room), title)


def lines(id: str, title: str, sites: Sequence[str], series: Sequence[chart.Line], y: Any, **more: Any) -> Scene:
    """Lines over the places of the stream; ``more`` is as of :func:`viz_model.drawing.chart.lines`."""
    x = chart.places(len(sites), more.pop("x_title", ""))
    names = [short(site) for site in sites]
    return chart.lines(id, title, np.arange(len(sites)), series, x, y, x_names=names, at=list(sites), **more)
