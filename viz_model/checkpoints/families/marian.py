"""Marian's translation models (Junczys-Dowmunt et al. 2018): the encoder–decoder of Vaswani et al. 2017, LayerNorm
after each addition, sine and cosine positions, one embedding for both languages and the head."""

from dataclasses import replace

from viz_model.checkpoints.families import bart
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename, ignored
from viz_model.config import ModelConfig, Sinusoidal

NAMES = bart.NAMES


def config(a: Attributes) -> ModelConfig:
    for name in ("share_encoder_decoder_embeddings", "static_position_embeddings"):
        a.one_value(name, True)
    a.one_value("normalize_embedding", False)
    a.no_effect(["add_bias_logits", "extra_pos_embeddings"])
    base = bart.read(a, "post", Sinusoidal(layout="halves"), n_vocab=58101)
    a.one_value("decoder_vocab_size", base.n_vocab)
    return replace(base, start_id=a.size("decoder_start_token_id", a.size("pad_token_id", 58100, 0), 0))


def renames(config: ModelConfig) -> list[Rename]:
    """BART's blocks, without a norm of the embedding or one at the end of a stack."""
    waves = "the sine and cosine waves, which follow from the config"
    return [*bart.shared("model."), *(ignored(f"model.{side}.embed_positions.weight", waves) for side in config.sides)]
