"""A second embedding of each token, for each block apart, which the block lets in by a gate and adds to the stream.

As in Gemma 3n and Gemma 4 ("per-layer embeddings"): all of a token's P numbers for all blocks are looked up at once,
and mixed with a projection of its first embedding; they cost memory, and next to no products.
"""

import math
from dataclasses import dataclass

from torch import Tensor, nn

from viz_model.config import FeedForward, ModelConfig, Side
from viz_model.model import norms
from viz_model.model.activations import ACTIVATIONS, activated
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector, inlined
from viz_model.values.expression import Expression, Number
from viz_model.values.leaves import Index, Setting, Value
from viz_model.values.operations import Sum


class LayerInputs(nn.Module):
    """ids [B, T] and what was embedded of them [B, T, D] -> [B, T, L, P], P numbers for each block.

    Half of it is a row of a table, half a projection of the first embedding; their sum is divided by √2.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.shape = config.n_layers, config.d_layer_input
        self.table = nn.Embedding(config.n_vocab, math.prod(self.shape))
        self.projection = nn.Linear(config.d_model, math.prod(self.shape), bias=False)
        self.norm = norms.build(config.norm, config.d_layer_input)

    def forward(self, ids: Tensor | None, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        if ids is None:
            raise ValueError("ids: the blocks of this model look tokens up, and none were given")
        looked_up = self.table(ids).unflatten(-1, self.shape) * math.sqrt(self.shape[1])
        projected = self.norm(self.projection(x).unflatten(-1, self.shape) / math.sqrt(x.shape[-1]))
        return tap("embed.second", (looked_up + projected) / math.sqrt(2))


class LayerInput(nn.Module):
    """What a block adds of it: act(x·W_gate) ⊙ e, through a matrix. [B, T, D] and [B, T, P] -> [B, T, D]."""

    def __init__(self, config: ModelConfig, ffn: FeedForward) -> None:
        super().__init__()
        self.gate = nn.Linear(config.d_model, config.d_layer_input, bias=False)
        self.up = nn.Linear(config.d_layer_input, config.d_model, bias=False)
        assert ffn.activation is not None  # or the config would have been refused
        self.activation = ACTIVATIONS[ffn.activation]

    def forward(self, x: Tensor, embedded: Tensor | None, tap: Tap = NO_TAP) -> Tensor:
        assert embedded is not None
        gate = tap("gate", self.gate(x))  # [B, T, P]
        made: Tensor = tap("out", self.up(tap("act", self.activation(gate) * embedded)))
        return made


@dataclass(frozen=True)
class OfBlock:
    """Of the second embeddings those for one block: [T, P]."""

    embedded: Value
    block: int

    def __getitem__(self, index: tuple[Expression, ...]) -> Expression:
        return self.embedded[index[0], Number(self.block), index[1]]


def declare_embedded(config: ModelConfig, side: Side, at: Scope, x: Value) -> Value:
    """Declare the second embeddings [T, L, P] of tokens whose first are ``x``."""
    at = at.with_axis("L", config.n_layers).with_axis("P", config.d_layer_input)
    t, layer, p, d = at.index("T"), at.index("L", "l"), at.index("P", "p"), at.index("D")
    own, to = at.of(f"{side}.embedded"), at.at("embed")
    ids = next(site.value for site in at.sites if site.full == f"{at.stack}tokens.ids")
    root = Setting(r"\sqrt{P}", math.sqrt(config.d_layer_input), "size", f"{config.d_layer_input}**0.5")
    looked_up = to.value(
        "second_token", (t, layer, p), root * own.weight("table.weight", "E^{L}", "V", ("L", "P"))[ids[t], layer, p],
        symbol=r"\tilde{e}", label="token embedding for each block", role="residual", derived=True,
    )  # fmt: skip
    matrix = own.weight("projection.weight", "W^{L}", ("L", "P"), "D")
    width = Setting(r"\sqrt{D}", math.sqrt(config.d_model), "size", f"{config.d_model}**0.5")
    plain = to.value(
        "second_plain", (t, layer, p), Sum(d, x[t, d] * matrix[layer, p, d]) / width,
        symbol=r"\tilde{c}", label="embedding, projected for each block", role="residual", derived=True,
    )  # fmt: skip
    scratch = own.apart(module="norm")
    normed = inlined(norms.declare(config.norm, scratch, plain, (t, layer, p)), scratch.sites)
    root_of_two = Setting(r"\sqrt{2}", math.sqrt(2), "config", "2**0.5")
    return to.value(
        "second", (t, layer, p), (looked_up[t, layer, p] + normed) / root_of_two,
        symbol="e", label="second embedding, for each block", role="residual",
    )  # fmt: skip


def declare(config: ModelConfig, ffn: FeedForward, at: Scope, x: Vector, embedded: Vector) -> Value:
    """Declare what a block adds of its second embedding of each token to the stream ``x``."""
    at = at.with_axis("P", config.d_layer_input)
    assert ffn.activation is not None
    t, d, p = at.index("T"), at.index("D"), at.index("P", "p")
    gate = at.value(
        "gate", (t, p), _linear(at, "gate", r"\text{gate}", x, p, d),
        symbol="g", label="gate of the second embedding, before the activation", role="ffn",
    )  # fmt: skip
    act = at.value(
        "act", (t, p), activated(ffn.activation, gate[t, p]) * embedded[t, p],
        symbol="h", label="second embedding, let in by the gate", role="ffn",
    )  # fmt: skip
    return at.value(
        "out", (t, d), _linear(at, "up", r"\text{up}", act, d, p),
        symbol="o", label="what is added of the second embedding", role="ffn",
    )  # fmt: skip


def _linear(at: Scope, name: str, symbol: str, x: Vector, into: Index, over: Index) -> Expression:
    weight = at.weight(f"{name}.weight", f"W^{{{symbol}}}", into.axis, over.axis)
    return Sum(over, x[at.index("T"), over] * weight[into, over])
