"""OLMo 2 (OLMo Team 2024): Llama's parts; what each sub-layer writes is normalized before it is added.

The traps: no norm stands before a sub-layer, which reads the stream as it is; ``post_attention_layernorm`` is not the
norm before the feed-forward layer, as it is in Llama; queries and keys are normalized over all heads as one vector.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from viz_model.checkpoints.families import llama
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import ModelConfig

NAMES = llama.NAMES
GGUF = Gguf("olmo2")


def config(a: Attributes, tensors: Collection[str]) -> ModelConfig:
    base = llama.read(a, n_vocab=50304, eps=1e-5)
    has_bias = a.flag("attention_bias", False)
    return replace(base, norm_at="branch", attention_bias=has_bias, qk_norm=True, qk_norm_over="heads")


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, but for the norms."""
    theirs, ours = "[model.]layers.{layer}.", "decoder.blocks.{layer}."
    return [
        *(row for row in llama.renames(config) if "layernorm" not in row.theirs),
        rename(f"{theirs}post_attention_layernorm.weight", f"{ours}attn_norm.weight"),
        rename(f"{theirs}post_feedforward_layernorm.weight", f"{ours}ffn_norm.weight"),
        *(rename(f"{theirs}self_attn.{x}_norm.weight", f"{ours}attn.qk_norm.{x}.weight") for x in "qk"),
    ]
