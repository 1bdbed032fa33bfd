"""OLMo 2 (OLMo Team 2024): Llama's parts; what each sub-layer writes is normalised before it is added.

The traps: no norm stands before a sub-layer, which reads the stream as it is; ``post_attention_layernorm`` is not the
norm before the feed-forward layer, as it is in Llama; queries and keys are normalised over all heads as one vector.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import llama, rope
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.families.in_gguf import Gguf
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import Gated, LanguageHead, ModelConfig, RMSNorm

NAMES = llama.NAMES
GGUF = Gguf("olmo2")


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.no_effect(["attention_dropout"])
    n_context = a.size("max_position_embeddings", 2048)
    n_heads = a.size("num_attention_heads", 32)
    return ModelConfig(
        n_vocab=a.size("vocab_size", 50304),
        n_context=n_context,
        n_layers=a.size("num_hidden_layers", 32),
        d_model=a.size("hidden_size", 4096),
        n_heads=n_heads,
        n_kv_heads=a.size("num_key_value_heads", n_heads),
        d_head=a.size("head_dim") if "head_dim" in a else 0,
        d_ffn=a.size("intermediate_size", 11008),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-5)),
        norm_at="branch",
        position=rope.read(a, n_context),
        ffn=Gated(activation=a.choice("hidden_act", ACTIVATIONS, "silu")),
        head=LanguageHead(),
        attention_bias=a.flag("attention_bias", False),
        qk_norm=True,
        qk_norm_over="heads",
        tie_embeddings=a.flag("tie_word_embeddings", False),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, but for the norms."""
    theirs, ours = "[model.]layers.{layer}.", "decoder.blocks.{layer}."
    return [
        *(row for row in llama.renames(config) if "layernorm" not in row.theirs),
        rename(f"{theirs}post_attention_layernorm.weight", f"{ours}attn_norm.weight"),
        rename(f"{theirs}post_feedforward_layernorm.weight", f"{ours}ffn_norm.weight"),
        *(rename(f"{theirs}self_attn.{x}_norm.weight", f"{ours}attn.qk_norm.{x}.weight") for x in "qk"),
    ]
