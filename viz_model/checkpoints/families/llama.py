"""Llama (Touvron et al. 2023; Grattafiori et al. 2024): a causal decoder, RMSNorm before each sub-layer, rotary
positions, SwiGLU, and key–value heads shared by groups of queries. TinyLlama and SmolLM are built the same way."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from viz_model.checkpoints.families import rope
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, Gguf, names, usual
from viz_model.checkpoints.renames import Rename, ignored, rename, unembedding
from viz_model.config import FeedForward, Gated, ModelConfig, RMSNorm, Rope

SIZES = usual(n_vocab=32000, n_context=2048, n_layers=32, d_model=4096, n_heads=32, n_kv_heads=0, d_head=0, d_ffn=11008)
NAMES = {**names(SIZES), "norm": "rms_norm_eps", "position": "rope_theta"}

Turned: TypeAlias = Callable[[Attributes, int], Rope]
"""The rotation that a config asks for, of a context of so many positions."""

GGUF = Gguf("llama", pairing="interleaved")
"""Mistral's files are the same, without its window."""


def config(a: Attributes) -> ModelConfig:
    a.one_value("rope_interleaved", False)
    a.no_effect(["is_llama_config", "max_sequence_length", "pretraining_tp"])
    ffn = gated(a, bias=a.flag("mlp_bias", False))
    return read(a, ffn=ffn, attention_bias=a.flag("attention_bias", False))


def read(
    a: Attributes,
    *,
    turned: Turned = rope.read,
    ffn: FeedForward | None = None,
    eps: float = 1e-6,
    tied: bool = False,
    fixed: Mapping[str, int] | None = None,
    **own: Any,
) -> ModelConfig:
    """What Llama and its kin have in common; what is a family's own is read in its file.

    Args:
        ffn: None for that of :func:`gated`.
        fixed: sizes that are so whatever the file says under Llama's words.
        eps, tied: ε, and whether there is one table, where a file does not say.
        own: sizes where a file does not say, and further fields of a family; Llama's unless given.
    """
    sizes = a.sizes(SIZES, {field: own.pop(field) for field in SIZES if field in own})
    if a.is_null("num_key_value_heads"):
        sizes["n_kv_heads"] = sizes["n_heads"]
    sizes.update(fixed or {})
    shared: dict[str, Any] = {
        "norm": RMSNorm(eps=a.number("rms_norm_eps", eps)),
        "position": turned(a, sizes["n_context"]),
        "ffn": ffn or gated(a),
        "attention_bias": False,
        "tie_embeddings": a.flag("tie_word_embeddings", tied),
        "scale_embedding": False,
    }
    return ModelConfig(**sizes, **{**shared, **own})


def gated(a: Attributes, bias: bool = False) -> Gated:
    """The feed-forward of one network, or of one expert."""
    return Gated(activation=a.choice("hidden_act", ACTIVATIONS, "silu"), bias=bias)


THEIRS, OURS = "[model.]layers.{layer}.", "decoder.blocks.{layer}."
"""What stands before the names of a block."""


def qk_norms() -> list[Rename]:
    """Norms of queries and keys, which some of its kin have."""
    return [rename(f"{THEIRS}self_attn.{x}_norm.weight", f"{OURS}attn.qk_norm.{x}.weight") for x in "qk"]


def without(config: ModelConfig, *parts: str) -> list[Rename]:
    """Llama's table without the rows in whose names one of these stands."""
    return [row for row in renames(config) if not any(part in row.theirs for part in parts)]


def renames(config: ModelConfig) -> list[Rename]:
    """The two norms of a block are named after what stands before them. Some relatives of Llama have β."""
    return [
        rename("[model.]embed_tokens.weight", "embedding.weight"),
        rename(f"{THEIRS}input_layernorm.*", f"{OURS}attn_norm.*"),
        *(rename(f"{THEIRS}self_attn.{part}_proj.*", f"{OURS}attn.{part}.*") for part in "qkvo"),
        rename(f"{THEIRS}post_attention_layernorm.*", f"{OURS}ffn_norm.*"),
        *(rename(f"{THEIRS}mlp.{part}_proj.*", f"{OURS}ffn.{part}.*") for part in ("gate", "up", "down")),
        rename("[model.]norm.*", "decoder.final_norm.*"),
        unembedding("lm_head.weight", config),
        ignored(f"{THEIRS}self_attn.rotary_emb.inv_freq", "the angles, which follow from the config"),
    ]
