"""The feed-forward layer: a small network, by itself at every position unless it is one of :class:`TokenMixing`."""

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple, assert_never

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model import config
from viz_model.model import ops
from viz_model.model.activations import ACTIVATIONS, activated, over, slopes
from viz_model.model.neighbors import ALONE, Neighbors
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector
from viz_model.values.expression import Expression, Number
from viz_model.values.leaves import Index, Setting, Value
from viz_model.values.operations import Softmax, Sum, relu, sigmoid
from viz_model.values.top import Top


class Held(NamedTuple):
    """Hidden neurons whose gates are held as they were: neuron f writes slope[f] · (up_f · x + b_f) · down_f.

    ``slope`` is [.., F]; ``up`` [F, D] reads and ``down`` [D, F] writes.
    """

    up: nn.Linear
    slope: Tensor
    down: Tensor


class FeedForward(nn.Module, ABC):
    """[B, T, D] -> [B, T, D].

    One that has hidden neurons taps and declares them as ``act`` [T, F]; ``up`` is the first matrix or one beside it,
    and ``down`` [D, F] alone writes what they hold. One without declares no ``act``, and nothing is said of neurons.
    """

    up: nn.Linear
    down: nn.Linear

    @abstractmethod
    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor: ...

    def held(self, x: Tensor) -> tuple[Held, ...]:
        """The neurons with their gates as they are at x [.., D]: linear in what they read.

        None for a layer that has no neurons, or reads other positions.
        """
        return ()

    @staticmethod
    @abstractmethod
    def declare(ffn: Any, at: Scope, x: Vector) -> Value:
        """Declare what the layer makes of ``x`` [T, D]."""


class TokenMixing(FeedForward):
    """One that reads other positions beside its own, or counts them: :class:`Neighbors` has them, with a cache too."""

    @abstractmethod
    def forward(self, x: Tensor, tap: Tap = NO_TAP, neighbors: Neighbors = ALONE) -> Tensor: ...


def linear(at: Scope, name: str, symbol: str, x: Vector, into: str, *, bias: bool, letter: str = "D") -> Expression:
    """Σ x·W + b at a position and a column of the axis ``into``; the weight is stored as PyTorch does, [out, in]."""
    t, inner, outer = at.index("T"), at.index(letter), at.index(into)
    # Where an axis is mapped onto itself, the letter that is summed over has a prime.
    inner = at.index(letter, f"{inner.name}'") if letter == into else inner
    total: Expression = Sum(
        inner, x[t, inner] * at.weight(f"{name}.weight", f"W^{{{symbol}}}", into, letter)[outer, inner]
    )
    return total + at.weight(f"{name}.bias", f"b^{{{symbol}}}", into)[outer] if bias else total


class Dense(FeedForward):
    """FFN(x) = act(x·W₁ + b₁)·W₂ + b₂ (Vaswani et al. 2017, equation 2). [B, T, D] -> [B, T, D]."""

    def __init__(self, ffn: config.Dense, d_model: int, d_ffn: int) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, d_ffn, bias=ffn.bias)
        self.down = nn.Linear(d_ffn, d_model, bias=ffn.bias)
        self.activation = ACTIVATIONS[ffn.activation]

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        up = tap("up", self.up(x))  # [B, T, F]
        act = tap("act", self.activation(up))
        return tap("out", self.down(act))

    def held(self, x: Tensor) -> tuple[Held, ...]:
        return (Held(self.up, slopes(self.activation, self.up(x)), self.down.weight),)

    @staticmethod
    def declare(ffn: config.Dense, at: Scope, x: Vector) -> Value:
        t, d, f = at.index("T"), at.index("D"), at.index("F")
        up = at.value(
            "up", (t, f), linear(at, "up", "1", x, "F", bias=ffn.bias),
            symbol="u", label="hidden neurons before the activation", role="ffn",
        )  # fmt: skip
        act = at.value(
            "act", (t, f), activated(ffn.activation, up[t, f]), symbol="h", label="hidden neurons", role="ffn"
        )  # fmt: skip
        return at.value(
            "out", (t, d), linear(at, "down", "2", act, "D", bias=ffn.bias, letter="F"),
            symbol="f", label="feed-forward output", role="ffn",
        )  # fmt: skip


