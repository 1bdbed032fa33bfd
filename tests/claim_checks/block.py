"""Claims of the block page."""

import json
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from identities import stream_length
from torch.nn import functional as F

import viz_model as vm
from claim_checks import Shown, fact, seed
from viz_model import config as variants
from viz_model.checkpoints import registry
from viz_model.measures.neurons import Neuron
from viz_model.measures.passage import Normed
from viz_model.runs.trace import Trace
from viz_model.topics.block import experts, lengths, neurons, norm, real_code, vectors, weights
from viz_model.topics.block.experts import Beside, Measured
from viz_model.topics.block.lengths import LengthsView, Outlier
from viz_model.topics.block.norm import NormView
from viz_model.topics.block.real_code import Clamped, Errors
from viz_model.topics.block.vectors import Written
from viz_model.topics.block.weights import Matrix, WeightsView

ONE = np.ones(2)


def _lengths(last: float) -> LengthsView:
    return LengthsView(("embed.out", "blocks.0.resid.out"), ("a",), np.array([[1.0], [last]]), 0, 0)


def _norm(name: str, standard: np.ndarray) -> NormView:
    return NormView(
        "n", ("x",), "y", Normed(name, ONE, ONE, {"γ": ONE, "β": ONE}, 0.0, 1.0, standard, ONE, "other"), (), ()
    )


def _weights(ffn: int) -> WeightsView:
    return WeightsView((Matrix("attention", "attn.q", 10, (5, 2)), Matrix("ffn", "ffn.up", ffn, (ffn, 1))))


def _measured(first: list[float]) -> Measured:
    """Four experts, one a token: what the first reads of two kinds of text, and of the others each a third."""
    shares = np.array([[share, *[(1 - share) / 3] * 3] for share in first])
    return Measured(("a", "b"), (9, 9), shares, {"all": 1.0}, ((),) * 4, ("a",))


GATED = Neuron(0, None, None, 0.1, 0.1, ONE, ())
CLAMP = Clamped(1.0, 2.0, 1, 8, 0, 0.9)
EXAMPLES = {
    "block.written.attn": (Written(attn=3.0, ffn=2.0), Written(attn=2.1, ffn=2.0)),
    "block.written.cross": (Written(attn=1.0, ffn=2.0, cross=3.0), Written(attn=1.0, ffn=3.0, cross=3.0)),
    "block.written.input": (Written(attn=2.0, ffn=1.0, input=3.0), Written(attn=2.0, ffn=3.0, input=3.0)),
    "block.written.ffn": (Written(attn=2.0, ffn=3.0), Written(attn=2.0, ffn=2.0)),
    "block.written.state": (Written(attn=0.0, ffn=2.0, state=3.0), Written(attn=0.0, ffn=2.0, state=2.1)),
    "block.trend.grow": (_lengths(2.0), _lengths(1.1)),
    "block.trend.shrink": (_lengths(0.5), _lengths(1.0)),
    "block.outlier.stands_out": (Outlier(0, "embed.out", 9.0, 6.0), None),
    "block.norm.LayerNorm": (_norm("LayerNorm", np.array([-1.0, 1.0])), _norm("LayerNorm", np.array([-0.9, 0.9]))),
    "block.norm.RMSNorm": (_norm("RMSNorm", ONE), _norm("RMSNorm", 0.5 * ONE)),
    "block.parameters.ffn": (_weights(20), _weights(10)),
    "block.gate.holds_back": (GATED, GATED._replace(gate_act=-0.6)),
    "block.firing.few": (0.05, 0.0),
    "block.firing.most": (0.9, 0.5),
    "block.inside.helps": (Errors(0.02, 0.001), Errors(0.001, 0.001)),
    "block.clamp.saves": (CLAMP, CLAMP._replace(lost_clamped=3)),
    "block.chunks.equal": (0.0, 1e-7),
    "block.chunks.rounding": (1e-6, 0.01),
    "block.by_kind.parted": (_measured([0.8, 0.1]), _measured([0.45, 0.1])),
    "block.load.even": (_measured([0.3, 0.2]), _measured([0.8, 0.7])),
    "block.sibling.routed": (Beside((1.0, 1.1), 3, ((), ())), Beside((1.0, 1.005), 3, ((), ()))),
    "block.sibling.dense": (Beside((1.1, 1.0), 3, ((), ())), Beside((1.0, 1.1), 3, ((), ()))),
}
ELSEWHERE = ("block.firing.few", "block.firing.most", "block.trend.shrink", "block.written.input")
"""The stories are the same for every text, and no bundled model's stream gets shorter: tests/topics/block
has such runs."""


