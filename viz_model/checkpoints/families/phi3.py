"""Phi-3 and Phi-4-mini (Abdin et al. 2024): Llama's block with two matrices where Llama has five.

The traps: query, key and value are rows of one matrix, all queries first; gate and up are halves of another, the gate
first; a part of each head may be left unturned; and the long-context files turn longer texts otherwise than those of
the first training's length, to which the context is limited here.
"""

from dataclasses import replace
from functools import partial

from viz_model.checkpoints.families import llama, rope, windows
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import ModelConfig

NAMES = {**llama.NAMES, "windows": "sliding_window"}
GGUF = Gguf("phi3", fields={"attention.sliding_window": "sliding_window"}, partial=True)


def config(a: Attributes) -> ModelConfig:
    for name in ("attention_bias", "mlp_bias", "lm_head_bias"):
        a.one_value(name, False)
    turned = partial(rope.read, share=1.0)
    base = llama.read(a, turned=turned, eps=1e-5, n_vocab=32064, n_context=4096, d_model=3072, d_ffn=8192)
    window = a.size("sliding_window") if "sliding_window" in a else 0
    return replace(base, windows=windows.every(base.n_layers, window))


def renames(config: ModelConfig) -> list[Rename]:
    """The two fused matrices, and Llama's table."""
    qkv = [f"{llama.OURS}attn.{part}.weight" for part in "qkv"]
    return [
        rename(f"{llama.THEIRS}self_attn.qkv_proj.weight", *qkv),
        rename(f"{llama.THEIRS}mlp.gate_up_proj.weight", f"{llama.OURS}ffn.gate.weight", f"{llama.OURS}ffn.up.weight"),
        *llama.renames(config),
    ]
