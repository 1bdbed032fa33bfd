"""The feed-forward layers: dense, gated, and several of which a router chooses."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from viz_model.config.limits import LIMITS
from viz_model.config.variant import ConfigError, Variant

if TYPE_CHECKING:
    from viz_model.config.model import ModelConfig

Activation: TypeAlias = Literal["relu", "gelu", "gelu_tanh", "silu", "relu2", "gelu_quick"]
"""``gelu`` is exact, x·Φ(x); ``gelu_tanh`` its approximation (Hendrycks & Gimpel 2016); ``silu`` is x·σ(x), ``relu2``
max(0, x)² (So et al. 2021), ``gelu_quick`` x·σ(1.702x) (Hendrycks & Gimpel 2016)."""


class FeedForwardScheme(Variant):
    """A feed-forward layer. What a member has of these is a field or a ClassVar of its own under the same name."""

    @property
    def activation(self) -> Activation | None:
        """None where it is none of those that have a name."""
        return None

    @property
    def gated(self) -> bool:
        """Whether one linear part is multiplied by another that is activated."""
        return False

    @property
    def bias(self) -> bool:
        """Whether its linear layers add one."""
        return False

    @property
    def d_hidden(self) -> int:
        """F, where it is not that of the model; 0 is ``d_ffn``."""
        return 0


@dataclass(frozen=True, kw_only=True)
class Dense(FeedForwardScheme):
    """Two linear layers with an activation between them (Vaswani et al. 2017, equation 2)."""

    activation: Activation = "relu"
    bias: bool = True


@dataclass(frozen=True, kw_only=True)
class Gated(FeedForwardScheme):
    """An activated gate times a linear part: GEGLU, SwiGLU (Shazeer 2020).

    With a ``limit`` gates are at most that, the linear part is kept between ± it, and 1 is added (gpt-oss).
    """

    activation: Activation = "silu"
    bias: bool = False
    limit: float | None = None
    d_hidden: int = 0
    gated: ClassVar[bool] = True

    def check(self, model: "ModelConfig") -> None:
        if not 0 <= self.d_hidden <= LIMITS["d_ffn"]:
            raise ConfigError(f"ffn: d_hidden: expected a whole number from 0 to {LIMITS['d_ffn']}")
        if self.limit is not None:
            raise ConfigError("ffn: limit: only gates of experts are kept within bounds")


@dataclass(frozen=True, kw_only=True)
class Experts(FeedForwardScheme):
    """Several networks, of which a router chooses ``top_k`` for each token (Shazeer et al. 2017, section 2).

    ``softmax`` says over which logits the weights are made: those of all experts, before the choice (Switch, OLMoE,
    Qwen3), or those of the chosen ones (GShard's gate as Mixtral writes it); "sigmoid" has a weight for each logit by
    itself (DeepSeek-AI 2024b). ``normalize`` divides the weights of the
    chosen by their sum, which is 1 already where the softmax is over them alone.
    """

    expert: Dense | Gated = Dense()
    n_experts: int = 8
    top_k: int = 2
    d_expert: int = 0
    """F, the hidden width of one expert; 0 is ``d_ffn``."""
    softmax: Literal["all", "chosen", "sigmoid"] = "all"
    normalize: bool = True
    router_bias: bool = False
    choice_bias: bool = False
    """A number of each expert is added for the choice, and not for the weights (DeepSeek-AI 2024b, 2.1.2)."""
    n_groups: int = 1
    """Groups of experts, of which the ``top_groups`` best are open to the choice; a group is as good as its
    ``group_best`` best experts together (DeepSeek-AI 2024a, 2.2.2)."""
    top_groups: int = 1
    group_best: int = 1
    factor: float = 1.0
    """What the weights of the chosen are multiplied by."""
    d_shared: int = 0
    """Hidden width of an expert that reads every token beside the chosen ones (Dai et al. 2024, 3.2); 0 has none."""
    shared_gate: bool = False
    """What the shared expert writes is multiplied by a sigmoid of the token, as in Qwen2-MoE."""

    @property
    def activation(self) -> Activation:
        return self.expert.activation

    @property
    def bias(self) -> bool:
        return self.expert.bias

    @property
    def gated(self) -> bool:
        return self.expert.gated

    def width(self, d_ffn: int) -> int:
        """F, the hidden width of each network that a router chooses."""
        return self.d_expert or d_ffn

    def neurons(self, d_ffn: int) -> int:
        """Those of all experts; the shared one's are not counted."""
        return self.n_experts * self.width(d_ffn)

    def check(self, model: "ModelConfig") -> None:
        if (limit := getattr(self.expert, "limit", None)) is not None and not limit > 0:
            raise ConfigError(f"ffn: limit: expected a number above 0, or none, got {limit!r}")
        if self.expert.d_hidden:
            raise ConfigError("ffn: d_hidden: the width of experts is d_expert")
        if not 1 <= self.top_k <= self.n_experts <= 2**10:
            raise ConfigError(
                f"ffn: expected 1 ≤ top_k ≤ n_experts ≤ 1024, got {self.top_k} of {self.n_experts} experts"
            )
        for name, most in (("d_expert", LIMITS["d_ffn"]), ("d_shared", LIMITS["d_ffn"])):
            if not 0 <= getattr(self, name) <= most:
                raise ConfigError(f"ffn: {name}: expected a whole number from 0 to {most}, got {getattr(self, name)!r}")
        if self.n_experts % self.n_groups or not 1 <= self.top_groups <= self.n_groups:
            raise ConfigError(f"ffn: n_groups: {self.top_groups} of {self.n_groups} groups of {self.n_experts} experts")
        size = self.n_experts // self.n_groups
        if not 1 <= self.group_best <= size or self.top_k > self.top_groups * size:
            raise ConfigError(f"ffn: top_k: {self.top_k} of {self.top_groups} groups of {size} experts")
        if self.softmax == "chosen" and (self.choice_bias or self.n_groups > 1 or self.factor != 1):
            raise ConfigError("ffn: softmax: over the chosen alone there are no groups, no bias and no factor")
        if not self.factor > 0:
            raise ConfigError(f"ffn: factor: expected a number above 0, got {self.factor!r}")
        if self.shared_gate and not self.d_shared:
            raise ConfigError("ffn: shared_gate: there is no shared expert")


FeedForward: TypeAlias = Dense | Gated | Experts


def hidden_width(ffn: FeedForward, d_ffn: int) -> int:
    """F, the hidden width of the network that a token passes, or of each of them."""
    return ffn.width(d_ffn) if isinstance(ffn, Experts) else ffn.d_hidden or d_ffn
