"""Gemma 2 (Gemma Team 2024b): Gemma's parts, norms on both ends of every sub-layer, and caps on scores and logits.

The traps: the cap on the scores stands before the mask; a cap of ``null`` is none, an absent one is the published
number; every other layer, the first among them, sees a window; ``query_pre_attn_scalar`` is what the square root is
taken of in the place of K, 256 where the config says nothing; gains are stored from 1.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import gemma, gemma3, rope, windows
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.families.in_gguf import Gguf
from viz_model.checkpoints.renames import Rename
from viz_model.config import LIMITS, Gated, LanguageHead, ModelConfig, RMSNorm

NAMES = {**gemma.NAMES, "windows": "layer_types", "score_cap": "attn_logit_softcapping", "scale_width": gemma.ROOT}
GGUF = Gguf(
    "gemma2",
    fields={
        "attention.sliding_window": "sliding_window",
        "attn_logit_softcapping": "attn_logit_softcapping",
        "final_logit_softcapping": "final_logit_softcapping",
    },
    seen=lambda plain, tensors: gemma.root_by_depth(plain, 46),
)


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.one_value("use_bidirectional_attention", False)
    a.no_effect(["attention_dropout", "cache_implementation", "num_logits_to_keep"])
    n_layers, d_head = a.size("num_hidden_layers", 26), a.size("head_dim", 256)
    n_context = a.size("max_position_embeddings", 8192)
    kinds = a.words("layer_types")
    if kinds is None:
        n_words = n_layers if n_layers <= LIMITS["n_layers"] else 0  # ModelConfig refuses the rest
        kinds = [windows.SEES_ALL if layer % 2 else windows.SLIDES for layer in range(n_words)]
    window = 0 if a.is_null("sliding_window") else a.size("sliding_window", 4096)
    return ModelConfig(
        n_vocab=a.size("vocab_size", 256_000),
        n_context=n_context,
        n_layers=n_layers,
        d_model=a.size("hidden_size", 2304),
        n_heads=a.size("num_attention_heads", 8),
        n_kv_heads=a.size("num_key_value_heads", 4),
        d_head=d_head,
        d_ffn=a.size("intermediate_size", 9216),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-6)),
        norm_at="both",
        position=rope.read(a, n_context),
        ffn=Gated(activation=gemma.activation(a)),
        head=LanguageHead(cap=gemma.cap(a, "final_logit_softcapping", 30.0)),
        windows=windows.of_words(a, kinds, window),
        attention_bias=a.flag("attention_bias", False),
        scale_width=gemma.root(a, d_head),
        score_cap=gemma.cap(a, "attn_logit_softcapping", 50.0),
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=True,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Gemma 3's table without norms of queries and keys."""
    return [row for row in gemma3.renames(config) if not any("qk_norm" in place for place in row.ours)]
