"""Controls that belong to one page and keep their values while a visitor looks at others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from viz_model.app import state
from viz_model.app.page import Page


def setting(stage: Page, widget: Callable[..., Any], name: str, *values: Any, **options: Any) -> Any:
    """A widget labelled with the page's ``name``, explained by its ``name_help``."""
    key = f"{stage.text_key}.{name}"
    return widget(
        stage.words(name), *values, key=key, help=stage.words(f"{name}_help"), persist_state="session", **options
    )


def in_view(
    stage: Page,
    widget: Callable[..., Any],
    field: str,
    value: Any,
    *values: Any,
    read: Callable[[Any], Any] = lambda value: value,
    **options: Any,
) -> Any:
    """A widget for a field of the view, which has ``value``: the address carries it, and every page keeps it.

    It is labelled with the page's ``field`` and explained by its ``field_help``; ``read`` makes of what the
    widget holds what the view does.
    """
    key = f"{stage.text_key}.{field}"
    state.follow(key, value)

    def changed() -> None:
        # Sliders hand back sums of their steps, such as 0.15000000000000002.
        found = st.session_state[key]
        if found is not None:
            state.update(**{field: read(round(found, 2) if isinstance(found, float) else found)})

    return widget(stage.words(field), *values, key=key, help=stage.words(f"{field}_help"), on_change=changed, **options)


def choose(stage: Page, name: str, options: Sequence[str], default: str, **more: Any) -> Any:
    """One of a few options, each labelled with the page's ``name_option``."""
    key = f"{stage.text_key}.{name}"
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
        **more,
    )
