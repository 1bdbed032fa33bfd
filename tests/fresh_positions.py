"""Position schemes that the package does not have (:mod:`fresh_variants`)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model.config import ActsOn, ModelConfig, PositionScheme, Side
from viz_model.model import ops, positions
from viz_model.values.declaration import Scope, Vector
from viz_model.values.expression import Expression
from viz_model.values.leaves import Index, Setting, Value
from viz_model.values.operations import Sum, absolute, cos, log, sin, softplus, where

Scaled: TypeAlias = Callable[[Expression], Expression]


@dataclass(frozen=True, kw_only=True)
class LogarithmicConfig(PositionScheme):
    acts_on: ClassVar[ActsOn] = "scores"
    label: ClassVar[str] = "logarithmic distance penalty"


class Logarithmic(positions.Position):
    """−r₁·ln(1 + |r₂|·distance), r₁ and r₂ learned for each head (Chi et al. 2022, equation 3)."""

    def __init__(self, position: LogarithmicConfig, model: ModelConfig, side: Side) -> None:
        super().__init__(position, model, side)
        self.r1 = nn.Parameter(torch.ones(model.n_heads))
        self.r2 = nn.Parameter(torch.ones(model.n_heads))

    def bias(self, n_queries: int, n_keys: int) -> Tensor:
        distance = ops.distances(n_queries, n_keys).abs().to(self.r1.device)
        return -self.r1[:, None, None] * torch.log(1 + self.r2.abs()[:, None, None] * distance)

    @staticmethod
    def declare_bias(position: LogarithmicConfig, at: Scope, index: tuple[Index, ...], *, two_way: bool) -> Value:
        h, i, j = index
        r1, r2 = at.weight("r1", "r_1", "H"), at.weight("r2", "r_2", "H")
        return positions.bias_of(at, index, -r1[h] * log(1 + absolute(r2[h]) * absolute(j - i)))


@dataclass(frozen=True, kw_only=True)
class LinkedConfig(PositionScheme):
    acts_on: ClassVar[ActsOn] = "scores"
    label: ClassVar[str] = "scores by way of every other key"


class Linked(positions.Position):
    """Σ over keys m of (q_i·k_m)(k_m·k_j): what a query reaches in two steps. It costs T³."""

    def content_bias(self, q: Tensor, k: Tensor, start: int, scale: float) -> Tensor:
        return scale * (q @ k.mT) @ (k @ k.mT)

    @staticmethod
    def declare_content_bias(
        own: LinkedConfig, at: Scope, q: Vector, k: Vector, index: tuple[Index, ...], scaled: Scaled
    ) -> Value:
        (h, i, j), c, m = index, at.index("K"), at.index("Tk", "m")
        to_key, on = Sum(c, q[h, i, c] * k[h, m, c]), Sum(c, k[h, m, c] * k[h, j, c])
        return positions.bias_of(at, index, scaled(Sum(m, to_key * on)))


@dataclass(frozen=True, kw_only=True)
class ExtrapolatedConfig(PositionScheme):
    acts_on: ClassVar[ActsOn] = "queries"
    label: ClassVar[str] = "queries that grow and keys that shrink"


class Extrapolated(positions.Position):
    """Pairs turned as RoPE's, of queries times ζ^position, of keys times ζ^−position (Sun et al. 2022, section 2.3): a
    score keeps ζ^distance for each pair."""

    SCALE, SMOOTH = 16, 0.4

    def __init__(self, position: ExtrapolatedConfig, model: ModelConfig, side: Side) -> None:
        super().__init__(position, model, side)
        self.frequencies = ops.rotary_frequencies(model.d_head, 10_000.0)
        share = torch.arange(model.d_head // 2, dtype=torch.float64) / (model.d_head // 2)
        self.zeta = ((share + self.SMOOTH) / (1 + self.SMOOTH)) ** (1 / self.SCALE)

    def rotate(self, x: Tensor, start: int) -> Tensor:
        return self._turned(x, start, 1)

    def rotate_keys(self, x: Tensor, start: int) -> Tensor:
        return self._turned(x, start, -1)

    def _turned(self, x: Tensor, start: int, sign: int) -> Tensor:
        place = torch.arange(start, start + x.shape[-2], dtype=torch.float64)[:, None]
        size = (self.zeta ** (sign * place)).repeat_interleave(2, -1).to(x)
        return ops.rotate(x, place * self.frequencies, interleaved=True) * size

    @staticmethod
    def declare_rotated(own: ExtrapolatedConfig, at: Scope, x: Value, letter: str, index: tuple[Index, ...]) -> Value:
        n, t, k = index
        width, pair = at.sizes["K"], k // 2
        angle = t * Setting("b", 10_000.0, "config") ** (-2 * pair / Setting("K", width, "config"))
        first = x[index] * cos(angle) - x[n, t, k + 1] * sin(angle)
        second = x[index] * cos(angle) + x[n, t, k - 1] * sin(angle)
        smooth, sign = Extrapolated.SMOOTH, {"q": 1, "k": -1}[letter]
        zeta = (pair / (width // 2) + smooth) / (1 + smooth)
        which = {"q": "queries", "k": "keys"}[letter]
        return at.value(
            f"{letter}_rotated", index,
            zeta ** (sign * t / Extrapolated.SCALE) * where((k % 2).equals(0), first, second),
            symbol=f"{letter}'", label=f"{which}, turned and scaled by position", role="position",
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ForgettingConfig(PositionScheme):
    acts_on: ClassVar[ActsOn] = "scores"
    label: ClassVar[str] = "forget gates of the keys between"


class Forgetting(positions.Position):
    """Σ ln σ(k_m·u + b) over the keys m behind j, up to i (cf. Lin et al. 2025, section 3): the text says how far."""

    def __init__(self, position: ForgettingConfig, model: ModelConfig, side: Side) -> None:
        super().__init__(position, model, side)
        self.u = nn.Parameter(torch.ones(model.n_heads, model.d_head))
        self.b = nn.Parameter(torch.zeros(model.n_heads))

    def content_bias(self, q: Tensor, k: Tensor, start: int, scale: float) -> Tensor:
        gates = F.logsigmoid(torch.einsum("...hjk,hk->...hj", k, self.u) + self.b[:, None])
        total = gates.cumsum(-1)
        return total[..., start : start + q.shape[-2], None] - total[..., None, :]

    @staticmethod
    def declare_content_bias(
        own: ForgettingConfig, at: Scope, q: Vector, k: Vector, index: tuple[Index, ...], scaled: Scaled
    ) -> Value:
        (h, i, j), c, m = index, at.index("K"), at.index("Tk", "m")
        opened = Sum(c, k[h, j, c] * at.weight("u", "u", "H", "K")[h, c]) + at.weight("b", "b", "H")[h]
        gate = at.value(
            "gate", (h, j), -softplus(-opened),
            symbol="g", label="logarithm of the forget gate", role="position", derived=True,
        )  # fmt: skip
        total = at.value(
            "forgotten", (h, j), Sum(m, where(m <= j, gate[h, m], 0)),
            symbol="G", label="forget gates up to a key", role="position", derived=True,
        )  # fmt: skip
        return positions.bias_of(at, index, total[h, i] - total[h, j])
