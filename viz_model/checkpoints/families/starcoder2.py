"""StarCoder2 (Lozhkov et al. 2024): Llama's order with LayerNorm, biases everywhere, and no gate.

The traps: the ε is called ``norm_epsilon``; one word, ``use_bias``, is that of attention and feed-forward; a window is
that of every layer, and a file that says nothing of one has none.
"""

from dataclasses import replace

from viz_model.checkpoints.families import llama, windows
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import Dense, LayerNorm, ModelConfig

NAMES = {**llama.NAMES, "norm": "norm_epsilon", "windows": "sliding_window"}


def config(a: Attributes) -> ModelConfig:
    bias = a.flag("use_bias", True)
    ffn = Dense(activation=a.choice("hidden_act", ACTIVATIONS, "gelu_pytorch_tanh"), bias=bias)
    base = llama.read(
        a, ffn=ffn, tied=True, n_vocab=49152, n_context=4096, n_layers=30, d_model=3072, n_heads=24, n_kv_heads=2,
        d_ffn=12288, norm=LayerNorm(eps=a.number("norm_epsilon", 1e-5)), attention_bias=bias,
    )  # fmt: skip
    a.no_effect(["residual_dropout"])
    return replace(base, windows=windows.every(base.n_layers, a.size("sliding_window", 0, 0)))


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, and two matrices under GPT-2's names."""
    theirs, ours = "[model.]layers.{layer}.mlp.", "decoder.blocks.{layer}.ffn."
    return [
        *llama.without(config, ".mlp."),
        rename(f"{theirs}c_fc.*", f"{ours}up.*"),
        rename(f"{theirs}c_proj.*", f"{ours}down.*"),
    ]
