"""Qwen3-Next and the text model of Qwen3.5 (Yang et al. 2025): three gated DeltaNets to one attention, whose output
passes a gate.

The traps: query and gate of each head take turns in one matrix, and so do query, key, value and gate of each key head
of a DeltaNet in Qwen3-Next, where Qwen3.5 has four matrices; gains are stored from 1, but that of the norm behind a
DeltaNet; a quarter of each head is turned. What predicts several tokens at once, ``mtp``, is not read.
"""

from dataclasses import replace
from functools import partial

from viz_model.checkpoints.families import experts, gemma, llama, qwen2_moe, qwen3, qwen3_moe, rope, windows
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename, ignored, rename
from viz_model.config import DeltaNet, Experts, Mixer, ModelConfig

TYPES = ("qwen3_5_text", "qwen3_next")
NAMES = {**llama.NAMES, "mixers": "linear_num_value_heads", "ffn": "num_experts_per_tok"}
LINEAR = "linear_attention"


def config(a: Attributes) -> ModelConfig:
    is_next = a.plain["model_type"] == "qwen3_next"
    a.one_value("hidden_act", "silu")  # behind the convolutions of a DeltaNet too
    dense = llama.gated(a)
    turned = partial(rope.read, share=0.25)
    if is_next:
        a.no_effect(experts.NO_EFFECT)
        routed = qwen2_moe.routed(a, 512, 10, 512, shared=512, normalize=True)
        base = llama.read(
            a, turned=turned, ffn=routed, n_vocab=151936, n_context=32768, n_layers=48, d_model=2048, n_heads=16,
            n_kv_heads=2, d_head=256, d_ffn=5632,
        )  # fmt: skip
        ffns = qwen3_moe.by_layer(a, base.n_layers, routed, dense)
    else:
        base = llama.read(
            a, turned=turned, ffn=dense, n_vocab=248320, n_context=32768, n_heads=16, n_kv_heads=4, d_head=256,
            d_ffn=12288,
        )  # fmt: skip
        ffns = ()
    delta = DeltaNet(
        n_keys=a.size("linear_num_key_heads", 16),
        n_values=a.size("linear_num_value_heads", 32),
        d_key=a.size("linear_key_head_dim", 128),
        d_value=a.size("linear_value_head_dim", 128),
        kernel=a.size("linear_conv_kernel_dim", 4),
    )
    return replace(
        base,
        ffns=ffns,
        mixers=_mixers(a, base.n_layers, delta),
        attention_bias=a.flag("attention_bias", False),
        attention_gate=True,
        qk_norm=True,
    )


def _mixers(a: Attributes, n_layers: int, delta: DeltaNet) -> tuple[Mixer, ...]:
    every, kinds = a.size("full_attention_interval", 4), a.words("layer_types")
    if kinds is None:
        kinds = [LINEAR if (layer + 1) % every else windows.SEES_ALL for layer in range(n_layers)]
    return windows.mixers(a, kinds, LINEAR, delta)


def renames(config: ModelConfig) -> list[Rename]:
    """The attention and the feed-forward of Qwen3, the experts of Qwen2-MoE, and the DeltaNets of either."""
    theirs, ours = "[model.]layers.{layer}.", "decoder.blocks.{layer}.attn."
    mixed = [n for n, mixer in enumerate(config.mixers) if isinstance(mixer, DeltaNet)]
    is_routed = isinstance(config.ffn, Experts)
    rows = qwen2_moe.renames(config) if is_routed else llama.renames(config)
    norms = [row for row in qwen3.renames(config) if any("qk_norm" in place for place in row.ours)]
    rows = gemma.from_one([*(row for row in rows if "q_proj" not in row.theirs), *norms])
    q = rename(f"{theirs}self_attn.q_proj.*", f"{ours}q.*", f"{ours}gate.*", groups=config.n_heads)
    delta = [
        row for n in mixed for row in _delta(config, f"[model.]layers.{n}.linear_attn.", f"decoder.blocks.{n}.attn.")
    ]
    return [*delta, *rows, q, ignored("mtp.**", "it predicts several tokens")]


def _delta(config: ModelConfig, theirs: str, ours: str) -> list[Rename]:
    found = next(mixer for mixer in config.mixers if isinstance(mixer, DeltaNet))
    n, kernel = found.n_keys, found.kernel
    q, k, v, gate, beta, decay = (f"{ours}{name}.weight" for name in ("q", "k", "v", "gate", "beta", "decay"))
    fused = [
        rename(f"{theirs}in_proj_qkvz.weight", q, k, v, gate, groups=n),
        rename(f"{theirs}in_proj_ba.weight", beta, decay, groups=n),
    ]
    apart = [
        rename(f"{theirs}in_proj_qkv.weight", q, k, v),
        *(rename(f"{theirs}in_proj_{x}.weight", place) for x, place in (("z", gate), ("b", beta), ("a", decay))),
    ]
    return [
        *(fused if isinstance(config.ffn, Experts) else apart),
        rename(f"{theirs}conv1d.weight", *(f"{ours}{x}_conv" for x in "qkv"), joined=(1, kernel)),
        rename(f"{theirs}dt_bias", f"{ours}decay.bias"),
        rename(f"{theirs}A_log", f"{ours}rate"),
        rename(f"{theirs}norm.weight", f"{ours}norm.weight"),
        rename(f"{theirs}out_proj.weight", f"{ours}o.weight"),
    ]
