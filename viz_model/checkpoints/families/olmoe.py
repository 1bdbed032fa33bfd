"""OLMoE (Muennighoff et al. 2024): Llama's block with many small experts, and OLMo 2's norm of queries and keys.

The traps: the weights of the chosen experts are not normalized unless the file says so; ``clip_qkv``, which some
files of its predecessor have, is refused.
"""

from viz_model.checkpoints.families import experts, llama
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.renames import Rename
from viz_model.config import Experts, ModelConfig

NAMES = {**llama.NAMES, "ffn": "num_experts_per_tok"}
GGUF = Gguf("olmoe", has_experts=True)


def config(a: Attributes) -> ModelConfig:
    a.one_value("clip_qkv", None)
    a.no_effect(experts.NO_EFFECT)
    ffn = Experts(
        expert=llama.gated(a),
        n_experts=experts.number(a, 64),
        top_k=a.size("num_experts_per_tok", 8),
        normalize=a.flag("norm_topk_prob", False),
    )
    return llama.read(
        a, ffn=ffn, eps=1e-5, n_vocab=50304, n_context=4096, n_layers=16, d_model=2048, n_heads=16, d_ffn=2048,
        attention_bias=a.flag("attention_bias", False), qk_norm=True, qk_norm_over="heads",
    )  # fmt: skip


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, the norms of q and k, and the table of the experts."""
    return [
        *llama.without(config, ".mlp."),
        *llama.qk_norms(),
        *experts.renames(config),
    ]
