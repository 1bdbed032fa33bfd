"""Which key of the chosen token is worked out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.topics.position.choices import KEY


def shown(page: Page) -> int:
    """The chosen key, where the token may look at it; else the one that it reads most, itself aside."""
    return elements.on_offer(page, KEY, _visible(page), _nearest_other(page)) or 0


def choose(page: Page) -> None:
    """A slider over the keys that the token may look at, where there are several."""
    keys = _visible(page)
    if len(keys) > 1:
        labels = page.token_labels
        elements.control(
            page, KEY, st.select_slider, keys, value=shown(page), format_func=lambda at: f"{at}: {labels[at]}"
        )


def _visible(page: Page) -> Sequence[int]:
    """The positions that the chosen token may look at in the chosen layer."""
    length = len(page.trace)
    visible = page.trace.stack.visible(page.view.layer, length, length)[page.token]
    return [int(key) for key in visible.nonzero().flatten()]


def _nearest_other(page: Page) -> int:
    """The key that the chosen query reads most, itself aside; itself where it sees no other."""
    pattern = page.trace.head(page.at("attn.pattern"), page.view.head)[page.token].numpy()
    others = np.where(np.arange(len(pattern)) == page.token, -1.0, pattern)
    return int(others.argmax()) if others.max() > 0 else page.token
