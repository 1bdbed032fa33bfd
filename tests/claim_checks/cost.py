"""Claims of the cost page."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch

from claim_checks import Shown, seed
from claim_checks.attention import head_does
from viz_model.config import NoPosition
from viz_model.measures import heads
from viz_model.measures.heads import HEAD
from viz_model.model.transformer import Transformer
from viz_model.runs.trace import Trace
from viz_model.topics.cost.kinds import KINDS
from viz_model.topics.cost.order import MASK, ORDER, Shuffled, shuffled
from viz_model.topics.cost.shares import SHARE, SharesView
from viz_model.topics.cost.times import Bytes

UNMOVED = Shuffled(order=(1, 0), bare=1e-6, own=2e-6, bare_masked=1e-6, own_masked=2.0)
EXAMPLES = {
    "cost.order.same": (UNMOVED, UNMOVED._replace(own=0.3)),
    "cost.order.differs": (UNMOVED._replace(own=0.3), UNMOVED._replace(bare=0.2, own=0.3)),
    "cost.checkpointed.slower": ((1.0, 1.3), (1.0, 1.0)),
    "cost.firsts.all": (0, 2),
    "cost.kinds.one": (1, 2),
    "cost.mask.tells": (UNMOVED._replace(bare_masked=0.5), UNMOVED),
    "cost.power.above": (2.4, 2.05),
    "cost.bytes.fewer": (Bytes(8e6, 1e6), Bytes(8e6, 7e6)),
    "cost.share.few": (0.03, 0.12),
    "cost.share.most": (0.6, 0.4),
}
_ELSE = ("order.same", "power.above", "bytes.fewer", "share.most", "checkpointed.slower", "firsts.all")
ELSEWHERE = tuple(f"cost.{name}" for name in _ELSE)
"""Of models without positions, of long texts, and of what is measured: ``tests/topics/cost``."""


@torch.inference_mode()
def _changes(trace: Trace, claim: str) -> bool:
    """The whole model run on both orders: by its own class, without positions by another that has its weights."""
    side, given = trace.stack.side, list(trace.own_ids[:12])
    order = [*range(1, len(given), 2), *range(0, len(given), 2)]
    everything = torch.ones(len(given), len(given), dtype=torch.bool)
    bare = Transformer(replace(trace.config, position=NoPosition(), positions=())).eval()
    bare.load_state_dict(trace.model.state_dict(), strict=False)

    def changed(model: Transformer, mask: torch.Tensor) -> float:
        found = []
        for ids in (given, [given[n] for n in order]):
            pair = (trace.ids, ids) if len(trace.config.sides) > 1 and side == "decoder" else (ids,)
            if len(trace.config.sides) > 1 and side == "encoder":
                found.append(model.encode(torch.tensor([ids]), visible=mask).vectors[0])
            else:
                found.append(model.vectors(*(torch.tensor([each]) for each in pair), visible={side: mask})[0])
        before, after = found
        return ((after - before[order]).abs().max() / before.square().mean().sqrt()).item()

    if claim == "tells":
        return changed(bare, everything.tril()) > 5e-4
    without, own = changed(bare, everything), changed(trace.model, everything)
    return without < 1e-3 < 2 * own if claim == "differs" else max(without, own) < 1e-3


def _share(trace: Trace, claim: str) -> bool:
    n, config, stack = len(trace), trace.config, trace.stack
    pairs = 2 * n * n * config.n_heads * config.d_head * len(stack.blocks)
    matrices = sum(p.numel() for name, p in stack.blocks.named_parameters() if p.dim() == 2 and ".cross." not in name)
    rest = n * matrices
    if config.has_logits and stack.side == config.sides[-1]:
        rest += n * trace.model.unembedding.weight.numel()
        if config.kind == "encoder":
            rest += n * sum(p.numel() for name, p in trace.model.head.named_parameters() if "dense" in name)
    if config.kind == "encoder_decoder" and stack.side == "decoder":
        source = len(trace.ids)
        each = config.d_model * config.n_heads * config.d_head
        rest += len(stack.blocks) * (2 * each * (n + source) + 2 * n * source * config.n_heads * config.d_head)
    share = pairs / (pairs + rest)
    return share < 0.105 if claim == "few" else share > 0.495


def shown(trace: Trace) -> Iterator[Shown]:
    length = len(trace)
    source = len(trace.ids) if len(trace.config.sides) > 1 and trace.stack.side == "decoder" else 0
    view = SharesView.of(trace.config, trace.stack.side, length, source)
    yield Shown(SHARE, view.share("pairs", 0), partial(_share, trace))
    if seed(repr(trace.own_ids)) % 20:
        return
    kinds = {HEAD.of(head).name for layer in heads.kinds(trace) for head in layer}
    places = itertools.product(range(trace.n_layers), range(trace.config.n_heads))
    names = [each.name for each in HEAD.claims]  # of every head, the first of all kinds that its weights are of
    own = (next((name for name in names if head_does(trace, *at, name)), "") for at in places)
    yield Shown(KINDS, len(kinds), lambda claim: len({*own}) == 1)
    change = shuffled(trace)
    if change is not None:
        yield Shown(ORDER, change, partial(_changes, trace))
        yield Shown(MASK, change, partial(_changes, trace))
