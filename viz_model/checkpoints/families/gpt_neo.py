"""GPT-Neo (Black et al. 2021): GPT-2's block, whose layers see all of the past or a window of it, by turns.

The traps: scores are not divided by √K; queries, keys and values have no bias, what attention writes has one; its
matrices are stored [out, in], unlike GPT-2's.
"""

from __future__ import annotations

from viz_model.checkpoints.families import gpt2
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, names, usual
from viz_model.checkpoints.renames import Rename, ignored, rename, unembedding
from viz_model.checkpoints.weights import ModelError
from viz_model.config import LIMITS, Dense, LayerNorm, Learned, ModelConfig

SIZES = {
    **usual(n_vocab=50257, n_context=2048, d_model=2048),
    "n_layers": ("num_layers", 24),
    "n_heads": ("num_heads", 16),
}
NAMES = {**names(SIZES), "d_ffn": "intermediate_size", "norm": "layer_norm_epsilon", "windows": "attention_types"}


def config(a: Attributes) -> ModelConfig:
    a.no_effect(gpt2.SUMMARY)
    windows = {"global": 0, "local": a.size("window_size", 256)}
    sizes = a.sizes(SIZES)
    return ModelConfig(
        **sizes,
        d_ffn=a.size("intermediate_size", 4 * sizes["d_model"]),
        norm=LayerNorm(eps=a.number("layer_norm_epsilon", 1e-5)),
        position=Learned(),
        ffn=Dense(activation=a.choice("activation_function", ACTIVATIONS, "gelu_new")),
        windows=tuple(windows[kind] for kind in _kinds(a)),
        scale_scores=False,
        attention_bias=False,
        attention_out_bias=True,
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """The mask is stored beside the weights of some files."""
    theirs, ours = "[transformer.]h.{layer}.", "decoder.blocks.{layer}."
    mask = "the mask, which follows from the config"
    return [
        rename("[transformer.]wte.weight", "embedding.weight"),
        rename("[transformer.]wpe.weight", "decoder.position.table.weight"),
        rename(f"{theirs}ln_1.*", f"{ours}attn_norm.*"),
        *(rename(f"{theirs}attn.attention.{part}_proj.weight", f"{ours}attn.{part}.weight") for part in "qkv"),
        rename(f"{theirs}attn.attention.out_proj.*", f"{ours}attn.o.*"),
        rename(f"{theirs}ln_2.*", f"{ours}ffn_norm.*"),
        rename(f"{theirs}mlp.c_fc.*", f"{ours}ffn.up.*"),
        rename(f"{theirs}mlp.c_proj.*", f"{ours}ffn.down.*"),
        rename("[transformer.]ln_f.*", "decoder.final_norm.*"),
        unembedding("lm_head.weight", config),
        ignored(f"{theirs}attn.attention.bias", mask),
        ignored(f"{theirs}attn.attention.masked_bias", mask),
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
