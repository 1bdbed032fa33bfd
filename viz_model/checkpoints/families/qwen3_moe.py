"""Qwen3-MoE (Yang et al. 2025): Qwen3's block with experts, in all layers or in some.

The traps: ``decoder_sparse_step`` counts from 1, and ``mlp_only_layers`` from 0; a layer without experts is
``intermediate_size`` wide and an expert ``moe_intermediate_size``; a window, where it is switched on, is that of every
layer, whatever ``max_window_layers`` says.
"""

from dataclasses import replace

from viz_model.checkpoints.families import experts, llama, qwen3, windows
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.renames import Rename
from viz_model.config import Experts, FeedForward, Gated, ModelConfig

NAMES = {**llama.NAMES, "windows": "sliding_window", "ffn": "num_experts_per_tok"}
GGUF = Gguf(
    "qwen3moe",
    has_experts=True,
    fields={"expert_feed_forward_length": "moe_intermediate_size"},
    required=("expert_feed_forward_length",),
    fixed={"norm_topk_prob": True},
)


def config(a: Attributes) -> ModelConfig:
    a.no_effect([*experts.NO_EFFECT, "max_window_layers"])
    window = a.size("sliding_window", 4096, 0) if a.flag("use_sliding_window", False) else 0
    a.no_effect(["sliding_window"])
    dense = llama.gated(a)
    routed = Experts(
        expert=dense,
        n_experts=experts.number(a, 128),
        top_k=a.size("num_experts_per_tok", 8),
        d_expert=a.size("moe_intermediate_size", 768),
        normalize=a.flag("norm_topk_prob", False),
    )
    base = llama.read(
        a, ffn=routed, n_vocab=151936, n_context=32768, n_layers=24, d_model=2048, n_kv_heads=4, d_ffn=6144
    )
    return replace(
        base,
        ffns=by_layer(a, base.n_layers, routed, dense),
        windows=windows.every(base.n_layers, window),
        attention_bias=a.flag("attention_bias", False),
        qk_norm=True,
    )


def by_layer(a: Attributes, n_layers: int, routed: Experts, dense: Gated) -> tuple[FeedForward, ...]:
    """Empty where all layers have experts."""
    step, left_out = a.size("decoder_sparse_step", 1), a.items("mlp_only_layers") or []
    has_experts = [(layer + 1) % step == 0 and layer not in left_out for layer in range(n_layers)]
    return () if all(has_experts) else tuple(routed if has else dense for has in has_experts)


def renames(config: ModelConfig) -> list[Rename]:
    """Qwen3's table, whose feed-forward is that of layers without experts, and the table of the experts."""
    return [*qwen3.renames(config), *experts.renames(config)]