class Gated(FeedForward):
    """FFN(x) = (act(x·W_gate) ⊙ x·W_up)·W_down (Shazeer 2020, equation 6). [B, T, D] -> [B, T, D]."""

    def __init__(self, ffn: config.Gated, d_model: int, d_ffn: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_ffn, bias=ffn.bias)
        self.up = nn.Linear(d_model, d_ffn, bias=ffn.bias)
        self.down = nn.Linear(d_ffn, d_model, bias=ffn.bias)
        self.ffn = ffn

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        gate = tap("gate", self.gate(x))  # [B, T, F]
        up = tap("up", self.up(x))
        act = tap("act", passed(self.ffn, gate, up))
        return tap("out", self.down(act))

    def held(self, x: Tensor) -> tuple[Held, ...]:
        return (Held(self.up, _slopes(self.ffn, self.gate(x), self.up(x)), self.down.weight),)

    @staticmethod
    def declare(ffn: config.Gated, at: Scope, x: Vector) -> Value:
        at = at.with_axis("F", ffn.d_hidden) if ffn.d_hidden else at
        t, d, f = at.index("T"), at.index("D"), at.index("F")
        gate = at.value(
            "gate", (t, f), linear(at, "gate", r"\text{gate}", x, "F", bias=ffn.bias),
            symbol="g", label="gate before the activation", role="ffn",
        )  # fmt: skip
        gate_act = at.value(
            "gate_act", (t, f), activated(ffn.activation, _at_most(ffn.limit, gate[t, f])),
            symbol=r"\tilde{g}", label="gate", role="ffn", derived=True,
        )  # fmt: skip
        up = at.value(
            "up", (t, f), linear(at, "up", r"\text{up}", x, "F", bias=ffn.bias),
            symbol="u", label="what the gate lets through", role="ffn",
        )  # fmt: skip
        up = _kept(ffn.limit, at, "up_kept", up, (t, f))
        act = at.value(
            "act", (t, f), gate_act[t, f].with_rounding() * up[t, f], symbol="h", label="hidden neurons", role="ffn"
        )  # fmt: skip
        return at.value(
            "out", (t, d), linear(at, "down", r"\text{down}", act, "D", bias=ffn.bias, letter="F"),
            symbol="f", label="feed-forward output", role="ffn",
        )  # fmt: skip


def passed(ffn: config.Gated, gate: Tensor, up: Tensor) -> Tensor:
    """What goes through a gate."""
    if ffn.limit is not None:
        gate, up = gate.clamp(max=ffn.limit), up.clamp(-ffn.limit, ffn.limit) + 1
    return ACTIVATIONS[ffn.activation](gate) * up


def _slopes(ffn: config.Gated, gate: Tensor, up: Tensor) -> Tensor:
    """What a gate multiplies each linear part by."""
    return ACTIVATIONS[ffn.activation](gate) if ffn.limit is None else over(passed(ffn, gate, up), up)


def _at_most(limit: float | None, x: Expression) -> Expression:
    return x if limit is None else (top := _limit(limit)) - relu(top - x)


def _kept(limit: float | None, at: Scope, name: str, up: Value, index: tuple[Index, ...]) -> Value:
    """Declare the linear part within ± the limit, plus 1, where there is a limit."""
    if limit is None:
        return up
    top = _limit(limit)
    return at.value(
        name, index, top - relu(2 * top - relu(up[index] + top)) + 1,
        symbol=r"\bar{u}", label="what the gate lets through, within bounds and plus 1", role="ffn", derived=True,
    )  # fmt: skip


def _limit(limit: float) -> Setting:
    return Setting(r"\lambda", limit, "config")


