"""GPT-2 (Radford et al. 2019): a causal decoder, LayerNorm before each sub-layer, learned positions."""

from typing import Any

from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, Gguf, Table, names
from viz_model.checkpoints.renames import Rename, ignored, rename, unembedding
from viz_model.config import Dense, LayerNorm, Learned, ModelConfig

SIZES = {
    "n_vocab": ("vocab_size", 50257),
    "n_context": ("n_positions", 1024),
    "n_layers": ("n_layer", 12),
    "d_model": ("n_embd", 768),
    "n_heads": ("n_head", 12),
}
NAMES = {**names(SIZES), "d_ffn": "n_inner", "norm": "layer_norm_epsilon"}
GGUF = Gguf("gpt2")
SUMMARY = [f"summary_{name}" for name in ("type", "use_proj", "activation", "proj_to_labels", "first_dropout")]
"""Of a head for one task, which is not read here."""


def config(a: Attributes) -> ModelConfig:
    a.one_value("scale_attn_by_inverse_layer_idx", False)
    # Reordering protects half precision from overflow; the numbers it computes are the same.
    a.no_effect(["reorder_and_upcast_attn", "n_ctx"])
    return read(a, SIZES, NAMES["d_ffn"], scale_scores=a.flag("scale_attn_weights", True))


def read(a: Attributes, table: Table, d_ffn: str, **own: Any) -> ModelConfig:
    """What GPT-2 and GPT-Neo have in common, by the sizes of either and its word for that of the feed-forward."""
    a.no_effect(SUMMARY)
    sizes = a.sizes(table)
    return ModelConfig(
        **sizes,
        **own,
        d_ffn=a.size(d_ffn, 4 * sizes["d_model"]),
        norm=LayerNorm(eps=a.number("layer_norm_epsilon", 1e-5)),
        position=Learned(),
        ffn=Dense(activation=a.choice("activation_function", ACTIVATIONS, "gelu_new")),
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Its linear layers store [in, out], and query, key and value are one matrix."""
    theirs, ours = "[transformer.]h.{layer}.", "decoder.blocks.{layer}."
    qkv = [f"{ours}attn.{part}.*" for part in "qkv"]
    mask = "the causal mask, which follows from the config"
    return [
        rename("[transformer.]wte.weight", "embedding.weight"),
        rename("[transformer.]wpe.weight", "decoder.position.table.weight"),
        rename(f"{theirs}ln_1.*", f"{ours}attn_norm.*"),
        rename(f"{theirs}attn.c_attn.*", *qkv, how="transposed"),
        rename(f"{theirs}attn.c_proj.*", f"{ours}attn.o.*", how="transposed"),
        rename(f"{theirs}ln_2.*", f"{ours}ffn_norm.*"),
        rename(f"{theirs}mlp.c_fc.*", f"{ours}ffn.up.*", how="transposed"),
        rename(f"{theirs}mlp.c_proj.*", f"{ours}ffn.down.*", how="transposed"),
        rename("[transformer.]ln_f.*", "decoder.final_norm.*"),
        unembedding("lm_head.weight", config),
        ignored(f"{theirs}attn.bias", mask),
        ignored(f"{theirs}attn.masked_bias", mask),
    ]
