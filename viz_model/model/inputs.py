"""What feeds the first block of a stack: token ids -> rows of a table, with kinds of token and positions added.

Later inputs of another sort (patches of an image) declare their own first values and end, as these do, in
``embed.out`` [T, D].
"""

from __future__ import annotations

import math

from torch import nn

from viz_model.config import ModelConfig, Side
from viz_model.model import norms, positions
from viz_model.values.declaration import Scope, Vector, plus
from viz_model.values.expression import Expression
from viz_model.values.leaves import Given, Setting, Value


def scale(config: ModelConfig) -> float:
    """What rows of the table are multiplied by: √D (Vaswani et al. 2017, section 3.4), or 1."""
    return math.sqrt(config.d_model) if config.scale_embedding else 1.0


def segments(config: ModelConfig) -> nn.Embedding | None:
    """The table of kinds of token (Devlin et al. 2019, figure 2)."""
    return nn.Embedding(config.n_segments, config.d_model) if config.n_segments else None


def declare(config: ModelConfig, side: Side, at: Scope) -> Value:
    """Declare a stack's embedding, from the ids to the vectors that enter its first block."""
    t, d = at.index("T"), at.index("D")
    read = "target_ids" if at.stack == "decoder." else "ids"
    given = Given("id", f"{at.stack}ids", "vocabulary", f"torch.tensor(trace.{read})")
    ids = at.value("tokens.ids", (t,), given[t], symbol=r"\mathrm{id}", label="token ids", role="token")
    to = at.at("embed")
    row: Expression = to.of("").weight("embedding.weight", "E", "V", "D")[ids[t], d]
    if config.scale_embedding:
        row = Setting(r"\sqrt{D}", scale(config), "size", f"{config.d_model}**0.5") * row
    parts: list[Vector] = [
        to.value("token", (t, d), row, symbol="e", label="token embedding", role="residual")
    ]  # fmt: skip
    if config.n_segments:
        kind = Given("segment", "segments", "segment", "torch.tensor(trace.segments)")
        table = to.weight("segment.weight", "S", "S", "D")
        parts.append(
            to.value(
                "segment", (t, d), table[kind[t], d], symbol="s", label="segment embedding", role="residual"
            )
        )  # fmt: skip
    added = positions.kind(config.position).declare_added(config.position, to.of(f"{side}.position"))
    if added is not None:
        parts.append(added)
    total = plus(*parts)
    if config.embedding_norm:
        total = norms.declare(config.norm, to.at("norm", "embed_norm"), total, (t, d))
    label = "embedding + position" if added is not None else "embedding"
    return to.value("out", (t, d), total[t, d], symbol="x", label=label, role="residual")
