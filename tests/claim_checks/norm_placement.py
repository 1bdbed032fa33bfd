"""Claims of the page on Pre-LN and Post-LN."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import torch
from torch.nn import functional as F

import viz_model as vm
from claim_checks import Shown, model_of, seed
from viz_model.config import LayerNorm
from viz_model.model.tap import NO_TAP
from viz_model.model.transformer import Transformer
from viz_model.runs.trace import Trace
from viz_model.topics.norm_placement import depth, last_norm, pull
from viz_model.topics.norm_placement.depth import Alike, Halves
from viz_model.topics.norm_placement.fresh import Fit
from viz_model.topics.norm_placement.last_norm import Stretch
from viz_model.topics.norm_placement.pull import Ends
from viz_model.topics.norm_placement.readings import readings, untrained
from viz_model.topics.norm_placement.start import Across, Law
from viz_model.topics.norm_placement.training import Bits
from viz_model.topics.norm_placement.warmup import Warmup

LAW = Law(Fit(-0.4, 0.02, 1.0), -0.5)
"""A power law that is five errors from its theory."""

EXAMPLES = {
    "norm_placement.shares.less": (Halves(0.4, 0.2), Halves(0.24, 0.23)),
    "norm_placement.shares.more": (Halves(0.2, 0.4), Halves(0.24, 0.26)),
    "norm_placement.last_gain.stretches": (Stretch(17, 57, 13.9), Stretch(57, 17, 13.9)),
    "norm_placement.rescaled.same": (0, 1),
    "norm_placement.alike.pre": (Alike(0.51, 0.45), Alike(0.452, 0.45)),
    "norm_placement.alike.post": (Alike(0.33, 0.45), Alike(0.45, 0.452)),
    "norm_placement.alike_fresh.pre": (Alike(0.8, 0.5), Alike(0.5, 0.8)),
    "norm_placement.alike_fresh.post": (Alike(0.5, 0.8), Alike(0.8, 0.5)),
    "norm_placement.gradient.shrinks": (Ends(1.0, 0.09), Ends(1.0, 0.2)),
    "norm_placement.gradient.grows": (Ends(1.0, 11.0), Ends(1.0, 9.0)),
    "norm_placement.exponent.agrees": (LAW._replace(theory=-0.4), LAW),
    "norm_placement.exponent.differs": (LAW, LAW._replace(theory=-0.37)),
    "norm_placement.blocks.falls": (Across(2.0, 1.0), Across(1.0, 2.0)),
    "norm_placement.blocks.rises": (Across(1.0, 2.0), Across(1.0, 1.0)),
    "norm_placement.warmup.rescues": (Warmup(5.0, 2.0, 5.0), Warmup(4.8, 2.0, 5.0)),
    "norm_placement.warmup.neither": (Warmup(float("nan"), 4.95, 5.0), Warmup(4.0, 4.95, 5.0)),
    "norm_placement.warmup.helps": (Warmup(2.2, 2.0, 5.0), Warmup(2.0, 1.95, 5.0)),
    "norm_placement.warmup.hurts": (Warmup(2.0, 2.2, 5.0), Warmup(2.0, 2.05, 5.0)),
    "norm_placement.ahead.pre": (Bits(1.0, 1.1), Bits(1.0, 1.0)),
    "norm_placement.ahead.post": (Bits(1.1, 1.0), Bits(1.0, 1.0004)),
    "norm_placement.by_heart.costs": ((0.1, 0.5), (-0.1, 0.5)),
}
_TRAINING = ("exponent", "blocks", "warmup", "ahead", "by_heart")
_RANDOM = ("norm_placement.gradient.shrinks", "norm_placement.alike_fresh.pre")
ELSEWHERE = (*(name for name in EXAMPLES if name.split(".")[1] in _TRAINING), *_RANDOM)
"""Of training runs and of fresh models; and what random models do, but no bundled one on any text."""


def _each_reader(trace: Trace) -> list[tuple[torch.Tensor, torch.Tensor, torch.nn.Module]]:
    """For every sub-layer in order: the stream before it, what it adds, and the norm module that reads the sum."""
    blocks, x, found = list(trace.stack.blocks), trace["embed.out"], []
    parts = [(i, p) for i in range(len(blocks)) for p in ("attn", "cross", "ffn") if f"blocks.{i}.{p}.out" in trace]
    norms = [getattr(blocks[i], f"{part}_norm") for i, part in parts]
    is_pre = trace.stack.final_norm is not None
    for n, (i, part) in enumerate(parts):
        added = trace[f"blocks.{i}.{part}.out"]
        norm = [*norms, trace.stack.final_norm][n + is_pre]
        found.append((x, added, norm))
        x = x + added if is_pre else norm(x + added)
    return found


def _centered(trace: Trace, x: torch.Tensor) -> torch.Tensor:
    x = x.double()
    return x - x.mean(-1, keepdim=True) if isinstance(trace.config.norm, LayerNorm) else x


def _shares(trace: Trace, claim: str) -> bool:
    """The part of a norm's output without its shift that comes of the addition: what is lost where it is left out."""
    shares = []
    for x, added, norm in _each_reader(trace):
        total, left = (_centered(trace, v) for v in (x + added, x))
        sigma = (total**2).mean(-1, keepdim=True).add(trace.config.norm.eps).sqrt()
        scale = norm.get_parameter("weight").double() / sigma
        whole, kept = scale * total, scale * left
        shares.append(1 - F.cosine_similarity(whole, kept, dim=-1) * kept.norm(dim=-1) / whole.norm(dim=-1))
    each = [share.quantile(0.5).item() for share in shares]
    half = len(each) // 2
    early, late = sum(each[:half]) / half, sum(each[-half:]) / half
    return late < early / 1.2 if claim == "less" else late > early * 1.2


