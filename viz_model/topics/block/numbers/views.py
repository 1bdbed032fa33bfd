"""What the pictures of this page show of a run."""

from __future__ import annotations

import numpy as np

from viz_model.drawing.cells import ROW, Cells, span_of
from viz_model.measures.stream import stream_sites
from viz_model.runs.trace import Trace
from viz_model.topics.block.numbers import block, neurons, stream
from viz_model.topics.block.pictures.lengths import LengthsView
from viz_model.topics.block.pictures.neurons import (
    BINS as CURVE_BINS,
)
from viz_model.topics.block.pictures.neurons import (
    CLOSED,
    GATED_STRONGEST,
    MAX_POINTS,
    STRONGEST,
    CurveView,
    NeuronsView,
)
from viz_model.topics.block.pictures.norm import BINS, COMMON, NormView, shown_vectors
from viz_model.topics.block.pictures.strips import CLIP, StripsView
from viz_model.topics.block.pictures.weights import WeightsView


def strips_view(trace: Trace, layer: int, token: int) -> StripsView:
    steps, sums = block.passage(trace, layer, token)
    sizes = np.abs(np.concatenate([step.values for step in steps]))
    limit, most = float(sizes.max()) or 1.0, CLIP * float(np.quantile(sizes, 0.98))
    return StripsView(
        steps,
        sums,
        block.put_together(trace),
        block.norm_name(trace),
        min(limit, most or limit),
        token,
        trace.config.residual,
        block.has_norms(trace),
        getattr(trace.config.norm, "shift", True),
        tuple(one for one in block.sublayers(trace, layer) if block.measures(trace, f"blocks.{layer}.{one}.norm")),
    )


def lengths_view(trace: Trace, layer: int, token: int, lengths: np.ndarray | None = None) -> LengthsView:
    """``lengths``, where they are known already, are those of
    :func:`viz_model.topics.block.numbers.stream.stream_norms`.
    """
    return LengthsView(
        sites=stream_sites(trace),
        labels=tuple(t.label for t in trace.tokens),
        lengths=stream.stream_norms(trace) if lengths is None else lengths,
        token=token,
        layer=layer,
        # Where norms bring nothing on the stream to a length, it makes no difference where they stand.
        norm_at=trace.norm_at if block.sets_length(trace) else "pre",
    )


def norm_view(trace: Trace, layer: int, sublayer: str, token: int) -> NormView:
    site = f"blocks.{layer}.{sublayer}.norm"
    normed = block.normed(trace, site, token)
    reads = next(found for found in block.passage(trace, layer, token).sums if found.sublayer == sublayer).reads
    found = [values for _, values in shown_vectors(normed)]
    reaches = [float(np.abs(values).max()) or 1.0 for values in found]
    reaches[1:-1] = [max(reaches[1:-1])] * len(reaches[1:-1]) if reaches[1:-1] else []
    if max(reaches) <= COMMON * min(reaches):
        reaches = [max(reaches)] * len(found)
    edges = tuple(np.linspace(-reach, reach, BINS + 1) for reach in reaches)
    counts = tuple(np.histogram(values, own)[0] for values, own in zip(found, edges, strict=True))
    sites = tuple(name for name in trace.sites if name.startswith(f"{site}."))
    return NormView(site, sites, reads, normed, edges, counts)


def neurons_view(trace: Trace, layer: int, token: int) -> NeuronsView:
    at = f"blocks.{layer}.ffn."
    act, gated = trace[at + "act"], neurons.gated(trace, at)
    curve = neurons.curve(trace, layer, token)
    fires = not gated and curve is not None and curve.cuts
    chosen = neurons.strongest(act[token].numpy(), GATED_STRONGEST if gated else STRONGEST)
    shut: list[int] = []
    if gated:
        found = neurons.closed(trace[at + "gate_act"][token].numpy(), trace[at + "up"][token].numpy(), CLOSED)
        shut = [number for number in found.tolist() if number not in set(chosen.tolist())]
    return NeuronsView(
        labels=tuple(t.label for t in trace.tokens),
        token=token,
        active=neurons.positive(act) if fires else neurons.half(act),
        fires=fires,
        n_neurons=act.shape[-1],
        activation=getattr(trace.config.layer(trace.stack.side, layer).ffn, "activation", ""),
        path=neurons.direct_path(trace),
        strongest=neurons.neurons(trace, layer, token, chosen.tolist()),
        closed=neurons.neurons(trace, layer, token, shut),
        at=at,
        routed=at + "chosen" in trace,
        dips=curve is not None and bool((curve.y < 0).any()),
    )


def weights_view(trace: Trace, layer: int) -> WeightsView:
    return WeightsView(block.matrices(trace, layer))


def curve_view(trace: Trace, layer: int, token: int) -> CurveView | None:
    """None where the layer has no such function."""
    curve = neurons.curve(trace, layer, token)
    if curve is None:
        return None
    order = np.argsort(curve.before, kind="stable")
    # Evenly by rank, so that both ends are always among them.
    picked = np.unique(np.linspace(0, len(order) - 1, min(len(order), MAX_POINTS)).round().astype(int))
    edges = np.linspace(float(curve.x[0]), float(curve.x[-1]), CURVE_BINS + 1)
    counts = np.histogram(curve.before, edges)[0]
    cells = Cells(curve.site, (token, ROW), rows=span_of(order[picked]))
    return CurveView(curve, order[picked], edges, counts, cells)
