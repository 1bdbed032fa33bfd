"""What the texts of a lesson may name: sizes of the model that is shown, under ``{{name}}``."""

from __future__ import annotations

import math
import re

from viz_model.config import ModelConfig
from viz_model.texts import fill

ANSWER = "answer"
"""The right answer, in what is said after it."""
NAMES = ("d_model", "n_heads", "d_head", "root", "d_ffn", "n_layers", "n_vocab")

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def facts(config: ModelConfig) -> dict[str, str]:
    """Of :data:`NAMES` each; ``root`` is that of the width of a head."""
    return {
        "d_model": f"{config.d_model}",
        "n_heads": f"{config.n_heads}",
        "d_head": f"{config.d_head}",
        "root": f"{math.sqrt(config.d_head):.2f}",
        "d_ffn": f"{config.d_ffn:,}",
        "n_layers": f"{config.depth(config.sides[-1])}",
        "n_vocab": f"{config.n_vocab:,}",
    }


def unknown(text: str, known: tuple[str, ...]) -> str | None:
    """The first placeholder of a text that is none of those known."""
    return next((name for name in _PLACEHOLDER.findall(text) if name not in known), None)


def said(text: str, config: ModelConfig, answer: str = "") -> str:
    """A text with its placeholders filled."""
    return fill(text, {**facts(config), ANSWER: answer})
