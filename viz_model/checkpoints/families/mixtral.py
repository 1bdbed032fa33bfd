"""Mixtral (Jiang et al. 2024): Mistral's block with experts in the place of its feed-forward.

The traps: w1 is the gate, w3 what it multiplies, and w2 writes; the weights of the chosen experts are always
normalized; a file that says nothing of a window has none.
"""

from dataclasses import replace
from functools import partial

from viz_model.checkpoints.families import experts, llama, rope, windows
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.renames import Rename
from viz_model.config import Experts, ModelConfig

NAMES = {**llama.NAMES, "windows": "sliding_window", "ffn": "num_experts_per_tok"}
GGUF = Gguf("llama", has_experts=True, pairing="interleaved")


def config(a: Attributes) -> ModelConfig:
    a.no_effect(experts.NO_EFFECT)
    ffn = Experts(expert=llama.gated(a), n_experts=experts.number(a, 8), top_k=a.size("num_experts_per_tok", 2))
    turned = partial(rope.read, base=1e6)
    base = llama.read(a, turned=turned, ffn=ffn, eps=1e-5, n_context=4096 * 32, n_kv_heads=8, d_ffn=14336)
    return replace(base, windows=windows.every(base.n_layers, a.size("sliding_window", 0, 0)))


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, and that of the experts."""
    return [*llama.without(config, ".mlp."), *experts.renames(config, "block_sparse_moe.", ("w1", "w3", "w2"))]
