"""Mistral (Jiang et al. 2023): Llama's block, and a window in every layer.

The traps: the window counts the query's own position; ``"sliding_window": null`` is no window (versions 0.2 and 0.3),
where a file that says nothing means the first version's 4096.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import llama, rope, windows
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.renames import Rename
from viz_model.config import Gated, LanguageHead, ModelConfig, RMSNorm

NAMES = {**llama.NAMES, "windows": "sliding_window"}


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.no_effect(["attention_dropout"])
    n_context = a.size("max_position_embeddings", 4096 * 32)
    n_layers = a.size("num_hidden_layers", 32)
    n_heads = a.size("num_attention_heads", 32)
    window = 0 if a.is_null("sliding_window") else a.size("sliding_window", 4096)
    return ModelConfig(
        n_vocab=a.size("vocab_size", 32000),
        n_context=n_context,
        n_layers=n_layers,
        d_model=a.size("hidden_size", 4096),
        n_heads=n_heads,
        n_kv_heads=n_heads if a.is_null("num_key_value_heads") else a.size("num_key_value_heads", 8),
        d_head=a.size("head_dim") if "head_dim" in a else 0,
        d_ffn=a.size("intermediate_size", 14336),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-6)),
        position=rope.read(a, n_context),
        ffn=Gated(activation=a.choice("hidden_act", ACTIVATIONS, "silu")),
        head=LanguageHead(),
        windows=windows.every(n_layers, window),
        attention_bias=False,
        tie_embeddings=a.flag("tie_word_embeddings", False),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table."""
    return llama.renames(config)
