"""OLMoE (Muennighoff et al. 2024): Llama's block with many small experts, and OLMo 2's norm of queries and keys.

The traps: the weights of the chosen experts are not normalised unless the file says so; ``clip_qkv``, which some
files of its predecessor have, is refused.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import experts, llama, rope
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.families.in_gguf import Gguf
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import Experts, Gated, LanguageHead, ModelConfig, RMSNorm

NAMES = {**{field: name for field, name in llama.NAMES.items() if field != "d_head"}, "ffn": "num_experts_per_tok"}
GGUF = Gguf("olmoe", has_experts=True)


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.one_value("clip_qkv", None)
    a.no_effect(experts.NO_EFFECT)
    n_context = a.size("max_position_embeddings", 4096)
    n_heads = a.size("num_attention_heads", 16)
    return ModelConfig(
        n_vocab=a.size("vocab_size", 50304),
        n_context=n_context,
        n_layers=a.size("num_hidden_layers", 16),
        d_model=a.size("hidden_size", 2048),
        n_heads=n_heads,
        n_kv_heads=a.size("num_key_value_heads", n_heads),
        d_ffn=a.size("intermediate_size", 2048),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-5)),
        position=rope.read(a, n_context),
        ffn=Experts(
            expert=Gated(activation=a.choice("hidden_act", ACTIVATIONS, "silu")),
            n_experts=experts.number(a, 64),
            top_k=a.size("num_experts_per_tok", 8),
            normalise=a.flag("norm_topk_prob", False),
        ),
        head=LanguageHead(),
        attention_bias=a.flag("attention_bias", False),
        qk_norm=True,
        qk_norm_over="heads",
        tie_embeddings=a.flag("tie_word_embeddings", False),
        scale_embedding=False,
    )


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
