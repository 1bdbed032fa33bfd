"""T5 (Raffel et al. 2020), T5 v1.1, mT5 (Xue et al. 2021) and UMT5 (Chung et al. 2023): encoder–decoder, RMSNorm before
each sub-layer, without biases.

Positions are a trained number for each distance and head, added to scores that are not divided
by √K. The first T5 ties its embeddings and scales the head; v1.1 does neither and gates its
feed-forward layer. The traps: mT5 never scales the head, though newer files of it say that its tables are tied; in
UMT5 every layer has numbers of its own for the distances.
"""

from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, names
from viz_model.checkpoints.renames import Rename, ignored, rename, unembedding
from viz_model.config import Dense, FeedForward, Gated, LanguageHead, ModelConfig, NoHead, RMSNorm, T5Bias

SIZES = {
    "n_vocab": ("vocab_size", 32128),
    "n_context": ("n_positions", 512),
    "d_model": ("d_model", 512),
    "n_heads": ("num_heads", 8),
    "d_head": ("d_kv", 64),
    "d_ffn": ("d_ff", 2048),
}
TYPES = ("mt5", "t5", "umt5")
NAMES = {
    **names(SIZES),
    "n_layers": "num_decoder_layers",
    "n_encoder_layers": "num_layers",
    "norm": "layer_norm_epsilon",
    "position": "relative_attention_num_buckets",
    "start_id": "decoder_start_token_id",
}

FEED_FORWARDS: dict[str, Dense | Gated] = {
    **{word: Dense(activation=activation, bias=False) for word, activation in ACTIVATIONS.items()},
    **{f"gated-{word}": Gated(activation=activation) for word, activation in ACTIVATIONS.items()},
    # What its authors call gelu is the approximation.
    "gated-gelu": Gated(activation="gelu_tanh"),
}


def config(a: Attributes) -> ModelConfig:
    is_mt5, is_umt5 = (a.plain["model_type"] == kind for kind in ("mt5", "umt5"))
    absent = {"n_vocab": 250_112, "n_heads": 6, "d_ffn": 1024} if is_mt5 or is_umt5 else {}
    layers = a.size("num_layers", 8 if absent else 6)
    a.no_effect(["scalable_attention"])
    decoder_layers = a.size("num_decoder_layers", layers)
    encoder_only = not a.flag("is_encoder_decoder", True) or a.words("architectures") == ["T5EncoderModel"]
    tied = a.flag("tie_word_embeddings", True)
    # Newer files say whether the head scales, and tie unless there is a second table.
    scaled = a.flag("scale_decoder_outputs", tied)
    if "scale_decoder_outputs" in a or absent:
        tied = "lm_head.weight" not in a.tensors
    return ModelConfig(
        **a.sizes(SIZES, absent),
        kind="encoder" if encoder_only else "encoder_decoder",
        n_layers=layers if encoder_only else decoder_layers,
        n_encoder_layers=layers,
        norm=RMSNorm(eps=a.number("layer_norm_epsilon", 1e-6)),
        position=T5Bias(
            buckets=a.size("relative_attention_num_buckets", 32),
            max_distance=a.size("relative_attention_max_distance", 128),
            each=is_umt5,
        ),
        ffn=_feed_forward(a, "gated-gelu" if absent else "relu"),
        head=NoHead() if encoder_only else LanguageHead(scale=scaled and not is_mt5),
        attention_bias=False,
        scale_scores=False,
        tie_embeddings=tied or encoder_only,
        scale_embedding=False,
        start_id=None if encoder_only else a.size("decoder_start_token_id", a.size("pad_token_id", 0, 0), 0),
    )


def _feed_forward(a: Attributes, default: str) -> FeedForward:
    """What ``feed_forward_proj`` says; newer files repeat its two halves, and where they say otherwise they count."""
    said = a.choice("feed_forward_proj", FEED_FORWARDS, default)
    is_gated = a.flag("is_gated_act", isinstance(said, Gated))
    activation = a.choice("dense_act_fn", ACTIVATIONS) if "dense_act_fn" in a else said.activation
    return Gated(activation=activation) if is_gated else Dense(activation=activation, bias=False)


def renames(config: ModelConfig) -> list[Rename]:
    """Sub-layers are numbered: in the encoder attention and feed-forward, in the decoder cross-attention between."""
    has_each = isinstance(config.position, T5Bias) and config.position.each
    which, table = (
        ("{layer}", "other_positions.{layer}.buckets.weight") if has_each else ("0", "position.buckets.weight")
    )
    rows = [
        rename("shared.weight", "embedding.weight"),
        unembedding("lm_head.weight", config),
        ignored(
            "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
            "early files hold it, though the cross-attention of T5 has no positions",
        ),
    ]
    for side in ("encoder", "decoder"):
        theirs, ours = f"{side}.block.{{layer}}.layer.", f"{side}.blocks.{{layer}}."
        ffn = f"{theirs}1." if side == "encoder" else f"{theirs}2."
        rows += [
            rename(f"{side}.embed_tokens.weight", "embedding.weight"),
            rename(f"{side}.block.{which}.layer.0.SelfAttention.relative_attention_bias.weight", f"{side}.{table}"),
            rename(f"{theirs}0.layer_norm.weight", f"{ours}attn_norm.weight"),
            *(rename(f"{theirs}0.SelfAttention.{part}.weight", f"{ours}attn.{part}.weight") for part in "qkvo"),
            rename(f"{ffn}layer_norm.weight", f"{ours}ffn_norm.weight"),
            rename(f"{ffn}DenseReluDense.wi.weight", f"{ours}ffn.up.weight"),
            rename(f"{ffn}DenseReluDense.wi_0.weight", f"{ours}ffn.gate.weight"),
            rename(f"{ffn}DenseReluDense.wi_1.weight", f"{ours}ffn.up.weight"),
            rename(f"{ffn}DenseReluDense.wo.weight", f"{ours}ffn.down.weight"),
            rename(f"{side}.final_layer_norm.weight", f"{side}.final_norm.weight"),
        ]
    theirs, ours = "decoder.block.{layer}.layer.1.", "decoder.blocks.{layer}."
    return [
        *rows,
        rename(f"{theirs}layer_norm.weight", f"{ours}cross_norm.weight"),
        *(rename(f"{theirs}EncDecAttention.{part}.weight", f"{ours}cross.{part}.weight") for part in "qkvo"),
    ]
