"""LFM2 (Liquid AI 2025): gated short convolutions in most layers, attention in the others, whose queries and keys are
normalized before they are turned; SwiGLU.

The traps: the width of the feed-forward is two thirds of what the file says, times a factor, rounded up to a multiple,
unless ``block_auto_adjust_ff_dim`` is false; its three matrices have numbers, of which w1 is the gate and w2 leads
back; ``embedding_norm`` is the norm behind the last block.
"""

from viz_model.checkpoints.families import llama, rope, windows
from viz_model.checkpoints.families.attributes import Attributes, names, usual
from viz_model.checkpoints.renames import Rename, rename, unembedding
from viz_model.config import Gated, Mixer, ModelConfig, RMSNorm, ShortConv

SIZES = {**llama.SIZES, **usual(n_vocab=65536, n_context=128_000, d_model=2560, n_kv_heads=8)}
WIDTH = "block_ff_dim"
"""What older files call the width of the feed-forward; where both stand, Transformers takes this one."""
NAMES = {
    **names(SIZES), "d_ffn": "intermediate_size", "norm": "norm_eps", "position": "rope_theta", "mixers": "layer_types"
}  # fmt: skip
CONV = "conv"


def config(a: Attributes) -> ModelConfig:
    a.no_effect(["block_mlp_init_scale", "block_norm_eps", "block_out_init_scale", "block_use_swiglu",
                 "block_use_xavier_init", "block_dim", "conv_dim", "conv_dim_out", "conv_use_xavier_init",
                 "num_heads", "use_pos_enc", "theta"])  # fmt: skip
    sizes = a.sizes({**SIZES, "d_ffn": ("intermediate_size", 12288)})
    sizes["d_ffn"] = _width(a, a.size(WIDTH, sizes["d_ffn"]))
    convolution = ShortConv(kernel=a.size("conv_L_cache", 3), bias=a.flag("conv_bias", False))
    return ModelConfig(
        **sizes,
        norm=RMSNorm(eps=a.number("norm_eps", 1e-5)),
        position=rope.read(a, sizes["n_context"], base=1_000_000.0),
        ffn=Gated(activation="silu", bias=False),
        mixers=_mixers(a, sizes["n_layers"], convolution),
        attention_bias=False,
        qk_norm=True,
        tie_embeddings=a.flag("tie_embedding", a.flag("tie_word_embeddings", True)),
        scale_embedding=False,
    )


def _width(a: Attributes, width: int) -> int:
    """Of the feed-forward: 2/3 of what a network without a gate would have, as in Llama's first code."""
    multiple, times = a.size("block_multiple_of", 256), a.number("block_ffn_dim_multiplier", 1.0)
    if not a.flag("block_auto_adjust_ff_dim", True):
        return width
    width = int(2 * width / 3)
    return width if a.is_null("block_ffn_dim_multiplier") else multiple * -(-int(times * width) // multiple)


def _mixers(a: Attributes, n_layers: int, convolution: ShortConv) -> tuple[Mixer, ...]:
    kinds, attending = a.words("layer_types"), a.items("full_attn_idxs")
    if kinds is None:
        kinds = [windows.SEES_ALL if attending is None or n in attending else CONV for n in range(n_layers)]
    return windows.mixers(a, kinds, CONV, convolution)


def renames(config: ModelConfig) -> list[Rename]:
    """Layers that convolve have their matrices under ``conv``, those that attend under ``self_attn``."""
    held = [n for n, mixer in enumerate(config.mixers) if isinstance(mixer, ShortConv)]
    attn = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "out_proj": "o"}
    attn |= {f"{letter}_layernorm": f"qk_norm.{letter}" for letter in "qk"}
    return [
        *(row for n in held for row in _convolution(config, n)),
        rename("[model.]embed_tokens.weight", "embedding.weight"),
        rename(f"{llama.THEIRS}operator_norm.weight", f"{llama.OURS}attn_norm.weight"),
        rename(f"{llama.THEIRS}ffn_norm.weight", f"{llama.OURS}ffn_norm.weight"),
        *(
            rename(f"{llama.THEIRS}self_attn.{name}.weight", f"{llama.OURS}attn.{own}.weight")
            for name, own in attn.items()
        ),
        *(
            rename(f"{llama.THEIRS}feed_forward.{name}.weight", f"{llama.OURS}ffn.{own}.weight")
            for name, own in (("w1", "gate"), ("w2", "down"), ("w3", "up"))
        ),
        rename("[model.]embedding_norm.weight", "decoder.final_norm.weight"),
        unembedding("lm_head.weight", config),
    ]


def _convolution(config: ModelConfig, layer: int) -> list[Rename]:
    """B, C and x of their code, one below the other in one matrix, are ``enter``, ``leave`` and ``carry``."""
    theirs, ours, mixer = f"[model.]layers.{layer}.conv.", f"decoder.blocks.{layer}.attn.", config.mixers[layer]
    assert isinstance(mixer, ShortConv)
    return [
        rename(f"{theirs}in_proj.*", *(f"{ours}{name}.*" for name in ("enter", "leave", "carry"))),
        rename(f"{theirs}conv.weight", f"{ours}kernel", joined=(1, mixer.kernel)),
        rename(f"{theirs}conv.bias", f"{ours}kernel_bias"),
        rename(f"{theirs}out_proj.*", f"{ours}o.*"),
    ]