def _written(trace: Trace, layer: int, token: int) -> Shown:
    parts = [part for part in ("attn", "cross", "ffn", "input") if f"blocks.{layer}.{part}.out" in trace]
    lengths = {part: np.linalg.norm(trace.row(f"blocks.{layer}.{part}.out", token)) for part in parts}
    if f"blocks.{layer}.attn.pattern" not in trace:
        lengths["state"] = lengths.pop("attn")

    def check(claim: str) -> bool:
        return all(lengths[claim] > 1.2 * length for part, length in lengths.items() if part != claim)

    return Shown(vectors.WRITTEN, vectors.written(vectors.vectors(trace, layer, token)), check)


def _normed(trace: Trace, norm: str, token: int, claim: str) -> bool:
    """Gain and shift taken off what the run has after the norm, the numbers are as the claim says."""
    gain, *shift = (trace.model.get_parameter(w.name) for w in trace.site(f"{norm}.out").weights)
    after = trace.row(f"{norm}.out", token).double() - (shift[0] if shift else 0.0)
    plain = (after / gain)[gain.abs() > 1e-3]
    size = plain.square().mean().sqrt().item()
    return abs(size - 1) < 0.03 and (claim == "RMSNorm" or abs(plain.mean().item()) < 0.03)


def _experiments(trace: Trace, layer: int, token: int) -> Iterator[Shown]:
    for errors in real_code.precision(trace, layer)[:2]:
        yield Shown(real_code.INSIDE, errors, fact(errors.half > errors.mixed))
    clamp = real_code.clamped(trace, layer, token)
    vector = (trace.row(f"blocks.{layer}.resid.out", token).double() * clamp.factor).half()
    held = vector.clamp(-64504, 64504).float()
    yield Shown(real_code.CLAMPED, clamp, fact(vector.isinf().any() and held.isfinite().all()))
    apart = max(chunk.apart for chunk in real_code.chunks(trace, layer))
    largest = float(trace[f"blocks.{layer}.ffn.out"].abs().max())
    yield Shown(real_code.CHUNKED, apart, fact(apart < 1e-4 * max(1.0, largest)))


def _routed(trace: Trace, layer: int) -> Iterator[Shown]:
    """Of a bundled model with experts: what was measured beside its weights, and the model that it was cut from."""
    folder = registry.BUNDLED / trace.name
    if (found := experts.measured(folder, layer)) is not None:
        told = json.loads((folder / "routing.json").read_text(encoding="utf-8"))["layers"][str(layer)]["shares"]
        shares = np.array([*told.values()])
        most, means, even = shares[:, shares.max(0).argmax()], shares.mean(0), shares.mean()
        yield Shown(experts.BY_KIND, found, fact(most.max() >= 2 * even - 1e-9 and most.min() < even))
        yield Shown(experts.LOAD, found, fact(means.max() <= 1.51 * even and means.min() >= 0.49 * even))
    if (name := registry.weights_of(folder)) is not None and len(trace) > 1:
        other = vm.load(name).trace(ids=trace.ids)
        answers = torch.tensor(trace.ids[1:])
        losses = [F.cross_entropy(run["logits"][:-1].double(), answers).item() for run in (trace, other)]
        beside = experts.beside(trace, other)
        assert beside is not None
        yield Shown(experts.SIBLING, beside, lambda claim: (losses[0] < losses[1]) == (claim == "routed"))


def shown(trace: Trace) -> Iterator[Shown]:
    chance = seed(" ".join(map(str, trace.ids)))
    layer, token = chance % trace.n_layers, len(trace) - 1
    yield _written(trace, layer, token)
    view = lengths.lengths(trace, layer, token)
    ends = (stream_length(trace, site) for site in ("embed.out", f"blocks.{trace.n_layers - 1}.resid.out"))
    first, last = (np.median(one) for one in ends)
    yield Shown(lengths.TREND, view, lambda claim: bool(last > first if claim == "grow" else last < first))
    if outlier := view.outlier:
        found = stream_length(trace, outlier.site)
        yield Shown(lengths.STANDS_OUT, outlier, fact(found[outlier.token] > 4.99 * np.median(found)))
    site = f"blocks.{layer}.ffn.norm"
    yield Shown(norm.NORM, norm.norm_view(trace, layer, "ffn", token), partial(_normed, trace, site, token))
    sizes = {name: p.numel() for name, p in trace.stack.block(layer).named_parameters()}
    ffn = sum(size for name, size in sizes.items() if name.startswith("ffn."))
    yield Shown(weights.PARAMETERS, weights.weights(trace, layer), lambda claim: 2 * ffn > sum(sizes.values()))
    if isinstance(trace.config.ffn, variants.Gated):
        for neuron in neurons.neurons_view(trace, layer, token).closed[:1]:
            up, act = (trace.row(f"blocks.{layer}.ffn.{name}", token)[neuron.number] for name in ("up", "act"))
            yield Shown(neurons.GATE, neuron, fact(abs(act) < 0.51 * abs(up)))
    if chance % 3 == 0:
        yield from _routed(trace, layer)
    if chance % 12 == 0 and f"blocks.{layer}.attn.masked" in trace:
        yield from _experiments(trace, layer, token)
