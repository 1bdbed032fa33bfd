"""What a visitor chooses on this page. A text of their own stays in the session: no address could hold it."""

from __future__ import annotations

import re
from typing import Any

from viz_model.app.choices import Choice, number, one_of, switch, whole
from viz_model.topics.training_lab.numbers.ignored import MOST_TARGETS
from viz_model.training import lab, tuning

_PLAIN = lab.Settings()
_MOST_WRITTEN = 999_999.0


def _range(name: str) -> tuple[int, int]:
    low, high = lab.RANGES[name]
    return int(low), int(high)


def _rate(text: str) -> float:
    # What no training can be done with is refused by the page, which names the limits.
    if not re.fullmatch(r"-?[0-9]{1,6}(\.[0-9]{1,6})?", text, re.ASCII):
        raise ValueError(text)
    return float(text)


def bounded(rate: float) -> float:
    """A rate that an address can hold."""
    return min(max(rate, -_MOST_WRITTEN), _MOST_WRITTEN)


NORM_AT = one_of("norm_at", lab.CHOICES["norm_at"], _PLAIN.norm_at)
POSITION = one_of("position", tuple(lab.POSITIONS), _PLAIN.position)
N_LAYERS = whole("n_layers", _PLAIN.n_layers, *_range("n_layers"))
D_MODEL: Choice[int] = one_of("d_model", lab.CHOICES["d_model"], _PLAIN.d_model)
N_HEADS: Choice[int] = one_of("n_heads", lab.CHOICES["n_heads"], _PLAIN.n_heads)
PEAK_RATE = Choice("peak_rate", _PLAIN.peak_rate, _rate, lambda rate: f"{rate:.6f}".rstrip("0").rstrip("."))
WARMUP = switch("warmup", _PLAIN.warmup)
STEPS = whole("steps", _PLAIN.steps, *_range("steps"))
TIE_EMBEDDINGS = switch("tie_embeddings", _PLAIN.tie_embeddings)
DROPOUT = number("dropout", _PLAIN.dropout, *lab.RANGES["dropout"])
LABEL_SMOOTHING = number("label_smoothing", _PLAIN.label_smoothing, *lab.RANGES["label_smoothing"])
SOURCE = one_of("source", lab.CHOICES["source"], _PLAIN.source)
SETTINGS: tuple[Choice[Any], ...] = (
    *(NORM_AT, POSITION, N_LAYERS, D_MODEL, N_HEADS),
    *(PEAK_RATE, WARMUP, STEPS, TIE_EMBEDDINGS),
    *(DROPOUT, LABEL_SMOOTHING, SOURCE),
)
"""Of a new model, named as the fields of :class:`viz_model.training.lab.Settings`."""

COLUMN = whole("column", 0, 0, max(lab.CHOICES["d_model"]) - 1)
"""Of the watched row, the weight whose last step is worked out."""
TUNE_STEPS = whole("tune_steps", 80, *tuning.STEPS)
IGNORED = whole("ignored", 4, 0, MOST_TARGETS - 1)
"""How many of the first targets take no part in the loss."""

ALL = (*SETTINGS, COLUMN, TUNE_STEPS, IGNORED)
