"""A model in a file: its config, vocabulary and weights, with which ``frontend/src/decoder.js`` runs it in the browser.

That module has the parts of the bundled decoders. A model with any other part is not put into a file.
"""

import re
from typing import Any

import numpy as np
import torch

from viz_model.checkpoints import int8
from viz_model.config import ModelConfig
from viz_model.drawing.scene import Arrays
from viz_model.model.stored import single
from viz_model.runs.language_model import LanguageModel
from viz_model.tokenizers.tokenizer import STORY_PATTERN, ByteLevel

MOST_NUMBERS = 6_000_000
"""Of a model that is put into a file: in half precision and as text they are some 2.3 bytes each."""

_SIZES = ("n_vocab", "n_context", "n_layers", "d_model", "n_heads", "d_ffn", "n_kv_heads", "d_head", "n_encoder_layers")
_CHOICES = (
    "norm",
    "position",
    "ffn",
    "ffns",
    "mixers",
    "attention_bias",
    "qk_norm",
    "tie_embeddings",
    "scale_embedding",
)
_PARTS = {
    **dict.fromkeys(("LayerNorm", "RMSNorm"), ("eps",)),
    **dict.fromkeys(("Sinusoidal", "Rope"), ("base",)),
    **dict.fromkeys(("Alibi", "NoPosition"), ()),
    **dict.fromkeys(("Dense", "Gated"), ("activation", "bias")),
    "Experts": ("expert", "n_experts", "top_k", "d_expert"),
    "Attending": (),
    "DeltaNet": ("n_keys", "n_values", "d_key", "d_value", "kernel"),
}
"""The choices that the module knows by their names, and which of their fields it reads."""


def runs(lm: LanguageModel) -> bool:
    """Whether the browser's module has all parts of a model, and the model a size for a file."""
    config, tokenizer = lm.config, lm.tokenizer
    known = {name: getattr(config, name) for name in (*_SIZES, *_CHOICES)}
    if config.reads_pictures or config.norm_at not in ("pre", "post"):
        return False
    if config != ModelConfig(**known, norm_at=config.norm_at):
        return False
    if not isinstance(tokenizer, ByteLevel) or tokenizer.encoding._pat_str != STORY_PATTERN or tokenizer.encode(""):
        return False
    size = sum(weight.numel() for weight in lm.model.parameters())
    return size <= MOST_NUMBERS and all(
        map(_is_known, (config.norm, config.position, config.ffn, *config.ffns, *config.mixers))
    )


def _is_known(part: Any) -> bool:
    """Whether a choice is one that is known, and has what it has by default but for the fields that are read."""
    name = type(part).__name__
    if name not in _PARTS or getattr(part, "activation", "relu") not in ("relu", "silu"):
        return False
    expert = getattr(part, "expert", None)
    is_alike = part == type(part)(**{field: getattr(part, field) for field in _PARTS[name]})
    return is_alike and (expert is None or (not expert.gated and _is_known(expert)))


def sent(lm: LanguageModel, arrays: Arrays) -> dict[str, Any]:
    """For the browser; the weights stand among ``arrays``."""
    tokenizer = lm.tokenizer
    tokens = [tokenizer.token(id) for id in range(lm.config.n_vocab)]
    return {
        "config": lm.config.to_dict(),
        "weights": {name: _packed(single(weight.detach()), arrays) for name, weight in lm.model.named_parameters()},
        # What the browser calls a blank differs from Unicode's White_Space; without it, "++" gives nothing back either.
        "pattern": re.sub(r"([+}])\+", r"\1", STORY_PATTERN)
        .replace(r"\s", r"\p{White_Space}")
        .replace(r"\S", r"\P{White_Space}"),
        "labels": [token.label.replace("\u00a0", " ") for token in tokens],
        "bytes": ["" if token.id == tokenizer.end_of_text else token.bytes.hex() for token in tokens],
        "end": tokenizer.end_of_text,
    }


def _packed(weight: torch.Tensor, arrays: Arrays) -> dict[str, int]:
    """In half precision, low and high bytes apart, which packs better; what has eight bits and scales keeps them."""
    eight = int8.packed({"": weight})
    if int8.SCALE in eight and torch.equal(eight[""] * eight[int8.SCALE].float(), weight):
        parts = {"low": eight[""].numpy().view(np.uint8).ravel(), "scale": eight[int8.SCALE].float().numpy().ravel()}
    else:
        halves = weight.half().numpy().ravel().view(np.uint8)
        parts = {"low": halves[::2], "high": halves[1::2]}
    return {name: arrays.add(part, False)["array"] for name, part in parts.items()}
