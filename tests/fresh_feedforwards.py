"""Feed-forward layers that the package does not have (:mod:`fresh_variants`)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model.config import FeedForwardScheme, RMSNorm
from viz_model.model import feedforward, norms
from viz_model.model.neighbors import ALONE, Neighbors
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector
from viz_model.values.expression import Expression
from viz_model.values.leaves import Value
from viz_model.values.operations import Largest, Sum, relu, sigmoid, tanh, where


def _out(at: Scope, expression: Expression) -> Value:
    cell = at.index("T"), at.index("D")
    return at.value("out", cell, expression, symbol="f", label="feed-forward output", role="ffn")


@dataclass(frozen=True, kw_only=True)
class DeepConfig(FeedForwardScheme):
    pieces: int = 2
    """Of each second neuron: the largest of them is its value."""


class Deep(feedforward.FeedForward):
    """FFN(x) = max_p(σ(x·W₁ + b₁)·W₂ₚ)·W₃: three layers, the second maxout (Goodfellow et al. 2013, section 2)."""

    def __init__(self, ffn: DeepConfig, d_model: int, d_ffn: int) -> None:
        super().__init__()
        self.pieces = ffn.pieces
        self.up = nn.Linear(d_model, d_ffn)
        self.middle = nn.Linear(d_ffn, ffn.pieces * d_ffn, bias=False)
        self.down = nn.Linear(d_ffn, d_model, bias=False)

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        first = tap("first", tap("up", self.up(x)).sigmoid())
        pieces = tap("pieces", self.middle(first).unflatten(-1, (self.pieces, -1)))
        return tap("out", self.down(tap("act", pieces.amax(-2))))

    @staticmethod
    def declare(ffn: DeepConfig, at: Scope, x: Vector) -> Value:
        t, f, e = at.index("T"), at.index("F"), at.index("F", "e")
        of = at.with_axis("P", ffn.pieces)
        p = of.index("P", "p")
        up = at.value(
            "up", (t, f), feedforward.linear(at, "up", "1", x, "F", bias=True),
            symbol="u", label="first neurons before the sigmoid", role="ffn",
        )  # fmt: skip
        first = at.value("first", (t, f), sigmoid(up[t, f]), symbol="g", label="first neurons", role="ffn")
        middle = of.weight("middle.weight", "W^2", ("P", "F"), "F")
        pieces = of.value(
            "pieces", (t, p, f), Sum(e, first[t, e] * middle[p, f, e]),
            symbol="v", label="pieces of each hidden neuron", role="ffn",
        )  # fmt: skip
        act = of.value("act", (t, f), Largest(p, pieces[t, p, f]), symbol="h", label="hidden neurons", role="ffn")
        return _out(at, feedforward.linear(at, "down", "3", act, "D", bias=False, letter="F"))


@dataclass(frozen=True, kw_only=True)
class RefinedConfig(FeedForwardScheme):
    eps: float = 1e-6


class Refined(feedforward.FeedForward):
    """FFN(x) = RMSNorm(max(0, x·W_gate) ⊙ x·W_up)·W_down: a gate, and a norm of its own behind it."""

    def __init__(self, ffn: RefinedConfig, d_model: int, d_ffn: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_ffn, bias=False)
        self.up = nn.Linear(d_model, d_ffn, bias=False)
        self.inner = norms.build(RMSNorm(eps=ffn.eps), d_ffn)
        self.down = nn.Linear(d_ffn, d_model, bias=False)

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        product = tap("product", F.relu(tap("gate", self.gate(x))) * tap("up", self.up(x)))
        return tap("out", self.down(tap("act", self.inner(product, tap.at("inner")))))

    @staticmethod
    def declare(ffn: RefinedConfig, at: Scope, x: Vector) -> Value:
        t, f = at.index("T"), at.index("F")
        gate = at.value(
            "gate", (t, f), feedforward.linear(at, "gate", "G", x, "F", bias=False),
            symbol="g", label="gate before it is cut", role="ffn",
        )  # fmt: skip
        gate_act = at.value(
            "gate_act", (t, f), relu(gate[t, f]), symbol=r"\tilde{g}", label="gate", role="ffn", derived=True
        )  # fmt: skip
        up = at.value(
            "up", (t, f), feedforward.linear(at, "up", "U", x, "F", bias=False),
            symbol="u", label="what the gate lets through", role="ffn",
        )  # fmt: skip
        product = at.value(
            "product", (t, f), gate_act[t, f].with_rounding() * up[t, f],
            symbol="p", label="hidden neurons before their norm", role="ffn",
        )  # fmt: skip
        normed = norms.declare(RMSNorm(eps=ffn.eps), at.at("inner", "inner"), product, (t, f))
        act = at.value("act", (t, f), normed[t, f], symbol="h", label="hidden neurons", role="ffn")
        return _out(at, feedforward.linear(at, "down", "D", act, "D", bias=False, letter="F"))


@dataclass(frozen=True, kw_only=True)
class NarrowConfig(FeedForwardScheme):
    width: int = 7


class Narrow(feedforward.FeedForward):
    """FFN(x) = x + tanh(x·W₁)·W₂ through a width of its own, with an addition of its own."""

    def __init__(self, ffn: NarrowConfig, d_model: int, d_ffn: int) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, ffn.width, bias=False)
        self.down = nn.Linear(ffn.width, d_model, bias=False)

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return tap("out", x + tap("written", self.down(tap("act", self.up(x).tanh()))))

    @staticmethod
    def declare(ffn: NarrowConfig, at: Scope, x: Vector) -> Value:
        at = at.with_axis("F", ffn.width)
        t, d, f = at.index("T"), at.index("D"), at.index("F")
        act = at.value(
            "act", (t, f), tanh(feedforward.linear(at, "up", "1", x, "F", bias=False)),
            symbol="h", label="hidden neurons", role="ffn",
        )  # fmt: skip
        written = at.value(
            "written", (t, d), feedforward.linear(at, "down", "2", act, "D", bias=False, letter="F"),
            symbol="w", label="what the neurons write", role="ffn",
        )  # fmt: skip
        return _out(at, x[t, d] + written[t, d])


@dataclass(frozen=True, kw_only=True)
class ShiftedConfig(FeedForwardScheme):
    pass


class Shifted(feedforward.TokenMixing):
    """σ(r·W_r) ⊙ max(0, k·W_k)²·W_v, r and k mixed of two positions: RWKV's channel mixing (Peng et al. 2023)."""

    def __init__(self, ffn: ShiftedConfig, d_model: int, d_ffn: int) -> None:
        super().__init__()
        self.share_r, self.share_k = (nn.Parameter(torch.rand(d_model)) for _ in range(2))
        self.receptance = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_ffn, bias=False)
        self.value = nn.Linear(d_ffn, d_model, bias=False)

    def forward(self, x: Tensor, tap: Tap = NO_TAP, neighbors: Neighbors = ALONE) -> Tensor:
        before = neighbors.near("x", x, 1)[..., :-1, :]
        r = tap("mixed_r", self.share_r * x + (1 - self.share_r) * before)
        k = tap("mixed_k", self.share_k * x + (1 - self.share_k) * before)
        hidden = tap("hidden", F.relu(self.key(k)).square())
        return tap("out", self.receptance(r).sigmoid() * self.value(hidden))

    @staticmethod
    def declare(ffn: ShiftedConfig, at: Scope, x: Vector) -> Value:
        t, d, f = at.index("T"), at.index("D"), at.index("F")
        before = where(t >= 1, x[t - 1, d], 0)

        def mixed(letter: str, label: str) -> Value:
            share = at.weight(f"share_{letter}", rf"\mu^{letter}", "D")[d]
            return at.value(
                f"mixed_{letter}", (t, d), share * x[t, d] + (1 - share) * before,
                symbol=f"m^{letter}", label=label, role="ffn",
            )  # fmt: skip

        r = mixed("r", "receptance, mixed of two positions")
        k = mixed("k", "key, mixed of two positions")
        keys = feedforward.linear(at, "key", "k", k, "F", bias=False)
        hidden = at.value("hidden", (t, f), relu(keys) ** 2, symbol="h", label="keys, squared", role="ffn")
        gate = sigmoid(feedforward.linear(at, "receptance", "r", r, "D", bias=False))
        value = feedforward.linear(at, "value", "v", hidden, "D", bias=False, letter="F")
        return _out(at, gate * value)


