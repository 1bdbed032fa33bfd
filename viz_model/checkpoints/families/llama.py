"""Llama (Touvron et al. 2023; Grattafiori et al. 2024): a causal decoder, RMSNorm before each sub-layer, rotary
positions, SwiGLU, and key–value heads shared by groups of queries. TinyLlama and SmolLM are built the same way."""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import rope
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.families.in_gguf import Gguf
from viz_model.checkpoints.renames import Rename, ignored, rename
from viz_model.config import Gated, LanguageHead, ModelConfig, RMSNorm

NAMES = {
    "n_vocab": "vocab_size",
    "n_context": "max_position_embeddings",
    "n_layers": "num_hidden_layers",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "d_head": "head_dim",
    "d_ffn": "intermediate_size",
    "norm": "rms_norm_eps",
    "position": "rope_theta",
}
GGUF = Gguf("llama", pairing="interleaved")
"""Mistral's files are the same, without its window."""


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.one_value("rope_interleaved", False)
    a.no_effect(["attention_dropout", "is_llama_config", "max_sequence_length", "pretraining_tp"])
    n_context = a.size("max_position_embeddings", 2048)
    n_heads = a.size("num_attention_heads", 32)
    return ModelConfig(
        n_vocab=a.size("vocab_size", 32000),
        n_context=n_context,
        n_layers=a.size("num_hidden_layers", 32),
        d_model=a.size("hidden_size", 4096),
        n_heads=n_heads,
        n_kv_heads=a.size("num_key_value_heads", n_heads),
        d_head=a.size("head_dim") if "head_dim" in a else 0,
        d_ffn=a.size("intermediate_size", 11008),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-6)),
        position=rope.read(a, n_context),
        ffn=Gated(activation=a.choice("hidden_act", ACTIVATIONS, "silu"), bias=a.flag("mlp_bias", False)),
        head=LanguageHead(),
        attention_bias=a.flag("attention_bias", False),
        tie_embeddings=a.flag("tie_word_embeddings", False),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """The two norms of a block are named after what stands before them."""
    theirs, ours = "[model.]layers.{layer}.", "decoder.blocks.{layer}."
    return [
        rename("[model.]embed_tokens.weight", "embedding.weight"),
        rename(f"{theirs}input_layernorm.weight", f"{ours}attn_norm.weight"),
        *(rename(f"{theirs}self_attn.{part}_proj.*", f"{ours}attn.{part}.*") for part in "qkvo"),
        rename(f"{theirs}post_attention_layernorm.weight", f"{ours}ffn_norm.weight"),
        *(rename(f"{theirs}mlp.{part}_proj.*", f"{ours}ffn.{part}.*") for part in ("gate", "up", "down")),
        rename("[model.]norm.weight", "decoder.final_norm.weight"),
        rename("lm_head.weight", "embedding.weight" if config.tie_embeddings else "head.unembedding.weight"),
        ignored(f"{theirs}self_attn.rotary_emb.inv_freq", "the angles, which follow from the config"),
    ]
