"""The hidden neurons of a feed-forward layer: which are strongest, what their gates let through, what they write."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.model import sites, stored
from viz_model.model.sites import Site
from viz_model.runs.reader import RunReader
from viz_model.runs.trace import Trace
from viz_model.values.expression import Expression, Multiply
from viz_model.values.leaves import Element, Index, Weight
from viz_model.values.point import Point, Where

CURVE_POINTS = 161


class Dot(NamedTuple):
    """``value`` = x·key + bias: what a neuron makes of the vector x that its layer reads. ``key`` is [D]."""

    key: np.ndarray
    bias: float | None
    value: float


class Neuron(NamedTuple):
    """One hidden neuron on one token.

    Attributes:
        number: which of the F neurons.
        up: before the activation; of a gated layer, what the gate is multiplied with. None where the neuron is not made
            of one product with a weight, or of two where the layer is gated.
        gate, gate_act: the gate before and after the activation, where the layer is gated.
        act: its value h: the activated ``up``, or ``gate_act`` · ``up``.
        value: the row of W₂ (W_down) that it adds to the stream, ``act`` times, [D].
        promoted: the tokens that it pushes up most, each with its logit where |``act``| = 1; a
            negative ``act`` adds the opposite of ``value``. Empty where there is no direct path.
    """

    number: int
    up: Dot | None
    gate: Dot | None
    gate_act: float | None
    act: float
    value: np.ndarray
    promoted: tuple[tuple[str, float], ...]


DirectPath = Literal["logits", "masked_head", "no_head", "encoder"]


def direct_path(trace: Trace) -> DirectPath:
    """Whether what a block writes can be read as logits: "logits", or what stands in the way.

    The head of a masked model passes the vector through a layer of its own first; a model without
    a head has no logits; and the encoder of an encoder–decoder ends in its decoder's attention.
    """
    if not trace.config.has_logits:
        return "no_head"
    if not trace.model.head.is_direct:
        return "masked_head"
    return "logits" if trace.stack.side == trace.config.sides[-1] else "encoder"


def strongest(act: np.ndarray, most: int) -> np.ndarray:
    """The numbers of at most ``most`` neurons of [F], by |value| downwards; those at 0 write nothing and are left out.

    Only ReLU cuts at 0. After GELU, SiLU or a gate a value may be negative, and one of −2 adds as
    much to the stream as one of +2.
    """
    order = np.argsort(-np.abs(act), kind="stable")[:most]
    return order[act[order] != 0]


def closed(gate_act: np.ndarray, up: np.ndarray, most: int) -> np.ndarray:
    """Neurons of [F] whose gate holds back the most: the largest |up| in the quarter with the smallest |gate|."""
    shut = np.argsort(np.abs(gate_act), kind="stable")[: max(1, len(gate_act) // 4)]
    return shut[np.argsort(-np.abs(up[shut]), kind="stable")][:most]


def half(act: Tensor) -> np.ndarray:
    """How few neurons hold half of Σ|value| at each position: [T, F] -> [T]; 0 where all values are 0."""
    sizes = act.abs().sort(dim=-1, descending=True).values.double()
    reached = sizes.cumsum(-1)
    needed = (reached < reached[:, -1:] / 2).sum(-1) + 1
    return torch.where(reached[:, -1] > 0, needed, 0).numpy()


def positive(act: Tensor) -> np.ndarray:
    """How many neurons are above 0 at each position: [T, F] -> [T]."""
    return (act > 0).sum(dim=-1).numpy()


def gated(trace: Trace, at: str) -> bool:
    """Whether the values of the neurons at ``at``, like ``blocks.0.ffn.``, are ``gate_act`` · ``up``."""
    names = {at + name for name in ("gate", "gate_act", "up")}
    if not names <= {*trace.sites} or not all(_weights(trace, trace.site(at + n), "F", "D") for n in ("gate", "up")):
        return False
    made = trace.site(at + "act").expression
    factors = made.factors if isinstance(made, Multiply) else ()
    read = {part.value.site for part in factors if isinstance(part, Element)}
    return len(factors) == 2 and read == {trace.full_name(at + "gate_act"), trace.full_name(at + "up")}


def neurons(trace: Trace, layer: int, token: int, numbers: Sequence[int], *, n_promoted: int = 8) -> tuple[Neuron, ...]:
    """The neurons ``numbers`` on a token.

    What a neuron promotes is read on the direct path: its value vector times the unembedding,
    without the later blocks, any norm in between, or the bias of the logits.
    """
    at, chosen = f"blocks.{layer}.ffn.", list(numbers)
    act, is_gated = trace.row(at + "act", token), gated(trace, at)
    own = _alike(trace, trace.site(at + "act"))
    keyed = [name for name in own if any(w.axes == ("F", "D") for w in sites.find(name, trace.config).weights)]
    values = trace.stack.block(layer).ffn.down.weight.detach().T[chosen]  # [N, D]
    pushed = promoted(trace, values * torch.where(act[chosen] < 0, -1.0, 1.0)[:, None], n_promoted)
    gates = trace.row(at + "gate_act", token) if is_gated else None

    def dots(name: str) -> list[Dot | None]:
        """What the neurons make of the stream at a site that is a sum of products with it."""
        if trace.full_name(at + name) not in keyed or not (is_gated or len(keyed) == 1):
            return [None] * len(chosen)
        if not trace.site(at + name).is_linear:
            return [None] * len(chosen)
        keys = _weights(trace, trace.site(at + name), "F", "D")
        biases, row = _weights(trace, trace.site(at + name), "F"), trace.row(at + name, token)
        return [Dot(keys[0][n].numpy(), biases[0][n].item() if biases else None, row[n].item()) for n in chosen]

    return tuple(
        Neuron(
            number=number,
            up=up,
            gate=gate,
            gate_act=None if gates is None else gates[number].item(),
            act=act[number].item(),
            value=value.numpy(),
            promoted=tokens,
        )
        for number, up, gate, value, tokens in zip(chosen, dots("up"), dots("gate"), values, pushed, strict=True)
    )


def writing(trace: Trace, layer: int) -> Weight:
    """The matrix whose column n [D] neuron number n writes."""
    name = f"{trace.stack.side}.blocks.{trace.config.weights_of(layer)}.ffn.down.weight"
    return next(weight for _, site in sites.in_order(trace.config) for weight in site.weights if weight.name == name)


def _alike(trace: Trace, site: Site) -> frozenset[str]:
    """The full names of the values whose entry of the same indices makes that of a site, in one step or several."""
    found, left = set[str](), [site]
    while left:
        at = left.pop()
        read = {
            part.value.site for part in at.expression.walk() if isinstance(part, Element) and part.index == at.index
        }
        left += [sites.find(name, trace.config) for name in read - found]
        found |= read
    return frozenset(found)


def _weights(trace: Trace, site: Site, *axes: str) -> list[Tensor]:
    """The weights of these axes that a value is declared to be made with."""
    return [trace.model.get_parameter(weight.name).detach() for weight in site.weights if weight.axes == axes]


@torch.inference_mode()
def promoted(trace: Trace, written: Tensor, most: int) -> list[tuple[tuple[str, float], ...]]:
    """The tokens with the largest logits for each of the vectors [N, D]."""
    head = trace.model.head
    if direct_path(trace) != "logits" or not len(written):
        return [()] * len(written)
    top = stored.products(head.scale * written, trace.model.unembedding).topk(min(most, trace.config.n_vocab))
    return [
        tuple((trace.tokenizer.token(id).label, logit) for id, logit in zip(ids, logits, strict=True))
        for ids, logits in zip(top.indices.tolist(), top.values.tolist(), strict=True)
    ]


class Curve(NamedTuple):
    """An activation function over the range that one token needs, and the token's F values on it.

    ``x`` and ``y`` [N] draw the curve; ``before`` [F] are what the layer feeds into the activation
    (the gate, of a gated layer) and ``after`` [F] what comes out. ``reads`` and ``site`` name the two in the block.
    """

    reads: str
    site: str
    x: np.ndarray
    y: np.ndarray
    before: np.ndarray
    after: np.ndarray

    @property
    def cuts(self) -> bool:
        """Whether all that goes in below 0 comes out as 0."""
        return not self.y[self.x < 0].any()


def _counts(expression: Expression) -> bool:
    """Whether a number depends on where its cell stands, beside what it reads there."""
    if isinstance(expression, Element):
        return False
    return isinstance(expression, Index) or any(map(_counts, expression.parts))


class _OnLine(RunReader):
    """Reads one value at places along a line, whichever value is asked for."""

    def __init__(self, trace: Trace, x: Tensor) -> None:
        super().__init__(trace)
        self._x = x

    def cells(self, site: str, index: tuple[Where, ...]) -> Tensor:
        return self._x[index[-1]]


@torch.inference_mode()
def curve(trace: Trace, layer: int, token: int) -> Curve | None:
    """The activation of a block's feed-forward layer at one token.

    None where a layer has no single function that takes each neuron, or each gate, from one number to another.
    """
    at = f"blocks.{layer}.ffn."
    site = trace.site(at + ("gate_act" if gated(trace, at) else "act"))
    walked = list(site.expression.walk())
    if len(site.reads) != 1 or site.weights or any(isinstance(p, Element) and p.index != site.index for p in walked):
        return None
    if any(hasattr(part, "over") for part in walked):  # a softmax, or the largest few: no neuron decides alone
        return None
    if _counts(site.expression):  # one function for some neurons, another for others
        return None
    reads = f"{at}{site.reads[0].site.rpartition('.')[2]}"
    before, after = trace.row(reads, token), trace.row(at + site.name.rpartition(".")[2], token)
    x = torch.linspace(min(-4.0, before.min().item()), max(4.0, before.max().item()), CURVE_POINTS)
    t, f = site.index
    y = site.expression.evaluate(Point({t: torch.tensor(token), f: torch.arange(len(x))}, _OnLine(trace, x))).value
    return Curve(reads, at + site.name.rpartition(".")[2], x.numpy(), y.numpy(), before.numpy(), after.numpy())
