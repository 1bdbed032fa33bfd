"""Qwen2 and Qwen2.5 (Yang et al. 2024): Llama's block; queries, keys and values have biases, what attention writes has
none. The trap: ``sliding_window`` counts only where ``use_sliding_window`` is true, and then from a layer on."""

from dataclasses import replace

from viz_model.checkpoints.families import llama, windows
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.config import ModelConfig

NAMES = {**llama.NAMES, "windows": "layer_types"}
GGUF = Gguf("qwen2")
renames = llama.renames


def config(a: Attributes) -> ModelConfig:
    a.one_value("use_mrope", False)
    base = llama.read(a, n_vocab=151936, n_context=32768, n_kv_heads=32, d_ffn=22016)
    slides = windows.from_a_layer_on(a, base.n_layers)
    return replace(base, windows=slides, attention_bias=True, attention_out_bias=False)
