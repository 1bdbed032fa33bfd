"""Variants that the package does not have: what somebody adds who follows CONTRIBUTING, without touching the rest.

Two score biases, one of which reads the queries, two norms without mean or deviation (one number by number, one by a
measure of the vector), a feed-forward of another activation. They stand in the unions of :mod:`viz_model.config` only
while :func:`installed` holds.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar
from unittest import mock

import torch
from tiny_models import tiny_config
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model import config
from viz_model.config import ActsOn, ModelConfig, PositionScheme, Side, Variant, fields
from viz_model.model import feedforward, norms, ops, positions
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector
from viz_model.values.expression import Expression
from viz_model.values.leaves import Index, Setting, Value
from viz_model.values.operations import Sum, absolute, log, relu, sigmoid, tanh


@dataclass(frozen=True, kw_only=True)
class LogarithmicConfig(PositionScheme):
    acts_on: ClassVar[ActsOn] = "scores"
    label: ClassVar[str] = "logarithmic distance penalty"


class Logarithmic(positions.Position):
    """−r₁·ln(1 + |r₂|·distance), r₁ and r₂ learnt for each head (Chi et al. 2022, equation 3)."""

    def __init__(self, position: LogarithmicConfig, model: ModelConfig, side: Side) -> None:
        super().__init__(position, model, side)
        self.r1 = nn.Parameter(torch.ones(model.n_heads))
        self.r2 = nn.Parameter(torch.ones(model.n_heads))

    def bias(self, n_queries: int, n_keys: int) -> Tensor:
        distance = ops.distances(n_queries, n_keys).abs()
        return -self.r1[:, None, None] * torch.log(1 + self.r2.abs()[:, None, None] * distance)

    @staticmethod
    def declare_bias(position: LogarithmicConfig, at: Scope, index: tuple[Index, ...], *, two_way: bool) -> Value:
        h, i, j = index
        r1, r2 = at.weight("r1", "r_1", "H"), at.weight("r2", "r_2", "H")
        expression = -r1[h] * log(1 + absolute(r2[h]) * absolute(j - i))
        return at.value(
            "bias", index, expression, symbol="B", label="position bias", role="position", derived=True
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AskedConfig(PositionScheme):
    acts_on: ClassVar[ActsOn] = "scores"
    label: ClassVar[str] = "distance penalty that the query sets"


class Asked(positions.Position):
    """−σ(q·u)·distance, u learnt for each head: how far back a query reads is its own choice."""

    def __init__(self, position: AskedConfig, model: ModelConfig, side: Side) -> None:
        super().__init__(position, model, side)
        self.u = nn.Parameter(torch.ones(model.n_heads, model.d_head))

    def content_bias(self, q: Tensor, k: Tensor, start: int, scale: float) -> Tensor:
        at = torch.arange(start, start + q.shape[-2])
        slope = torch.sigmoid(torch.einsum("...hik,hk->...hi", q, self.u))
        return -slope[..., None] * (torch.arange(k.shape[-2]) - at[:, None]).abs()

    @staticmethod
    def declare_content_bias(
        position: AskedConfig,
        at: Scope,
        q: Vector,
        k: Vector,
        index: tuple[Index, ...],
        scaled: Callable[[Expression], Expression],
    ) -> Value:
        (h, i, j), c, u = index, at.index("K"), at.weight("u", "u", "H", "K")
        expression = -sigmoid(Sum(c, q[h, i, c] * u[h, c])) * absolute(j - i)
        return at.value(
            "bias", index, expression, symbol="B", label="position bias", role="position", derived=True
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SquashConfig(Variant):
    alpha: float = 0.5


class Squash(norms.Norm):
    """γ · tanh(α·x) + β, number by number (Zhu et al. 2025, equation 1)."""

    def __init__(self, norm: SquashConfig, width: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(norm.alpha))
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return tap("out", self.weight * torch.tanh(self.alpha * x) + self.bias)

    @staticmethod
    def declare(norm: SquashConfig, at: Scope, x: Vector, index: tuple[Index, ...]) -> Value:
        d = index[-1]
        alpha = at.weight("alpha", r"\alpha")
        gain, shift = at.weight("weight", r"\gamma", d.axis), at.weight("bias", r"\beta", d.axis)
        expression = gain[d] * tanh(alpha[()] * x[index]) + shift[d]
        return at.value("out", index, expression, symbol="n", label="squashed vector", role="norm")


@dataclass(frozen=True, kw_only=True)
class SizedConfig(Variant):
    eps: float = 1e-3


class Sized(norms.Norm):
    """γ · x / (mean of |x| + ε): it measures the vector, and brings it to no known length."""

    def __init__(self, norm: SizedConfig, width: int) -> None:
        super().__init__()
        self.eps = norm.eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return tap("out", self.weight * x / (x.abs().mean(-1, keepdim=True) + self.eps))

    @staticmethod
    def declare(norm: SizedConfig, at: Scope, x: Vector, index: tuple[Index, ...]) -> Value:
        *where, d = index
        gain, eps = at.weight("weight", r"\gamma", d.axis), Setting(r"\varepsilon", norm.eps, "config")
        scale = at.value(
            "scale", where, Sum(d, absolute(x[index])) / at.size(d.axis) + eps,
            symbol=r"\sigma", label="mean size of the vector's numbers", role="norm", derived=True, one=True,
        )  # fmt: skip
        expression = gain[d] * (x[index] / scale[*where])
        return at.value("out", index, expression, symbol="n", label="sized vector", role="norm")


@dataclass(frozen=True, kw_only=True)
class SquaredConfig(Variant):
    bias: bool = True


class Squared(feedforward.FeedForward):
    """FFN(x) = max(0, x·W₁ + b₁)²·W₂ + b₂ (So et al. 2021)."""

    def __init__(self, ffn: SquaredConfig, d_model: int, d_ffn: int) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, d_ffn, bias=ffn.bias)
        self.down = nn.Linear(d_ffn, d_model, bias=ffn.bias)

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        act = tap("act", F.relu(tap("up", self.up(x))).square())
        return tap("out", self.down(act))

    @staticmethod
    def declare(ffn: SquaredConfig, at: Scope, x: Vector) -> Value:
        t, d, f = at.index("T"), at.index("D"), at.index("F")
        up = at.value(
            "up", (t, f), feedforward.linear(at, "up", "1", x, "F", bias=ffn.bias),
            symbol="u", label="hidden neurons before the square", role="ffn",
        )  # fmt: skip
        act = at.value("act", (t, f), relu(up[t, f]) ** 2, symbol="h", label="hidden neurons", role="ffn")
        return at.value(
            "out", (t, d), feedforward.linear(at, "down", "2", act, "D", bias=ffn.bias, letter="F"),
            symbol="f", label="feed-forward output", role="ffn",
        )  # fmt: skip


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """All of them are members of their unions, as if their lines stood in the package."""
    classes: dict[type, Any] = {
        LogarithmicConfig: Logarithmic,
        AskedConfig: Asked,
        SquashConfig: Squash,
        SizedConfig: Sized,
        SquaredConfig: Squared,
    }
    known = fields.hints(ModelConfig)
    wider = {
        **known,
        "position": known["position"] | LogarithmicConfig | AskedConfig,
        "norm": known["norm"] | SquashConfig | SizedConfig,
        "ffn": known["ffn"] | SquaredConfig,
    }
    config.variants.cache_clear()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(fields._HINTS, {ModelConfig: wider}))
        for module in (positions, norms, feedforward):
            kind = module.kind
            stack.enter_context(
                mock.patch.object(module, "kind", lambda choice, kind=kind: classes.get(type(choice)) or kind(choice))
            )
        yield
    config.variants.cache_clear()


def fresh_configs() -> list[ModelConfig]:
    """Configs with the variants, together and each alone, in every kind of model; only where they are installed."""
    found = []
    kinds: tuple[config.Kind, ...] = ("decoder", "encoder", "encoder_decoder")
    for n, (kind, norm_at) in enumerate(itertools.product(kinds, ("pre", "post"))):
        position, norm = (AskedConfig(), SizedConfig()) if n % 2 else (LogarithmicConfig(), SquashConfig())
        choices: dict[str, Any] = {"position": position, "norm": norm, "ffn": SquaredConfig()}
        alone = list(choices)[n % 3]
        for changes in (choices, {alone: choices[alone]}):
            found.append(
                tiny_config(
                    norm_at,  # type: ignore[arg-type]
                    kind=kind,
                    qk_norm=norm_at == "pre",
                    embedding_norm=kind == "encoder",
                    head=config.MaskedHead() if kind == "encoder" else config.LanguageHead(),
                    start_id=0 if kind == "encoder_decoder" else None,
                    **changes,
                )
            )
    return found
