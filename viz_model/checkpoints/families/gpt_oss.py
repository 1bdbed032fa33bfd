"""gpt-oss (Agarwal et al. 2025): experts whose gates are kept within bounds, and in every softmax a logit of no key.

The traps: gate and up take turns along the columns of one matrix of all experts; 1 is added to what the gate lets
through; the ramp of YaRN does not begin and end at whole pairs; the router has biases, and its softmax is over the
chosen experts. The files of the first release hold weights of 4 bits, which are refused.
"""

from dataclasses import replace

from viz_model.checkpoints.families import experts, llama, rope, windows
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename, Stack, rename
from viz_model.config import Experts, Gated, ModelConfig, Rope, YarnScaling

NAMES = {**llama.NAMES, "windows": "layer_types", "ffn": "num_experts_per_tok"}
BASE = 150_000.0


def config(a: Attributes) -> ModelConfig:
    a.no_effect([*experts.NO_EFFECT, "experts_per_token", "initial_context_length"])
    a.one_value("hidden_act", "silu")
    a.one_value("swiglu_alpha", 1.702)
    expert = Gated(activation="gelu_quick", bias=True, limit=a.number("swiglu_limit", 7.0))
    ffn = Experts(
        expert=expert,
        n_experts=experts.number(a, 128),
        top_k=a.size("num_experts_per_tok", 4),
        softmax="chosen",
        router_bias=True,
    )
    base = llama.read(
        a, turned=_turned, ffn=ffn, eps=1e-5, n_vocab=201_088, n_context=131_072, n_layers=36, d_model=2880, n_heads=64,
        n_kv_heads=8, d_head=64, d_ffn=2880, attention_bias=a.flag("attention_bias", True), attention_sink=True,
    )  # fmt: skip
    kinds = windows.words(a, base.n_layers, windows.every_other)
    return replace(base, windows=windows.of_words(a, kinds, a.size("sliding_window", 128)))


def _turned(a: Attributes, n_context: int) -> Rope:
    if "rope_scaling" in a or "rope_parameters" in a:
        return rope.read(a, n_context, BASE)
    scaling = YarnScaling(factor=32.0, original_context=4096, truncate=False)
    return Rope(base=a.number("rope_theta", BASE), scaling=scaling)


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, the sinks, and the matrices of all experts."""
    ffn = config.ffn
    assert isinstance(ffn, Experts)
    n, neurons = ffn.n_experts, ffn.neurons(config.d_ffn)

    read = [(f"{llama.OURS}ffn.gate.{end}", f"{llama.OURS}ffn.up.{end}") for end in ("weight", "bias")]
    both = f"{llama.THEIRS}mlp.experts.gate_up_proj"
    return [
        *llama.without(config, ".mlp."),
        rename(f"{llama.THEIRS}self_attn.sinks", f"{llama.OURS}attn.sink"),
        rename(f"{llama.THEIRS}mlp.router.*", f"{llama.OURS}ffn.router.*"),
        rename(both, *read[0], how="transposed", groups=neurons, stack=Stack(n)),
        rename(f"{both}_bias", *read[1], groups=neurons, stack=Stack(n)),
        rename(
            f"{llama.THEIRS}mlp.experts.down_proj", f"{llama.OURS}ffn.down.weight", how="transposed", stack=Stack(n, 1)
        ),
        rename(f"{llama.THEIRS}mlp.experts.down_proj_bias", f"{llama.OURS}ffn.down_bias.weight", how="transposed"),
    ]