@dataclass(frozen=True, kw_only=True)
class SpatialConfig(FeedForwardScheme):
    context: int = 16
    """Positions that there may be."""


class Spatial(feedforward.TokenMixing):
    """FFN(x) = (x·W₁ ⊙ S·(x·W₂))·W₃, S a trained weight for each pair of positions (cf. Liu et al. 2021)."""

    def __init__(self, ffn: SpatialConfig, d_model: int, d_ffn: int) -> None:
        super().__init__()
        self.up, self.side = nn.Linear(d_model, d_ffn, bias=False), nn.Linear(d_model, d_ffn, bias=False)
        self.places = nn.Parameter(torch.randn(ffn.context, ffn.context) * ffn.context**-0.5)
        self.down = nn.Linear(d_ffn, d_model, bias=False)

    def forward(self, x: Tensor, tap: Tap = NO_TAP, neighbors: Neighbors = ALONE) -> Tensor:
        start, length = neighbors.start, x.shape[-2]
        side = neighbors.all("side", tap("side", self.side(x)))  # [B, Tk, F]
        places = self.places[start : start + length, : start + length].tril(start)  # [T, Tk]
        mixed = tap("mixed", places @ side)
        return tap("out", self.down(tap("act", tap("up", self.up(x)) * mixed)))

    @staticmethod
    def declare(ffn: SpatialConfig, at: Scope, x: Vector) -> Value:
        t, s, f = at.index("T"), at.index("T", "s"), at.index("F")
        places = at.with_axis("P", ffn.context).weight("places", "S", "P", "P")
        side = at.value(
            "side", (t, f), feedforward.linear(at, "side", "2", x, "F", bias=False),
            symbol="v", label="what positions tell each other", role="ffn",
        )  # fmt: skip
        mixed = at.value(
            "mixed", (t, f), Sum(s, where(s <= t, places[t, s], 0) * side[s, f]),
            symbol="m", label="what the positions so far tell", role="ffn",
        )  # fmt: skip
        up = at.value(
            "up", (t, f), feedforward.linear(at, "up", "1", x, "F", bias=False),
            symbol="u", label="hidden neurons before the product", role="ffn",
        )  # fmt: skip
        act = at.value("act", (t, f), up[t, f] * mixed[t, f], symbol="h", label="hidden neurons", role="ffn")
        return _out(at, feedforward.linear(at, "down", "3", act, "D", bias=False, letter="F"))