class Experts(FeedForward):
    """Σ_e p_e(x)·FFN_e(x) over the experts that a router chose (Shazeer et al. 2017). [B, T, D] -> [B, T, D].

    The experts lie side by side in one wide network: rows e·F to (e + 1)·F of ``up`` are those of expert e,
    column e of ``down_bias`` [D, E] is the bias of what it writes. A run
    computes the neurons of all experts, so that each can be looked at; training those of the chosen ones alone.
    """

    def __init__(self, ffn: config.Experts, d_model: int, d_ffn: int) -> None:
        super().__init__()
        self.ffn, self.width = ffn, ffn.width(d_ffn)
        self.router = nn.Linear(d_model, ffn.n_experts, bias=ffn.router_bias)
        self.choice = nn.Parameter(torch.zeros(ffn.n_experts)) if ffn.choice_bias else None
        self.gate = nn.Linear(d_model, ffn.neurons(d_ffn), bias=ffn.bias) if ffn.gated else None
        self.up = nn.Linear(d_model, ffn.neurons(d_ffn), bias=ffn.bias)
        self.down = nn.Linear(ffn.neurons(d_ffn), d_model, bias=False)
        self.down_bias = nn.Linear(ffn.n_experts, d_model, bias=False) if ffn.bias else None
        self.shared = build(ffn.expert, d_model, ffn.d_shared) if ffn.d_shared else None
        self.shared_gate = nn.Linear(d_model, 1, bias=False) if ffn.shared_gate else None
        self.activation = ACTIVATIONS[ffn.activation]

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        weights = self.choose(tap("router", self.router(x)), tap)  # [B, T, E]
        written = self.chosen_alone(x, weights) if self.training else self.all_of_them(x, weights, tap)
        if self.shared is None:
            return tap("out", written)
        shared = self.shared(x, tap.at("shared"))
        if self.shared_gate is not None:
            shared = tap("shared_gate", self.shared_gate(x).sigmoid()) * shared
        return tap("out", written + shared)

    @staticmethod
    def declare(ffn: config.Experts, at: Scope, x: Vector) -> Value:
        width = ffn.width(at.sizes["F"])
        shared_at = at.at("shared", "shared").with_axis("F", ffn.d_shared)
        at = at.with_axis("F", width).with_axis("E", ffn.n_experts).with_axis("N", ffn.n_experts * width)
        t, d, f, n = (at.index(axis) for axis in ("T", "D", "F", "N"))
        e = replace(at.index("E"), busy=ffn.top_k)
        chosen = _declare_choice(ffn, at, x)
        act = _declare_hidden(ffn, at, x, e)
        reached = at.value(
            "act", (t, n), chosen[t, n // width] * act[t, n // width, n % width],
            symbol="h", label="hidden neurons, each times its expert's weight", role="ffn",
            lines=lambda code: f"({code.value(chosen.site)}[..., None] * {code.value(act.site)}).flatten(-2)",
        )  # fmt: skip
        down = at.weight("down.weight", r"W^{\text{down}}", "D", ("E", "F"))
        bias = at.weight("down_bias.weight", r"b^{\text{down}}", "D", "E") if ffn.bias else None
        by_expert: Expression = Sum(f, reached[t, e * width + f] * down[d, e, f])

        def lines(code: Any) -> str:
            hidden = f"{code.value(reached.site)}.unflatten(-1, ({ffn.n_experts}, {width}))"
            product = f'torch.einsum("tef,def->ted", {hidden}, {code.weight(down)})'
            return (
                product if bias is None else f"{product} + {code.value(chosen.site)}[..., None] * {code.weight(bias)}.T"
            )

        written = at.value(
            "expert_out", (t, e, d), by_expert if bias is None else by_expert + chosen[t, e] * bias[d, e],
            symbol="o", label="what each expert writes, times its weight", role="ffn", lines=lines,
        )  # fmt: skip
        total: Expression = Sum(e, written[t, e, d])
        if ffn.d_shared:
            shared = kind(ffn.expert).declare(ffn.expert, shared_at, x)
            total = total + (_declare_shared_gate(at, x)[t] * shared[t, d] if ffn.shared_gate else shared[t, d])
        return at.value("out", (t, d), total, symbol="f", label="feed-forward output", role="ffn")

    def held(self, x: Tensor) -> tuple[Held, ...]:
        sizes = (self.ffn.n_experts, self.width)
        weights = self.choose(self.router(x)).unsqueeze(-1)
        read = self.up if self.gate is None else self.gate
        gates = read(x).unflatten(-1, sizes)
        match self.ffn.expert:
            case config.Gated() as expert:
                open_ = _slopes(expert, gates, self.up(x).unflatten(-1, sizes))
            case _:
                open_ = slopes(self.activation, gates)
        found = (Held(self.up, (weights * open_).flatten(-2), self.down.weight),)
        if self.shared is None:
            return found
        share = 1.0 if self.shared_gate is None else self.shared_gate(x).sigmoid()
        return found + tuple(one._replace(slope=one.slope * share) for one in self.shared.held(x))

    def choose(self, router: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """[B, T, E] logits -> [B, T, E] how much of each expert is taken, 0 of those that are not chosen."""
        if self.ffn.softmax == "chosen":
            masked = tap("masked", router.masked_fill(~ops.is_top(router, self.ffn.top_k), -torch.inf))
            return tap("chosen", masked.softmax(-1))
        probs = tap("probs", router.sigmoid() if self.ffn.softmax == "sigmoid" else router.softmax(-1))
        kept = probs.masked_fill(~ops.is_top(self._open(probs, tap), self.ffn.top_k), 0.0)
        if not self.ffn.normalize and self.ffn.factor == 1:
            return tap("chosen", kept)
        kept = tap("kept", kept)
        total = kept.sum(-1, keepdim=True) if self.ffn.normalize else 1.0
        return tap("chosen", kept / total if self.ffn.factor == 1 else self.ffn.factor * kept / total)

    def _open(self, probs: Tensor, tap: Tap) -> Tensor:
        """What the choice goes by: [B, T, E], −∞ in groups that are closed."""
        wanted = probs if self.choice is None else tap("wanted", probs + self.choice)
        if self.ffn.n_groups == 1:
            return wanted
        grouped = wanted.unflatten(-1, (self.ffn.n_groups, -1))  # [B, T, R, E/R]
        best = grouped.masked_fill(~ops.is_top(grouped, self.ffn.group_best), 0.0)
        group = tap("group", best.sum(-1))
        return tap(
            "masked", grouped.masked_fill(~ops.is_top(group, self.ffn.top_groups)[..., None], -torch.inf)
        ).flatten(-2)

    def all_of_them(self, x: Tensor, weights: Tensor, tap: Tap) -> Tensor:
        """What the experts write together, each neuron of each of them computed."""
        sizes = (self.ffn.n_experts, self.width)
        gate = None if self.gate is None else tap("expert_gate", self.gate(x).unflatten(-1, sizes))  # [B, T, E, F]
        hidden = tap("expert_act", self._hidden(gate, tap("expert_up", self.up(x).unflatten(-1, sizes))))
        act = tap("act", (weights.unsqueeze(-1) * hidden).flatten(-2))  # [B, T, N]
        down = self.down.weight.unflatten(-1, sizes)
        written = torch.einsum("...ef,def->...ed", act.unflatten(-1, sizes), down)
        if self.down_bias is not None:
            written = written + weights.unsqueeze(-1) * self.down_bias.weight.T
        return tap("expert_out", written).sum(-2)

    def _hidden(self, gate: Tensor | None, up: Tensor) -> Tensor:
        if gate is None or not isinstance(self.ffn.expert, config.Gated):
            return self.activation(up)
        return passed(self.ffn.expert, gate, up)

    def chosen_alone(self, x: Tensor, weights: Tensor) -> Tensor:
        """The same, where every expert reads the tokens that chose it and no others."""
        tokens, shares = x.flatten(0, -2), weights.flatten(0, -2)
        written = torch.zeros_like(tokens)
        for e in range(self.ffn.n_experts):
            rows = shares[:, e].nonzero().squeeze(-1)
            own = slice(e * self.width, (e + 1) * self.width)
            up, gate = (None if part is None else ops.rows_of(part, own, tokens[rows]) for part in (self.up, self.gate))
            assert up is not None
            hidden = self._hidden(gate, up)
            bias = None if self.down_bias is None else self.down_bias.weight[:, e]
            out = shares[rows, e, None] * F.linear(hidden, self.down.weight[:, own], bias)
            written = written.index_add(0, rows, out.to(written.dtype))
        return written.view_as(x)


def _declare_choice(ffn: config.Experts, at: Scope, x: Vector) -> Value:
    """From the router's logits to how much of each expert is taken."""
    t, e = at.index("T"), at.index("E")
    router = at.value(
        "router", (t, e), linear(at, "router", r"\text{router}", x, "E", bias=ffn.router_bias),
        symbol=r"\rho", label="router logits", role="ffn",
    )  # fmt: skip
    is_of_all = ffn.softmax != "chosen"
    probs = at.value(
        "probs", (t, e), sigmoid(router[t, e]) if ffn.softmax == "sigmoid" else Softmax(e, router[t, e]),
        symbol=r"\pi", label="router probabilities", role="ffn", derived=not is_of_all,
    )  # fmt: skip
    if not is_of_all:
        masked = at.value(
            "masked", (t, e), Top(e, ffn.top_k, router[t, e], -math.inf),
            symbol=r"\tilde{\rho}", label="router logits of the chosen experts", role="ffn",
        )  # fmt: skip
        return at.value("chosen", (t, e), Softmax(e, masked[t, e]), symbol="c", label=_WEIGHTS, role="ffn")
    among = Top(e, ffn.top_k, probs[t, e], by=_declare_open(ffn, at, probs))
    if not ffn.normalize and ffn.factor == 1:
        return at.value("chosen", (t, e), among, symbol="c", label=_WEIGHTS, role="ffn")
    kept = at.value(
        "kept", (t, e), among,
        symbol=r"\kappa", label="probabilities of the chosen experts", role="ffn",
    )  # fmt: skip
    every = at.index("E", "e'")
    share: Expression = kept[t, e] if ffn.factor == 1 else Setting("s", ffn.factor, "config") * kept[t, e]
    if ffn.normalize:
        share = share / Sum(every, kept[t, every])
    return at.value("chosen", (t, e), share, symbol="c", label=_WEIGHTS, role="ffn")


def _declare_open(ffn: config.Experts, at: Scope, probs: Value) -> Expression | None:
    """What the choice goes by, where that is not the weights themselves."""
    size = ffn.n_experts // ffn.n_groups
    at = at.with_axis("R", ffn.n_groups).with_axis("I", size)
    t, e, r, i = at.index("T"), at.index("E"), at.index("R", "r"), at.index("I", "i")
    wanted = probs
    if ffn.choice_bias:
        wanted = at.value(
            "wanted", (t, e), probs[t, e] + at.weight("choice", "b", "E")[e],
            symbol="w", label="what the choice goes by", role="ffn",
        )  # fmt: skip
    if ffn.n_groups == 1:
        return wanted[t, e] if ffn.choice_bias else None
    grouped = at.value(
        "grouped", (t, r, i), wanted[t, r * size + i], symbol="w", label="what the choice goes by, group by group",
        role="ffn", derived=True,
    )  # fmt: skip
    own = grouped[t, r, i]
    best = at.value(
        "best", (t, r, i), Top(i, ffn.group_best, own), symbol="b", label="best experts of each group", role="ffn",
        derived=True,
    )  # fmt: skip
    group = at.value(
        "group", (t, r), Sum(i, best[t, r, i]), symbol="g", label="how good each group is", role="ffn"
    )  # fmt: skip
    opened = at.value(
        "masked", (t, r, i), Top(r, ffn.top_groups, own, -math.inf, by=group[t, r]),
        symbol=r"\tilde{w}", label="experts of the open groups", role="ffn",
    )  # fmt: skip
    return opened[t, e // size, e % size]


_WEIGHTS = "weights of the chosen experts"


def _declare_hidden(ffn: config.Experts, at: Scope, x: Vector, e: Index) -> Value:
    """The hidden neurons of every expert [T, E, F], whether it was chosen or not."""
    t, d, f = at.index("T"), at.index("D"), at.index("F")

    def read(name: str) -> Expression:
        weight = at.weight(f"{name}.weight", rf"W^{{\text{{{name}}}}}", ("E", "F"), "D")
        total: Expression = Sum(d, x[t, d] * weight[e, f, d])
        return total + at.weight(f"{name}.bias", rf"b^{{\text{{{name}}}}}", ("E", "F"))[e, f] if ffn.bias else total

    def declare(name: str, expression: Expression, symbol: str, label: str, *, derived: bool = False) -> Value:
        return at.value(name, (t, e, f), expression, symbol=symbol, label=label, role="ffn", derived=derived)

    label = "hidden neurons of each expert"
    if not ffn.gated:
        up = declare("expert_up", read("up"), "u", f"{label} before the activation")
        return declare("expert_act", activated(ffn.activation, up[t, e, f]), r"\hat{h}", label)
    gate = declare("expert_gate", read("gate"), "g", "gate of each expert before the activation")
    limit = ffn.expert.limit if isinstance(ffn.expert, config.Gated) else None
    opened = activated(ffn.activation, _at_most(limit, gate[t, e, f]))
    gate_act = declare("expert_gate_act", opened, r"\tilde{g}", "gate of each expert", derived=True)
    up = declare("expert_up", read("up"), "u", "what the gate of each expert lets through")
    up = _kept(limit, at, "expert_up_kept", up, (t, e, f))
    return declare("expert_act", gate_act[t, e, f].with_rounding() * up[t, e, f], r"\hat{h}", label)


def _declare_shared_gate(at: Scope, x: Vector) -> Value:
    t, d = at.index("T"), at.index("D")
    row = at.with_axis("1", 1).weight("shared_gate.weight", r"w^{\text{shared}}", "1", "D")
    return at.value(
        "shared_gate", (t,), sigmoid(Sum(d, x[t, d] * row[Number(0), d])),
        symbol=r"\sigma^{\text{shared}}", label="gate of the shared expert", role="ffn", one=True,
    )  # fmt: skip


def kind(ffn: config.FeedForward) -> type[FeedForward]:
    """The class of a feed-forward layer."""
    match ffn:
        case config.Dense():
            return Dense
        case config.Gated():
            return Gated
        case config.Experts():
            return Experts
        case _:
            assert_never(ffn)


def build(ffn: config.FeedForward, d_model: int, d_ffn: int) -> FeedForward:
    return kind(ffn)(ffn, d_model, ffn.d_hidden or d_ffn)


def declare(ffn: config.FeedForward, at: Scope, x: Vector) -> Value:
    """Declare a feed-forward layer that reads ``x``."""
    return kind(ffn).declare(ffn, at, x)
