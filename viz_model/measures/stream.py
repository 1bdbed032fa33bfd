"""The residual stream by depth: where it is measured, how long its vectors are, how alike tokens; layers to show."""

from __future__ import annotations

from typing import Literal

import numpy as np

from viz_model.measures.passage import put_together
from viz_model.runs.trace import Trace


def stream_sites(trace: Trace) -> tuple[str, ...]:
    """The S sites of the residual stream by depth: before the blocks, and after each addition.

    Under Post-LN the values of these sites are taken after the norm that follows the addition.
    """
    known = frozenset(trace.sites)
    places = [place for place in ("mid", "cross", "out") if f"blocks.0.resid.{place}" in known]
    return ("embed.out", *(f"blocks.{i}.resid.{place}" for i in range(trace.n_layers) for place in places))


def stream_norms(trace: Trace) -> np.ndarray:
    """‖r‖ of each position at each depth: [S, T]."""
    return np.stack([trace.noted(site).lengths.numpy() for site in stream_sites(trace)])


def sum_lengths(trace: Trace, layer: int, part: Literal["attn", "ffn"]) -> np.ndarray:
    """The length of the stream once a sub-layer's output is added, before a norm that stands on it: [T].

    The same quantity for every place of the norm: Post-LN would bring it to its γ right after.
    """
    if put_together(trace) == "post" and trace.config.residual:
        found = trace.norm_input(f"blocks.{layer}.{part}.norm")
    else:
        found = trace[f"blocks.{layer}.resid.{'mid' if part == 'attn' else 'out'}"]
    return found.norm(dim=-1).numpy()


def stream_similarity(trace: Trace) -> np.ndarray:
    """:func:`viz_model.model.ops.mean_similarity` of the positions at each depth: [S]."""
    return np.array([trace.noted(site).alike for site in stream_sites(trace)])


def evenly(n_layers: int, chosen: int, most: int) -> tuple[int, ...]:
    """Up to ``most`` layers spread over a model, its ends and ``chosen`` among them."""
    if n_layers <= most:
        return tuple(range(n_layers))
    spread = [round(i * (n_layers - 1) / (most - 1)) for i in range(most)]
    if chosen not in spread:
        nearest = min(range(1, most - 1), key=lambda i: abs(spread[i] - chosen))
        spread[nearest] = chosen
    return tuple(sorted(spread))


def part_of(length: int, position: int, most: int) -> range:
    """At most ``most`` neighboring positions of a text, ``position`` among them and late in the row."""
    stop = min(length, max(most, position + 1))
    return range(max(0, stop - most), stop)
