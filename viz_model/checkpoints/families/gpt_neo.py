"""GPT-Neo (Black et al. 2021): GPT-2's block, whose layers see all of the past or a window of it, by turns.

The traps: scores are not divided by √K; queries, keys and values have no bias, what attention writes has one; its
matrices are stored [out, in], unlike GPT-2's.
"""

from dataclasses import replace

from viz_model.checkpoints.families import gpt2
from viz_model.checkpoints.families.attributes import Attributes, names, usual
from viz_model.checkpoints.renames import Rename, ignored, rename
from viz_model.checkpoints.weights import ModelError
from viz_model.config import LIMITS, ModelConfig

SIZES = {
    **usual(n_vocab=50257, n_context=2048, d_model=2048),
    "n_layers": ("num_layers", 24),
    "n_heads": ("num_heads", 16),
}
NAMES = {**names(SIZES), "d_ffn": "intermediate_size", "norm": "layer_norm_epsilon", "windows": "attention_types"}


def config(a: Attributes) -> ModelConfig:
    sizes = {"global": 0, "local": a.size("window_size", 256)}
    windows = tuple(sizes[kind] for kind in _kinds(a))
    bias = {"attention_bias": False, "attention_out_bias": True}
    return gpt2.read(a, SIZES, NAMES["d_ffn"], windows=windows, scale_scores=False, **bias)


def renames(config: ModelConfig) -> list[Rename]:
    """GPT-2's table but for attention. The mask is stored beside the weights of some files."""
    theirs, ours = "[transformer.]h.{layer}.attn.attention.", "decoder.blocks.{layer}.attn."
    mask = "the mask, which follows from the config"
    return [
        *(replace(row, how="same") for row in gpt2.renames(config) if ".attn." not in row.theirs),
        *(rename(f"{theirs}{part}_proj.weight", f"{ours}{part}.weight") for part in "qkv"),
        rename(f"{theirs}out_proj.*", f"{ours}o.*"),
        ignored(f"{theirs}bias", mask),
        ignored(f"{theirs}masked_bias", mask),
    ]


def _kinds(a: Attributes) -> list[str]:
    """A word for each layer: ``attention_types`` has rows ``[[words], times]``, ``attention_layers`` all of them."""
    rows, listed = a.items("attention_types") or [[["global", "local"], 12]], a.words("attention_layers")
    kinds: list[str] = []
    for row in rows:
        match row:
            case [[*words], int(times)] if set(words) <= {"global", "local"} and 0 < times <= LIMITS["n_layers"]:
                kinds += words * times
            case _:
                raise ModelError(f"{a.path}: attention_types: expected rows of [[global or local, …], times]")
    if listed is not None and listed != kinds:
        raise ModelError(f"{a.path}: attention_layers: expected what attention_types unfolds to")
    return kinds
