"""The residual stream by depth: ticks for its places, and a scale on which its lengths can be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
        "tickfont": {"size": 11},
        "tickangle": 0,
    }


def short(site: str) -> str:
    """``blocks.2.resid.mid`` as "2<br>mid"."""
    if site == "embed.out":
        return "embed"
    _, layer, _, place = site.split(".")
    return f"{layer}<br>{place}"


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
