"""Controls that belong to one page and keep their values while a visitor looks at others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from viz_model.generation import Sampling
from viz_model.ui.stage import Stage

MAX_TOP_K = 100
_OFF = 0


def setting(stage: Stage, widget: Callable[..., Any], name: str, *values: Any, **options: Any) -> Any:
    """A widget labelled with the page's ``name``, explained by its ``name_help``."""
    key = f"{stage.name}.{name}"
    return widget(
        stage.words(name), *values, key=key, help=stage.words(f"{name}_help"), persist_state="session", **options
    )


def sampling(stage: Stage) -> Sampling:
    """Temperature, top-k and top-p, side by side."""
    left, middle, right = st.columns(3, gap="large")
    choices = [*range(1, MAX_TOP_K + 1), _OFF]

    def written(k: int) -> str:
        return stage.words("off") if k == _OFF else str(k)

    temperature = setting(stage, left.slider, "temperature", 0.0, 2.0, 1.0, 0.05)
    top_k = setting(stage, middle.select_slider, "top_k", choices, _OFF, format_func=written)
    top_p = setting(stage, right.slider, "top_p", 0.05, 1.0, 0.9, 0.05)
    return Sampling(temperature=temperature, top_k=top_k or None, top_p=top_p)


def choose(stage: Stage, name: str, options: Sequence[str], default: str) -> Any:
    """One of a few options, each labelled with the page's ``name_option``."""
    key = f"{stage.name}.{name}"
    if st.session_state.get(key) not in options:  # nothing was chosen yet, or this model has no such option
        st.session_state[key] = default
    return setting(
        stage,
        st.segmented_control,
        name,
        options,
        required=True,
        wrap=True,
        format_func=lambda option: stage.words(f"{name}_{option}"),
    )
