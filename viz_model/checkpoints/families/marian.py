"""Marian's translation models (Junczys-Dowmunt et al. 2018): the encoder–decoder of Vaswani et al. 2017, LayerNorm
after each addition, sine and cosine positions, one embedding for both languages and the head."""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.renames import Rename, ignored, rename
from viz_model.config import Dense, LanguageHead, LayerNorm, ModelConfig, Sinusoidal

NAMES = {
    "n_vocab": "vocab_size",
    "n_context": "max_position_embeddings",
    "n_layers": "decoder_layers",
    "n_encoder_layers": "encoder_layers",
    "n_heads": "encoder_attention_heads",
    "d_ffn": "encoder_ffn_dim",
    "start_id": "decoder_start_token_id",
}


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    n_vocab, encoder_layers = a.size("vocab_size", 58101), a.size("encoder_layers", 12)
    n_heads, d_ffn = a.size("encoder_attention_heads", 16), a.size("encoder_ffn_dim", 4096)
    a.one_value("decoder_vocab_size", n_vocab)
    a.one_value("decoder_attention_heads", n_heads)
    a.one_value("decoder_ffn_dim", d_ffn)
    for name in ("is_encoder_decoder", "share_encoder_decoder_embeddings", "tie_word_embeddings"):
        a.one_value(name, True)
    a.one_value("static_position_embeddings", True)
    for name in ("normalize_before", "normalize_embedding", "add_final_layer_norm"):
        a.one_value(name, False)
    a.no_effect(["dropout", "attention_dropout", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop"])
    a.no_effect(["init_std", "num_hidden_layers", "add_bias_logits", "extra_pos_embeddings"])
    return ModelConfig(
        kind="encoder_decoder",
        n_vocab=n_vocab,
        n_context=a.size("max_position_embeddings", 1024),
        n_layers=a.size("decoder_layers", 12),
        n_encoder_layers=encoder_layers,
        d_model=a.size("d_model", 1024),
        n_heads=n_heads,
        d_ffn=d_ffn,
        norm=LayerNorm(),
        norm_at="post",
        position=Sinusoidal(layout="halves"),
        ffn=Dense(activation=a.choice("activation_function", ACTIVATIONS, "gelu")),
        head=LanguageHead(bias=True),
        scale_embedding=a.flag("scale_embedding", False),
        start_id=a.size("decoder_start_token_id", a.size("pad_token_id", 58100, 0), 0),
    )


def renames(config: ModelConfig) -> list[Rename]:
    """The last norm of a block is called final, and the head's bias stands apart from the head."""
    waves = "the sine and cosine waves, which follow from the config"
    rows = [
        rename("model.shared.weight", "embedding.weight"),
        rename("lm_head.weight", "embedding.weight"),
        rename("final_logits_bias", "head.unembedding.bias", how="row"),
    ]
    for side in ("encoder", "decoder"):
        theirs, ours = f"model.{side}.layers.{{layer}}.", f"{side}.blocks.{{layer}}."
        rows += [
            rename(f"model.{side}.embed_tokens.weight", "embedding.weight"),
            *(rename(f"{theirs}self_attn.{part}_proj.*", f"{ours}attn.{part}.*") for part in "qkv"),
            rename(f"{theirs}self_attn.out_proj.*", f"{ours}attn.o.*"),
            rename(f"{theirs}self_attn_layer_norm.*", f"{ours}attn_norm.*"),
            rename(f"{theirs}fc1.*", f"{ours}ffn.up.*"),
            rename(f"{theirs}fc2.*", f"{ours}ffn.down.*"),
            rename(f"{theirs}final_layer_norm.*", f"{ours}ffn_norm.*"),
            ignored(f"model.{side}.embed_positions.weight", waves),
        ]
    theirs, ours = "model.decoder.layers.{layer}.", "decoder.blocks.{layer}."
    return [
        *rows,
        *(rename(f"{theirs}encoder_attn.{part}_proj.*", f"{ours}cross.{part}.*") for part in "qkv"),
        rename(f"{theirs}encoder_attn.out_proj.*", f"{ours}cross.o.*"),
        rename(f"{theirs}encoder_attn_layer_norm.*", f"{ours}cross_norm.*"),
    ]
