"""Seed-OSS (ByteDance 2025): Llama's block with wide heads, and biases of queries, keys and values. The trap: a bias of
what attention writes has a word of its own, ``attention_out_bias``."""

from viz_model.checkpoints.families import llama
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.config import ModelConfig

NAMES = llama.NAMES
renames = llama.renames


def config(a: Attributes) -> ModelConfig:
    a.no_effect(["pretraining_tp", "residual_dropout"])
    return llama.read(
        a, ffn=llama.gated(a, bias=a.flag("mlp_bias", False)), n_vocab=155136, n_context=524288, n_layers=64,
        n_heads=80, n_kv_heads=8, d_head=128, d_ffn=27648, attention_bias=a.flag("attention_bias", True),
        attention_out_bias=a.flag("attention_out_bias", False),
    )  # fmt: skip
