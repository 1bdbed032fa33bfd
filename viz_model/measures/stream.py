"""Where the residual stream is measured, by depth."""

from __future__ import annotations

from viz_model.runs.trace import Trace


def stream_sites(trace: Trace) -> tuple[str, ...]:
    """The S sites of the residual stream by depth: before the blocks, and after each addition.

    Under Post-LN the values of these sites are taken after the norm that follows the addition.
    """
    known = frozenset(trace.sites)
    places = [place for place in ("mid", "cross", "out") if f"blocks.0.resid.{place}" in known]
    return ("embed.out", *(f"blocks.{i}.resid.{place}" for i in range(trace.n_layers) for place in places))