def _stretches(trace: Trace, claim: str) -> bool:
    x, added, norm = _each_reader(trace)[-1]
    before, after = (v.square().sum(-1).sqrt().quantile(0.5).item() for v in (x + added, norm(x + added)))
    return after > max(before, trace.config.d_model**0.5)


def _order_stays(trace: Trace, claim: str) -> bool:
    x, added, _ = _each_reader(trace)[-1]
    total = x + added
    sigma = _centered(trace, total).square().mean(-1, keepdim=True).sqrt().float()
    with torch.inference_mode():
        bare, scaled = (trace.model.head(v[None])[0] for v in (total, total / sigma))
    return bool((bare.argmax(-1) == scaled.argmax(-1)).all())


def _cosine(trace: Trace) -> float:
    """Of all pairs of tokens, as the last norm leaves them."""
    x, added, norm = _each_reader(trace)[-1]
    read = norm(x + added)
    table = F.cosine_similarity(read[:, None], read[None], dim=-1)
    return float(table.detach()[~torch.eye(len(read), dtype=torch.bool)].mean())


def _more_alike(traces: dict[str, Trace], claim: str) -> bool:
    other = "post" if claim == "pre" else "pre"
    return _cosine(traces[claim]) > _cosine(traces[other])


def _fresh(trace: Trace) -> Trace:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Transformer(trace.config).eval()
    return replace(model_of(trace), model=model).trace(ids=list(trace.ids))


def _pull(trace: Trace, claim: str) -> bool:
    """∂loss/∂r at both ends of a decoder, by running its blocks one by one."""
    stack = trace.stack
    first = x = trace["embed.out"][None].clone().requires_grad_()
    with torch.enable_grad():
        for layer in range(trace.n_layers):
            x = stack.run_block(layer, x, visible=None, source=None, tap=NO_TAP)
        logits = trace.model.head(x if stack.final_norm is None else stack.final_norm(x))[0]
        loss = F.cross_entropy(logits[:-1], torch.tensor(trace.ids[1:]))
        bottom, top = (gradient.norm().item() for gradient in torch.autograd.grad(loss, (first, x)))
    return bottom > 10 * top if claim == "grows" else top > 10 * bottom


_bundled = cache(vm.load)


def shown(trace: Trace) -> Iterator[Shown]:
    chance = seed(trace.text or "")
    if chance % 4:
        return
    yield Shown(depth.SHARES, Halves(*readings(trace).halves()), partial(_shares, trace))
    if chance % 8 == 0:
        found = last_norm.last_norm(trace)
        yield Shown(last_norm.LAST_GAIN, Stretch.of(found), partial(_stretches, trace))
        if found.top is not None:
            yield Shown(last_norm.RESCALED, found.changed("scale"), partial(_order_stays, trace))
    if chance % 20 == 0 and trace.config.kind == "decoder" and len(trace) > 1:
        found_pull = pull.stream_gradients(trace)
        yield Shown(pull.GRADIENT, Ends(found_pull.norms[-1], found_pull.norms[0]), partial(_pull, trace))
    is_pair = trace.config == _bundled("story-pre-ln").config and len(trace) > 1
    if is_pair and trace.text:
        pair = {"pre": trace, "post": _bundled("story-post-ln").trace(trace.text).at("decoder")}
        yield Shown(
            depth.ALIKE, Alike(*(float(readings(t).alike[-1]) for t in pair.values())), partial(_more_alike, pair)
        )
        if chance % 40 == 0:
            fresh = {at: _fresh(t).at("decoder") for at, t in pair.items()}
            ends = Alike(*(float(untrained(t).alike[-1]) for t in pair.values()))
            yield Shown(depth.ALIKE_FRESH, ends, partial(_more_alike, fresh))
