"""Llama (Touvron et al. 2023; Grattafiori et al. 2024): a causal decoder, RMSNorm before each sub-layer, rotary
positions, SwiGLU, and key–value heads shared by groups of queries. TinyLlama and SmolLM are built the same way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TypeAlias

from viz_model.checkpoints.families import rope
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, Gguf, names
from viz_model.checkpoints.renames import Rename, ignored, rename, unembedding
from viz_model.config import FeedForward, Gated, ModelConfig, RMSNorm, Rope

SIZES = {
    "n_vocab": ("vocab_size", 32000),
    "n_context": ("max_position_embeddings", 2048),
    "n_layers": ("num_hidden_layers", 32),
    "d_model": ("hidden_size", 4096),
    "n_heads": ("num_attention_heads", 32),
    "n_kv_heads": ("num_key_value_heads", 0),
    "d_head": ("head_dim", 0),
    "d_ffn": ("intermediate_size", 11008),
}
NAMES = {**names(SIZES), "norm": "rms_norm_eps", "position": "rope_theta"}

Turned: TypeAlias = Callable[[Attributes, int], Rope]
"""The rotation that a config asks for, of a context of so many positions."""

GGUF = Gguf("llama", pairing="interleaved")
"""Mistral's files are the same, without its window."""


def config(a: Attributes, tensors: Collection[str]) -> ModelConfig:
    a.one_value("rope_interleaved", False)
    a.no_effect(["is_llama_config", "max_sequence_length", "pretraining_tp"])
    base = read(a, ffn=gated(a, bias=a.flag("mlp_bias", False)))
    return replace(base, attention_bias=a.flag("attention_bias", False))


def read(
    a: Attributes,
    *,
    turned: Turned = rope.read,
    ffn: FeedForward | None = None,
    eps: float = 1e-6,
    tied: bool = False,
    fixed: Mapping[str, int] | None = None,
    **absent: int,
) -> ModelConfig:
    """What Llama and its kin have in common; what is a family's own is read in its file.

    Args:
        ffn: None for that of :func:`gated`.
        fixed: sizes that are so whatever the file says under Llama's words.
        eps, tied, absent: ε, whether there is one table, and sizes where a file does not say; Llama's unless given.
    """
    sizes = a.sizes(SIZES, absent)
    if a.is_null("num_key_value_heads"):
        sizes["n_kv_heads"] = sizes["n_heads"]
    sizes.update(fixed or {})
    return ModelConfig(
        **sizes,
        norm=RMSNorm(eps=a.number("rms_norm_eps", eps)),
        position=turned(a, sizes["n_context"]),
        ffn=ffn or gated(a),
        attention_bias=False,
        tie_embeddings=a.flag("tie_word_embeddings", tied),
        scale_embedding=False,
    )


def gated(a: Attributes, bias: bool = False) -> Gated:
    """The feed-forward of one network, or of one expert."""
    return Gated(activation=a.choice("hidden_act", ACTIVATIONS, "silu"), bias=bias)


def renames(config: ModelConfig) -> list[Rename]:
    """The two norms of a block are named after what stands before them. Some relatives of Llama have β."""
    theirs, ours = "[model.]layers.{layer}.", "decoder.blocks.{layer}."
    return [
        rename("[model.]embed_tokens.weight", "embedding.weight"),
        rename(f"{theirs}input_layernorm.*", f"{ours}attn_norm.*"),
        *(rename(f"{theirs}self_attn.{part}_proj.*", f"{ours}attn.{part}.*") for part in "qkvo"),
        rename(f"{theirs}post_attention_layernorm.*", f"{ours}ffn_norm.*"),
        *(rename(f"{theirs}mlp.{part}_proj.*", f"{ours}ffn.{part}.*") for part in ("gate", "up", "down")),
        rename("[model.]norm.*", "decoder.final_norm.*"),
        unembedding("lm_head.weight", config),
        ignored(f"{theirs}self_attn.rotary_emb.inv_freq", "the angles, which follow from the config"),
    ]
