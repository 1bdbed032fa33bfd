"""BART (Lewis et al. 2020): the encoder–decoder of Vaswani et al. 2017 with learned positions and GELU; and mBART (Liu
et al. 2020), with its norms before the sub-layers, and one more at the end of each stack.

The traps: the tables of positions begin with two rows that no position reads; the embedding is normalized, in mBART
too, so that its stream is normalized at both ends; the head's bias stands apart from the head; the last norm of a block
is called ``final_layer_norm``.
"""

from dataclasses import replace

from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, names
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import Dense, LanguageHead, LayerNorm, Learned, ModelConfig, NormAt, Position

SIZES = {
    "n_vocab": ("vocab_size", 50265),
    "n_context": ("max_position_embeddings", 1024),
    "n_layers": ("decoder_layers", 12),
    "n_encoder_layers": ("encoder_layers", 12),
    "d_model": ("d_model", 1024),
    "n_heads": ("encoder_attention_heads", 16),
    "d_ffn": ("encoder_ffn_dim", 4096),
}
TYPES = ("bart", "mbart")
NAMES = {**names(SIZES), "start_id": "decoder_start_token_id"}

BEFORE_THE_FIRST = 2
"""Rows of the tables of positions in front of that of position 0."""


def config(a: Attributes) -> ModelConfig:
    a.one_value("normalize_embedding", True)
    for name in ("static_position_embeddings", "add_bias_logits"):
        a.one_value(name, False)
    a.one_value("extra_pos_embeddings", BEFORE_THE_FIRST)
    a.no_effect(["force_bos_token_to_be_generated"])
    start_id = a.size("decoder_start_token_id", a.size("eos_token_id", 2, 0), 0)
    is_mbart = a.plain["model_type"] == "mbart"
    found = replace(read(a, "pre" if is_mbart else "post", Learned()), embedding_norm=True, start_id=start_id)
    # Saved without a head, as bart-base is: its bias, which training leaves at 0, is not there.
    return replace(found, head=LanguageHead()) if not is_mbart and "shared.weight" in a.tensors else found


def read(a: Attributes, norm_at: NormAt, position: Position, **absent: int) -> ModelConfig:
    """What these and Marian's models have in common; ``absent`` holds sizes where a file names none, unlike BART's."""
    sizes = a.sizes(SIZES, absent)
    a.one_value("decoder_attention_heads", sizes["n_heads"])
    a.one_value("decoder_ffn_dim", sizes["d_ffn"])
    a.one_value("normalize_before", norm_at == "pre")
    a.one_value("add_final_layer_norm", norm_at == "pre")
    for name in ("is_encoder_decoder", "tie_word_embeddings"):
        a.one_value(name, True)
    a.no_effect(["num_hidden_layers"])
    return ModelConfig(
        **sizes,
        kind="encoder_decoder",
        norm=LayerNorm(),
        norm_at=norm_at,
        position=position,
        ffn=Dense(activation=a.choice("activation_function", ACTIVATIONS, "gelu")),
        head=LanguageHead(bias=True),
        scale_embedding=a.flag("scale_embedding", False),
    )


def renames(config: ModelConfig) -> list[Rename]:
    """The prefix ``model.`` is absent where there is no head."""
    rows = shared("[model.]")
    for side in config.sides:
        table = f"{side}.position.table.weight"
        rows += [
            rename(f"[model.]{side}.embed_positions.weight", table, skip=BEFORE_THE_FIRST),
            rename(f"[model.]{side}.layernorm_embedding.*", f"{side}.embed_norm.*"),
            rename(f"[model.]{side}.layer_norm.*", f"{side}.final_norm.*"),
        ]
    return rows


def shared(prefix: str) -> list[Rename]:
    """The rows of both stacks that Marian's models have too; the head's bias stands apart from the head."""
    rows = [
        rename(f"{prefix}shared.weight", "embedding.weight"),
        rename("lm_head.weight", "embedding.weight"),
        rename("final_logits_bias", "head.unembedding.bias", how="row"),
    ]
    for side in ("encoder", "decoder"):
        rows.append(rename(f"{prefix}{side}.embed_tokens.weight", "embedding.weight"))
        rows += block(f"{prefix}{side}.layers.{{layer}}.", f"{side}.blocks.{{layer}}.")
    theirs, ours = f"{prefix}decoder.layers.{{layer}}.", "decoder.blocks.{layer}."
    return [
        *rows,
        *(rename(f"{theirs}encoder_attn.{part}_proj.*", f"{ours}cross.{part}.*") for part in "qkv"),
        rename(f"{theirs}encoder_attn.out_proj.*", f"{ours}cross.o.*"),
        rename(f"{theirs}encoder_attn_layer_norm.*", f"{ours}cross_norm.*"),
    ]


def block(theirs: str, ours: str) -> list[Rename]:
    """Self-attention and feed-forward, as OPT has them too; the last norm is called final."""
    return [
        *(rename(f"{theirs}self_attn.{part}_proj.*", f"{ours}attn.{part}.*") for part in "qkv"),
        rename(f"{theirs}self_attn.out_proj.*", f"{ours}attn.o.*"),
        rename(f"{theirs}self_attn_layer_norm.*", f"{ours}attn_norm.*"),
        rename(f"{theirs}fc1.*", f"{ours}ffn.up.*"),
        rename(f"{theirs}fc2.*", f"{ours}ffn.down.*"),
        rename(f"{theirs}final_layer_norm.*", f"{ours}ffn_norm.*"),
    ]
