"""The residual stream by depth: where it is measured, how long its vectors are, how alike tokens; layers to show."""

import numpy as np

from viz_model.measures.passage import SubLayer, put_together, resid_of, sublayers
from viz_model.runs.trace import Trace


def stream_sites(trace: Trace) -> tuple[str, ...]:
    """The S sites of the residual stream by depth: before the blocks, and after each addition.

    Under Post-LN the values of these sites are taken after the norm that follows the addition.
    """
    known = frozenset(trace.sites)
    places = [place for place in ("mid", "cross", "ffn", "out") if f"blocks.0.resid.{place}" in known]
    return ("embed.out", *(f"blocks.{i}.resid.{place}" for i in range(trace.n_layers) for place in places))


def is_normed(trace: Trace) -> bool:
    """Whether norms stand on the stream: then the values of its sites are what a norm has made of a sum."""
    return put_together(trace) == "post" and trace.config.residual


def stream_names(trace: Trace) -> tuple[str, ...]:
    """What :func:`stream_lengths` measures at each depth: a site, or what a norm on the stream reads."""
    if not is_normed(trace):
        return stream_sites(trace)
    sums = (f"blocks.{n}.{part}.norm" for n in range(trace.n_layers) for part in sublayers(trace, n))
    return ("embed.out", *(f'norm_input("{name}")' for name in sums))


def stream_lengths(trace: Trace) -> np.ndarray:
    """‖r‖ of each position at each depth, before a norm that stands on the stream: [S, T].

    The same quantity for every place of the norm: Post-LN would bring it to its γ right after.
    """
    if not is_normed(trace):
        return np.stack([trace.noted(site).lengths.numpy() for site in stream_sites(trace)])
    sums = [sum_lengths(trace, n, part) for n in range(trace.n_layers) for part in sublayers(trace, n)]
    return np.stack([trace.noted("embed.out").lengths.numpy(), *sums])


def sum_lengths(trace: Trace, layer: int, part: SubLayer) -> np.ndarray:
    """The length of the stream once a sub-layer's output is added, as in :func:`stream_lengths`: [T]."""
    if is_normed(trace):
        found = trace.norm_input(f"blocks.{layer}.{part}.norm")
    else:
        found = trace[f"blocks.{layer}.{resid_of(trace, part)}"]
    return found.norm(dim=-1).numpy()


def longest(*runs: Trace | None) -> float:
    """The longest stream that enters or leaves a block of any of these runs, as in :func:`stream_lengths`: what a full
    bar stands for, so that bars of twins compare.
    """
    found = [run.noted("embed.out").lengths.numpy() for run in runs if run is not None]
    found += [sum_lengths(run, layer, "ffn") for run in runs if run is not None for layer in range(run.n_layers)]
    return float(max(lengths.max(initial=0) for lengths in found)) or 1.0


def stream_similarity(trace: Trace) -> np.ndarray:
    """:func:`viz_model.model.ops.mean_similarity` of the positions at each depth: [S]."""
    return np.array([trace.noted(site).alike for site in stream_sites(trace)])


def units(vectors: np.ndarray) -> np.ndarray:
    """The vectors in the last axis at length 1; one of zeros stays as it is."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-30)


def cosines(a: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    """Of every row with every row of ``b``, or with all of its own: [N, D], [M, D] -> [N, M]; 0 with a row of zeros."""
    return units(a) @ units(a if b is None else b).T


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
