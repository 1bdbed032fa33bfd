"""Qwen3-MoE (Yang et al. 2025): Qwen3's block with experts, in all layers or in some.

The traps: ``decoder_sparse_step`` counts from 1, and ``mlp_only_layers`` from 0; a layer without experts is
``intermediate_size`` wide and an expert ``moe_intermediate_size``; a window, where it is switched on, is that of every
layer, whatever ``max_window_layers`` says.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import experts, llama, qwen3, rope, windows
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.families.in_gguf import Gguf
from viz_model.checkpoints.renames import Rename
from viz_model.config import LIMITS, Experts, FeedForward, Gated, LanguageHead, ModelConfig, RMSNorm

NAMES = {**llama.NAMES, "windows": "sliding_window", "ffn": "num_experts_per_tok"}
GGUF = Gguf(
    "qwen3moe",
    has_experts=True,
    fields={"expert_feed_forward_length": "moe_intermediate_size"},
    required=("expert_feed_forward_length",),
    fixed={"norm_topk_prob": True},
)


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.no_effect([*experts.NO_EFFECT, "max_window_layers"])
    n_context = a.size("max_position_embeddings", 32768)
    n_layers = a.size("num_hidden_layers", 24)
    window = a.size("sliding_window", 4096, 0) if a.flag("use_sliding_window", False) else 0
    a.no_effect(["sliding_window"])
    dense = Gated(activation=a.choice("hidden_act", ACTIVATIONS, "silu"))
    routed = Experts(
        expert=dense,
        n_experts=experts.number(a, 128),
        top_k=a.size("num_experts_per_tok", 8),
        d_expert=a.size("moe_intermediate_size", 768),
        normalise=a.flag("norm_topk_prob", False),
    )
    return ModelConfig(
        n_vocab=a.size("vocab_size", 151936),
        n_context=n_context,
        n_layers=n_layers,
        d_model=a.size("hidden_size", 2048),
        n_heads=a.size("num_attention_heads", 32),
        n_kv_heads=a.size("num_key_value_heads", 4),
        d_head=a.size("head_dim") if "head_dim" in a else 0,
        d_ffn=a.size("intermediate_size", 6144),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-6)),
        position=rope.read(a, n_context),
        ffn=routed,
        ffns=_by_layer(a, n_layers, routed, dense),
        head=LanguageHead(),
        windows=windows.every(n_layers, window),
        attention_bias=a.flag("attention_bias", False),
        qk_norm=True,
        tie_embeddings=a.flag("tie_word_embeddings", False),
        scale_embedding=False,
    )


def _by_layer(a: Attributes, n_layers: int, routed: Experts, dense: Gated) -> tuple[FeedForward, ...]:
    """Empty where all layers have experts."""
    step, left_out = a.size("decoder_sparse_step", 1), a.items("mlp_only_layers") or []
    if n_layers > LIMITS["n_layers"]:
        return ()  # ModelConfig refuses it
    has_experts = [(layer + 1) % step == 0 and layer not in left_out for layer in range(n_layers)]
    return () if all(has_experts) else tuple(routed if has else dense for has in has_experts)


def renames(config: ModelConfig) -> list[Rename]:
    """Qwen3's table, whose feed-forward is that of layers without experts, and the table of the experts."""
    theirs, names = "[model.]layers.{layer}.mlp.", ("gate_proj", "up_proj", "down_proj")
    return [
        *qwen3.renames(config),
        *experts.renames(config, f"{theirs}gate.weight", f"{theirs}experts.", names),
    ]
