"""Inputs that the package does not have (:mod:`fresh_variants`)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from viz_model.config import ConfigError, ModelConfig
from viz_model.config.inputs import InputScheme
from viz_model.model import inputs
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope
from viz_model.values.leaves import Value
from viz_model.values.operations import Sum


@dataclass(frozen=True, kw_only=True)
class FactorizedConfig(InputScheme):
    width: int = 7

    def check(self, model: ModelConfig) -> None:
        if model.tie_embeddings or model.scale_embedding:
            raise ConfigError("inputs: rows that are made of two factors are neither tied nor scaled")


class Factorized(inputs.Input):
    """A narrow row for every token, projected to the model's width by one matrix (Lan et al. 2020, section 3.1)."""

    module: ClassVar[str] = "embedding"
    ids: ClassVar[str] = "tokens.ids"

    def __init__(self, own: FactorizedConfig, model: ModelConfig) -> None:
        super().__init__()
        self.table = nn.Embedding(model.n_vocab, own.width)
        self.projection = nn.Linear(own.width, model.d_model, bias=False)

    @property
    def weight(self) -> Tensor:
        return self.projection(self.table.weight)

    def forward(self, ids: Tensor, tap: Tap = NO_TAP, pixels: Tensor | None = None) -> Tensor:
        narrow = tap("embed.narrow", self.table(tap("tokens.ids", ids)))  # [B, T, E]
        return tap("embed.token", self.projection(narrow))

    @staticmethod
    def declare(own: FactorizedConfig, model: ModelConfig, at: Scope) -> Value:
        of, ids = at.with_axis("U", own.width), inputs.declare_ids(at)
        t, d, u = at.index("T"), at.index("D"), of.index("U", "u")
        table, projection = (of.weight(f"embedding.{name}.weight", letter, *axes, "U") for name, letter, axes in
                             (("table", "E", ("V",)), ("projection", "W^E", ("D",))))  # fmt: skip
        narrow = of.value(
            "embed.narrow", (t, u), table[ids[t], u], symbol="n", label="narrow token embedding", role="token"
        )  # fmt: skip
        return at.value(
            "embed.token", (t, d), Sum(u, narrow[t, u] * projection[d, u]),
            symbol="e", label="token embedding", role="residual",
        )  # fmt: skip
