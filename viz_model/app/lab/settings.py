"""What is to be trained: three columns of controls, and the text to train on.

A text of the visitor's own stays in the session: no address could hold it.
"""

import re
from typing import Any

import streamlit as st

from viz_model.app import elements
from viz_model.app.choices import Choice, number, one_of, switch, whole
from viz_model.app.page import Page
from viz_model.topics.training_lab.ignored import MOST_TARGETS
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
MIXER = one_of("mixer", lab.MIXERS, _PLAIN.mixer)
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
    *(NORM_AT, POSITION, MIXER, N_LAYERS, D_MODEL, N_HEADS),
    *(PEAK_RATE, WARMUP, STEPS, TIE_EMBEDDINGS),
    *(DROPOUT, LABEL_SMOOTHING, SOURCE),
)
"""Of a new model, named as the fields of :class:`viz_model.training.lab.Settings`."""

COLUMN = whole("column", 0, 0, max(lab.CHOICES["d_model"]) - 1)
"""Of the watched row, the weight whose last step is worked out."""
TUNE_STEPS = whole("tune_steps", 80, *tuning.STEPS)
IGNORED = whole("ignored", 4, 0, MOST_TARGETS - 1)
"""How many of the first targets take no part in the loss."""
TEXT = "training_lab.text"
"""Of the session."""


def draw(page: Page) -> None:
    model, training, regular = st.columns(3, gap="large")
    few: dict[str, Any] = {"required": True, "wrap": True}
    with model:
        names = {"pre": "Pre-LN", "post": "Post-LN"}
        elements.control(page, NORM_AT, st.segmented_control, list(names), format_func=names.__getitem__, **few)
        elements.control(page, N_LAYERS, st.slider, *lab.RANGES["n_layers"])
        for choice in (D_MODEL, N_HEADS):
            options = list(lab.CHOICES[choice.name])
            elements.control(page, choice, st.segmented_control, options, format_func=str, **few)
        schemes = list(lab.POSITIONS)
        elements.control(page, POSITION, st.selectbox, schemes, format_func=lambda name: page.words(f"position_{name}"))
        mixers = list(lab.MIXERS)
        elements.control(page, MIXER, st.selectbox, mixers, format_func=lambda name: page.words(f"mixer_{name}"))
    with training:
        elements.control(page, PEAK_RATE, st.number_input, read=bounded, step=0.001, format="%.4f")
        elements.control(page, WARMUP, st.toggle)
        elements.control(page, STEPS, st.slider, *lab.RANGES["steps"], step=10)
        elements.control(page, TIE_EMBEDDINGS, st.toggle)
    with regular:
        for share in (DROPOUT, LABEL_SMOOTHING):
            elements.control(page, share, st.slider, *lab.RANGES[share.name], step=0.05)
        elements.choose(page, SOURCE, list(lab.CHOICES["source"]))
    if page.chosen(SOURCE) == "own":
        st.text_area(
            page.words("text"),
            key=TEXT,
            help=page.words("text_help"),
            height=160,
            max_chars=lab.MOST_CHARACTERS,
            persist_state="session",
        )


def chosen(page: Page) -> lab.Settings:
    """What the controls say."""
    own = page.chosen(SOURCE) == "own"
    said = {choice.name: page.chosen(choice) for choice in SETTINGS}
    return lab.Settings(**said, text=st.session_state.get(TEXT, "") if own else "")


def refused(page: Page, error: lab.LabError) -> None:
    """Why something cannot be trained."""
    elements.see(page, f"refused_{error.problem}", field=f"**{page.words(error.field)}**", allowed=error.allowed)
