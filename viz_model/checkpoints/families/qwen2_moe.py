"""Qwen1.5-MoE and Qwen2-MoE (Yang et al. 2024): Qwen2's attention, many small experts, and one that reads every token.

The traps: the shared expert is of a width of its own, and what it writes is multiplied by a sigmoid; the weights of the
chosen experts are not normalized unless the file says so; where a window is switched on, every other layer has it, up
to ``max_window_layers``.
"""

from dataclasses import replace

from viz_model.checkpoints.families import experts, llama, qwen3_moe, windows
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import Experts, ModelConfig

NAMES = {**llama.NAMES, "windows": "layer_types", "ffn": "num_experts_per_tok"}


def config(a: Attributes) -> ModelConfig:
    a.no_effect(experts.NO_EFFECT)
    ffn = routed(a, 60, 4, 1408, shared=5632, normalize=False)
    base = llama.read(
        a, ffn=ffn, n_vocab=151936, n_context=32768, n_layers=24, d_model=2048, n_heads=16, n_kv_heads=16, d_ffn=5632
    )
    slides, first = a.flag("use_sliding_window", False), a.size("max_window_layers", 28, 0)
    window = 0 if a.is_null("sliding_window") else a.size("sliding_window", 4096, 0)
    kinds = windows.words(a, base.n_layers, lambda layer: slides and layer % 2 == 0 and layer < first)
    return replace(
        base,
        ffns=qwen3_moe.by_layer(a, base.n_layers, ffn, llama.gated(a)),
        windows=windows.of_words(a, kinds, window if slides else 0),
        attention_bias=a.flag("qkv_bias", True),
        attention_out_bias=False,
    )


def routed(a: Attributes, n: int, top: int, width: int, *, shared: int, normalize: bool) -> Experts:
    """The experts, and the one that reads every token; numbers are for files that do not say."""
    return Experts(
        expert=llama.gated(a),
        n_experts=experts.number(a, n),
        top_k=a.size("num_experts_per_tok", top),
        d_expert=a.size("moe_intermediate_size", width),
        normalize=a.flag("norm_topk_prob", normalize),
        d_shared=a.size("shared_expert_intermediate_size", shared),
        shared_gate=True,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Qwen3-MoE's table without norms of queries and keys, and the shared expert with its gate."""
    theirs, ours = "[model.]layers.{layer}.mlp.shared_expert", "decoder.blocks.{layer}.ffn.shared"
    return [
        *(row for row in qwen3_moe.renames(config) if not any("qk_norm" in place for place in row.ours)),
        *experts.shared(theirs),
        rename(f"{theirs}_gate.weight", f"{ours}_gate.weight"),
    ]
