"""OLMo 2 (OLMo Team 2024): Llama's parts; what each sub-layer writes is normalized before it is added.

The traps: no norm stands before a sub-layer, which reads the stream as it is; ``post_attention_layernorm`` is not the
norm before the feed-forward layer, as it is in Llama; queries and keys are normalized over all heads as one vector.
"""

from __future__ import annotations

from viz_model.checkpoints.families import llama, rope
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import ModelConfig

NAMES = llama.NAMES
GGUF = Gguf("olmo2")


def config(a: Attributes) -> ModelConfig:
    return read(a)


def read(a: Attributes, turned: llama.Turned = rope.read) -> ModelConfig:
    """What this generation and the next have in common."""
    has_bias = a.flag("attention_bias", False)
    return llama.read(
        a, turned=turned, n_vocab=50304, eps=1e-5, norm_at="branch", attention_bias=has_bias, qk_norm=True,
        qk_norm_over="heads",
    )  # fmt: skip


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, but for the norms."""
    return [
        *llama.without(config, "layernorm"),
        rename(f"{llama.THEIRS}post_attention_layernorm.weight", f"{llama.OURS}attn_norm.weight"),
        rename(f"{llama.THEIRS}post_feedforward_layernorm.weight", f"{llama.OURS}ffn_norm.weight"),
        *llama.qk_norms(),
    ]
