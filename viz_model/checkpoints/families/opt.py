"""OPT (Zhang et al. 2022): GPT-2's block with ReLU and one matrix each for query, key and value.

The traps: the table of positions begins with two rows that no position reads; the norm before the feed-forward layer is
called ``final_layer_norm``, as is that of the whole decoder; the file of 350 million weights has its norms after each
addition, and a narrower embedding, with which it is refused.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import Dense, LanguageHead, LayerNorm, Learned, ModelConfig

NAMES = {
    "n_vocab": "vocab_size",
    "n_context": "max_position_embeddings",
    "n_layers": "num_hidden_layers",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "d_ffn": "ffn_dim",
}

BEFORE_THE_FIRST = 2
"""Rows of the table of positions in front of that of position 0."""


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    d_model, bias = a.size("hidden_size", 768), a.flag("enable_bias", True)
    a.one_value("word_embed_proj_dim", d_model)
    a.one_value("_remove_final_layer_norm", False)
    a.one_value("layer_norm_elementwise_affine", True)
    a.no_effect(["dropout", "attention_dropout", "activation_dropout", "layerdrop", "init_std"])
    return ModelConfig(
        n_vocab=a.size("vocab_size", 50272),
        n_context=a.size("max_position_embeddings", 2048),
        n_layers=a.size("num_hidden_layers", 12),
        d_model=d_model,
        n_heads=a.size("num_attention_heads", 12),
        d_ffn=a.size("ffn_dim", 3072),
        norm=LayerNorm(),
        norm_at="pre" if a.flag("do_layer_norm_before", True) else "post",
        position=Learned(),
        ffn=Dense(activation=a.choice("activation_function", ACTIVATIONS, "relu"), bias=bias),
        head=LanguageHead(),
        attention_bias=bias,
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Early files lack the outermost prefix."""
    theirs, ours = "[model.]decoder.layers.{layer}.", "decoder.blocks.{layer}."
    return [
        rename("[model.]decoder.embed_tokens.weight", "embedding.weight"),
        rename("[model.]decoder.embed_positions.weight", "decoder.position.table.weight", skip=BEFORE_THE_FIRST),
        *(rename(f"{theirs}self_attn.{part}_proj.*", f"{ours}attn.{part}.*") for part in "qkv"),
        rename(f"{theirs}self_attn.out_proj.*", f"{ours}attn.o.*"),
        rename(f"{theirs}self_attn_layer_norm.*", f"{ours}attn_norm.*"),
        rename(f"{theirs}fc1.*", f"{ours}ffn.up.*"),
        rename(f"{theirs}fc2.*", f"{ours}ffn.down.*"),
        rename(f"{theirs}final_layer_norm.*", f"{ours}ffn_norm.*"),
        rename("[model.]decoder.final_layer_norm.*", "decoder.final_norm.*"),
        rename("lm_head.weight", "embedding.weight" if config.tie_embeddings else "head.unembedding.weight"),
    ]
