"""GLM-4 (Zeng et al. 2024): Llama's block with biases of queries, keys and values; the files of 2025, ``glm4``, have
norms on both ends of every sub-layer.

The traps: pairs are neighbors, and only a half of each head is turned; gate and up are halves of one matrix, the gate
first; of ``glm4`` ``post_attention_layernorm`` still stands before the feed-forward layer, and
``post_self_attn_layernorm`` behind attention.
"""

from dataclasses import replace

from viz_model.checkpoints.families import llama, rope
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import ModelConfig, Rope

TYPES = ("glm", "glm4")
NAMES = llama.NAMES


def config(a: Attributes) -> ModelConfig:
    return llama.read(
        a, turned=_turned, eps=1.5625e-07, n_vocab=151552, n_context=131072, n_layers=40, n_kv_heads=2, d_head=128,
        d_ffn=13696, attention_bias=a.flag("attention_bias", True), attention_out_bias=False,
        norm_at="both" if a.plain["model_type"] == "glm4" else "pre",
    )  # fmt: skip


def _turned(a: Attributes, n_context: int) -> Rope:
    return replace(rope.read(a, n_context, share=0.5), pairing="interleaved")


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, the fused matrix, and the norms behind the sub-layers."""
    return [
        rename(f"{llama.THEIRS}mlp.gate_up_proj.weight", f"{llama.OURS}ffn.gate.weight", f"{llama.OURS}ffn.up.weight"),
        *llama.renames(config),
        rename(f"{llama.THEIRS}post_self_attn_layernorm.weight", f"{llama.OURS}attn_out_norm.weight"),
        rename(f"{llama.THEIRS}post_mlp_layernorm.weight", f"{llama.OURS}ffn_out_norm.weight"),
    ]
