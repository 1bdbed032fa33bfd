"""OLMoE (Muennighoff et al. 2024): Llama's block with many small experts, and OLMo 2's norm of queries and keys.

The traps: the weights of the chosen experts are not normalized unless the file says so; ``clip_qkv``, which some
files of its predecessor have, is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from viz_model.checkpoints.families import experts, llama
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import Experts, ModelConfig

NAMES = {**llama.NAMES, "ffn": "num_experts_per_tok"}
GGUF = Gguf("olmoe", has_experts=True)


def config(a: Attributes, tensors: Collection[str]) -> ModelConfig:
    a.one_value("clip_qkv", None)
    a.no_effect(experts.NO_EFFECT)
    base = llama.read(
        a,
        ffn=Experts(
            expert=llama.gated(a),
            n_experts=experts.number(a, 64),
            top_k=a.size("num_experts_per_tok", 8),
            normalize=a.flag("norm_topk_prob", False),
        ),
        eps=1e-5,
        n_vocab=50304,
        n_context=4096,
        n_layers=16,
        d_model=2048,
        n_heads=16,
        d_ffn=2048,
    )
    return replace(base, attention_bias=a.flag("attention_bias", False), qk_norm=True, qk_norm_over="heads")


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, the norms of q and k, and the table of the experts."""
    theirs = "[model.]layers.{layer}."
    names = ("gate_proj", "up_proj", "down_proj")
    return [
        *(row for row in llama.renames(config) if ".mlp." not in row.theirs),
        *(
            rename(f"{theirs}self_attn.{x}_norm.weight", f"decoder.blocks.{{layer}}.attn.qk_norm.{x}.weight")
            for x in "qk"
        ),
        *experts.renames(config, f"{theirs}mlp.gate.weight", f"{theirs}mlp.experts.", names),
    ]
