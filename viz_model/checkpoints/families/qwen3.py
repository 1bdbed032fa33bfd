"""Qwen3 (Yang et al. 2025): Llama's block with every head's query and key normalised, and windows in some files."""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import llama, rope, windows
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.families.in_gguf import Gguf
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import Gated, LanguageHead, ModelConfig, RMSNorm

NAMES = {**llama.NAMES, "windows": "layer_types"}
GGUF = Gguf("qwen3")


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.no_effect(["attention_dropout"])
    n_context = a.size("max_position_embeddings", 32768)
    n_layers = a.size("num_hidden_layers", 32)
    return ModelConfig(
        n_vocab=a.size("vocab_size", 151936),
        n_context=n_context,
        n_layers=n_layers,
        d_model=a.size("hidden_size", 4096),
        n_heads=a.size("num_attention_heads", 32),
        n_kv_heads=a.size("num_key_value_heads", 32),
        d_head=a.size("head_dim", 128),
        d_ffn=a.size("intermediate_size", 22016),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-6)),
        position=rope.read(a, n_context),
        ffn=Gated(activation=a.choice("hidden_act", ACTIVATIONS, "silu")),
        head=LanguageHead(),
        windows=windows.from_a_layer_on(a, n_layers),
        attention_bias=a.flag("attention_bias", False),
        qk_norm=True,
        tie_embeddings=a.flag("tie_word_embeddings", False),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, and the norms of q and k."""
    theirs, ours = "[model.]layers.{layer}.self_attn.", "decoder.blocks.{layer}.attn.qk_norm."
    return [*llama.renames(config), *(rename(f"{theirs}{part}_norm.weight", f"{ours}{part}.weight") for part in "qk")]
