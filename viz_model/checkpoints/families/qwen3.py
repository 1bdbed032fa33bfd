"""Qwen3 (Yang et al. 2025): Llama's block with every head's query and key normalized, and windows in some files."""

from dataclasses import replace

from viz_model.checkpoints.families import llama, windows
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.renames import Rename
from viz_model.config import ModelConfig

NAMES = {**llama.NAMES, "windows": "layer_types"}
GGUF = Gguf("qwen3")


def config(a: Attributes) -> ModelConfig:
    base = llama.read(a, n_vocab=151936, n_context=32768, n_kv_heads=32, d_head=128, d_ffn=22016)
    slides = windows.from_a_layer_on(a, base.n_layers)
    return replace(base, windows=slides, attention_bias=a.flag("attention_bias", False), qk_norm=True)


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, and the norms of q and k."""
    return [*llama.renames(config), *llama.qk_norms()]
