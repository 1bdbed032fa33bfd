"""What is to be trained: three columns of controls, and the text to train on."""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.topics.training_lab import choices
from viz_model.training import lab

TEXT = "training_lab.text"


def section(page: Page) -> None:
    model, training, regular = st.columns(3, gap="large")
    few: dict[str, Any] = {"required": True, "wrap": True}
    with model:
        names = {"pre": "Pre-LN", "post": "Post-LN"}
        elements.control(page, choices.NORM_AT, st.segmented_control, list(names), format_func=names.__getitem__, **few)
        elements.control(page, choices.N_LAYERS, st.slider, *lab.RANGES["n_layers"])
        for choice in (choices.D_MODEL, choices.N_HEADS):
            options = list(lab.CHOICES[choice.name])
            elements.control(page, choice, st.segmented_control, options, format_func=str, **few)
        schemes = list(lab.POSITIONS)
        elements.control(
            page, choices.POSITION, st.selectbox, schemes, format_func=lambda name: page.words(f"position_{name}")
        )
    with training:
        elements.control(page, choices.PEAK_RATE, st.number_input, read=choices.bounded, step=0.001, format="%.4f")
        elements.control(page, choices.WARMUP, st.toggle)
        elements.control(page, choices.STEPS, st.slider, *lab.RANGES["steps"], step=10)
        elements.control(page, choices.TIE_EMBEDDINGS, st.toggle)
    with regular:
        for share in (choices.DROPOUT, choices.LABEL_SMOOTHING):
            elements.control(page, share, st.slider, *lab.RANGES[share.name], step=0.05)
        elements.choose(page, choices.SOURCE, list(lab.CHOICES["source"]))
    if page.chosen(choices.SOURCE) == "own":
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
    own = page.chosen(choices.SOURCE) == "own"
    said = {choice.name: page.chosen(choice) for choice in choices.SETTINGS}
    return lab.Settings(**said, text=st.session_state.get(TEXT, "") if own else "")
