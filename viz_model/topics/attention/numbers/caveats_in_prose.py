"""What is said of weights beside what arrives."""

from __future__ import annotations

import numpy as np

from viz_model.topics.attention.numbers.caveats import Care, Taken
from viz_model.topics.attribution.numbers.circuits import SINK_RATIO, SINK_WEIGHT


def share(value: float) -> str:
    """A share for prose: 46 %, or 0.4 % where whole per cent would say too little."""
    return f"{value:.0%}" if value >= 0.0995 or value == 0 else f"{value:.1%}"


def number(value: float, is_rank: bool) -> str:
    """A rank correlation, or a share, for prose; a dash where there is none."""
    if not np.isfinite(value):
        return "–"
    return f"{value:.2f}".replace("-", "−") if is_rank else share(value)


def is_sink(taken: Taken) -> np.ndarray:
    """Heads of which the group takes at least a fifth of the weight and gives less than half as much: [L, H]."""
    sinks: np.ndarray = (taken.weights >= SINK_WEIGHT) & (taken.shares < SINK_RATIO * taken.weights)
    return sinks


def sink_facts(taken: Taken) -> dict[str, str]:
    """For prose: means over all heads, the head in which weight most exceeds the share, and how many are sinks."""
    apart = taken.weights - taken.shares
    layer, head = (int(n) for n in np.unravel_index(apart.argmax(), apart.shape))
    return {
        "weight": share(float(taken.weights.mean())),
        "share": share(float(taken.shares.mean())),
        "even": share(taken.even),
        "layer": str(layer),
        "head": str(head),
        "head_weight": share(float(taken.weights[layer, head])),
        "head_share": share(float(taken.shares[layer, head])),
        "n_sinks": str(int(is_sink(taken).sum())),
        "n_heads": str(apart.size),
    }


def rank_facts(care: Care) -> dict[str, str]:
    """For prose: the mean and the lowest rank correlation, and whose it is; none where there is no correlation."""
    if not np.isfinite(care.ranks).any():
        return {}
    layer, head = (int(n) for n in np.unravel_index(np.nanargmin(care.ranks), care.ranks.shape))
    return {
        "mean": number(float(np.nanmean(care.ranks)), True),
        "low": number(float(care.ranks[layer, head]), True),
        "layer": str(layer),
        "head": str(head),
    }
