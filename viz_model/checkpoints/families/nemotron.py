"""Nemotron-4 and Minitron (NVIDIA 2024), and Arcee's AFM (2025): Llama's block, whose feed-forward layer has no gate
and squares its ReLU.

The traps: Nemotron's LayerNorm has a shift, and what is stored of its gain is how far it is from 1; a half of each of
its heads is turned. AFM has Llama's norms and turns whole heads.
"""

from functools import partial

from viz_model.checkpoints.families import gemma, llama, rope
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import Dense, LayerNorm, ModelConfig

TYPES = ("arcee", "nemotron")
NAMES = {**llama.NAMES, "norm": "norm_eps"}


def config(a: Attributes) -> ModelConfig:
    is_nemotron = a.plain["model_type"] == "nemotron"
    ffn = Dense(activation=a.choice("hidden_act", ACTIVATIONS, "relu2"), bias=a.flag("mlp_bias", False))
    has_bias = a.flag("attention_bias", False)
    if not is_nemotron:
        return llama.read(a, ffn=ffn, eps=1e-5, n_context=4096, d_model=2560, d_ffn=18432, attention_bias=has_bias)
    return llama.read(
        a, turned=partial(rope.read, share=0.5), ffn=ffn, n_vocab=256_000, n_context=4096, d_model=6144, n_heads=48,
        d_ffn=24576, attention_bias=has_bias, norm=LayerNorm(eps=a.number("norm_eps", 1e-5)),
    )  # fmt: skip


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, with gains stored from 1 where the norm has a shift."""
    rows = llama.renames(config)
    if not isinstance(config.norm, LayerNorm):
        return rows
    others, norms = llama.without(config, "norm"), [row for row in rows if "norm" in row.theirs]
    gains, shifts = (
        [rename(row.theirs.replace("*", end), row.ours[0].replace("*", end)) for row in norms]
        for end in ("weight", "bias")
    )
    return [*others, *gemma.from_one(gains), *shifts]
