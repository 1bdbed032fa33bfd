"""Claims of the position page."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from claim_checks import Shown, fact, look_at, seed
from viz_model import config
from viz_model.runs.trace import Trace
from viz_model.topics.position import added, alibi, bias, nothing, rotation, shifted, waves
from viz_model.topics.position.added import ALIKE
from viz_model.topics.position.alibi import REACH, Reach
from viz_model.topics.position.bias import BIAS
from viz_model.topics.position.longer import Beyond
from viz_model.topics.position.nothing import ORDER, OrderEffect
from viz_model.topics.position.rotation import UNMET
from viz_model.topics.position.shifted import MOVED, Moved
from viz_model.topics.position.waves import SLOWEST, Turns

STILL, STIRRED, AT_ONCE = np.full(3, 1e-7), np.array([1e-7, 0.2, 0.4]), np.full(3, 0.2)
EXAMPLES = {
    "position.order.none": (OrderEffect(STILL, STILL), OrderEffect(STIRRED, STILL)),
    "position.order.later": (OrderEffect(STIRRED, STILL), OrderEffect(STIRRED, STIRRED)),
    "position.order.at_once": (OrderEffect(AT_ONCE, STILL), OrderEffect(AT_ONCE, STIRRED)),
    "position.alike.distance": (1e-6, 0.02),
    "position.slowest.flat": (Turns(40, 96, 0.004), Turns(96, 96, 1.2)),
    "position.unmet.some": (Turns(9, 16, 0.007), Turns(16, 16, 1.5)),
    "position.moved.stays": (Moved(np.array(2e-5), np.array(9.0)), Moved(np.array(0.1), np.array(9.0))),
    "position.reach.nearer": (Reach(np.array(1.5), np.array(6.0)), Reach(np.array(6.0), np.array(1.5))),
    "position.bias.distance": (0.0, 0.3),
    "position.beyond.worse": (Beyond(3.4, 5.8), Beyond(3.4, 3.45)),
    "position.beyond.same": (Beyond(3.64, 3.62), Beyond(3.64, 3.2)),
}
# Of other masks than those of a decoder without positions, and of texts that are read on demand:
# tests/topics/position/test_position.py has all of these.
ELSEWHERE = ("position.order.none", "position.order.at_once", "position.beyond.worse", "position.beyond.same")
BASE = 10_000.0


def _alike(trace: Trace, claim: str) -> bool:
    """Every pair of rows of this text, by its dot product and lengths, pair by pair."""
    rows = trace["embed.position"].double()
    cosine = torch.nn.functional.cosine_similarity(rows[:, None], rows[None], dim=-1)
    return all(float(np.ptp(np.diagonal(cosine.numpy(), n))) < 2e-4 for n in range(len(rows)))


def _slowest(length: int, width: int) -> float:
    """The angle that the slowest wave or pair turns through in so many positions."""
    return length / BASE ** ((width - 2) / width)


def _stays(trace: Trace, layer: int, head: int, shift: int, claim: str) -> bool:
    """Turned again in double precision, as complex numbers."""
    q, k = (trace.head(f"blocks.{layer}.attn.{letter}_normed", head).double().numpy() for letter in "qk")
    half = q.shape[-1] // 2
    turns = BASE ** (-np.arange(half) / half)
    at = np.arange(shift, shift + len(q))[:, None] * turns
    q, k = ((x[:, :half] + 1j * x[:, half:]) * np.exp(1j * at) for x in (q, k))
    scores = (q @ k.conj().T).real / math.sqrt(2 * half)
    recorded = trace.head(f"blocks.{layer}.attn.scores", head).numpy()
    return bool(np.abs(scores - recorded).max() < 2e-4 * max(1.0, np.abs(recorded).max()))


def _nearer(trace: Trace, layer: int, claim: str) -> bool:
    pattern = trace[f"blocks.{layer}.attn.pattern"]  # of six heads, whose slopes are 2⁻², 2⁻⁴, 2⁻⁶, 2⁻⁸, 2⁻¹, 2⁻³
    away = torch.tensor([[abs(i - j) for j in range(len(trace))] for i in range(len(trace))])
    means = (pattern * away).sum(-1).mean(-1)
    return bool(means[4] < means[3])


@torch.inference_mode()
def _mask_tells(trace: Trace, claim: str) -> bool:
    """The last token's vector behind every block, with the tokens before it turned round: caught on its way."""
    ids, stack = list(trace.own_ids), trace.stack
    everything = torch.ones(len(ids), len(ids), dtype=torch.bool)

    def behind(given: list[int], mask: torch.Tensor) -> torch.Tensor:
        found: list[torch.Tensor] = []
        hooks = [block.register_forward_hook(lambda *made: found.append(made[2][0, -1])) for block in stack.blocks]
        trace.model.vectors(torch.tensor([given]), visible={stack.side: mask})
        for hook in hooks:
            hook.remove()
        return torch.stack(found)

    own, bare = (
        torch.linalg.vector_norm(behind([*ids[-2::-1], ids[-1]], mask) - was, dim=-1) / was.norm(dim=-1)
        for mask in (everything.tril(), everything)
        for was in [behind(ids, mask)]
    )
    return bool(own[0] < 1e-4 < own.max() and bare.max() < 1e-4)


def shown(trace: Trace) -> Iterator[Shown]:
    look = look_at(trace, "position")
    match trace.config.position:
        case config.Sinusoidal():
            last = _slowest(trace.config.n_context - 1, trace.config.d_model)
            flat = 0 <= math.sin(last) < 0.32 and math.cos(last) > 0.95
            yield Shown(SLOWEST, waves.turns(trace.config), fact(flat))
            yield Shown(ALIKE, look.once(added.alike).spread, partial(_alike, trace))
        case config.Learned():
            yield Shown(ALIKE, look.once(added.alike).spread, partial(_alike, trace))
        case config.Rope():
            whole = _slowest(trace.config.n_context, trace.config.d_head)
            yield Shown(UNMET, rotation.turns(look), fact(whole < 2 * math.pi))
            if not trace.config.attends:  # of the layers that do, the last one
                look = look_at(trace, "position", layer=trace.n_layers - 1, one=True)
            look.options.update(shift="700", pair="0", key="0")  # type: ignore[attr-defined]
            moved = shifted.shifted(look).moved
            for n, layer in enumerate(look.layers):
                values = Moved(moved.change[n, 1], moved.score[n, 1])
                yield Shown(MOVED, values, partial(_stays, trace, layer, 1, 700))
        case config.Alibi():
            reach = look.once(alibi.reach)
            for n, layer in enumerate(look.layers):
                yield Shown(REACH, Reach(reach.steepest[n], reach.flattest[n]), partial(_nearer, trace, layer))
        case config.NoPosition():
            dear = seed(trace.text or "") % 20  # the model is run for each token of a text
            effect = None if dear else nothing.order_effect(trace)
            if effect is not None and not np.isnan(effect.own_mask[-1]).any():
                yield Shown(ORDER, OrderEffect(*(values[-1] for values in effect)), partial(_mask_tells, trace))
    if look.has("attn.bias"):
        change = bias.along_diagonals(look.every("attn.bias"))
        own = trace[f"blocks.{look.layers[0]}.attn.bias"]
        level = all(own.diagonal(n, 1, 2).std(-1, correction=0).max() < 1e-4 for n in range(own.shape[-1]))
        yield Shown(BIAS, float(change[0]), fact(level))
