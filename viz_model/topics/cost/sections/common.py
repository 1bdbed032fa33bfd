"""What the sections of this page share."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from viz_model.app.page import Page
from viz_model.texts import markdown


def n_source(page: Page) -> int:
    """How many vectors cross-attention reads; 0 where there is none."""
    crosses = len(page.lm.config.sides) > 1 and page.trace.stack.side == "decoder"
    return len(page.trace.ids) if crosses else 0


def names(page: Page, *keys: str) -> dict[str, str]:
    """The page's labels of what is drawn."""
    return {key: page.words(key) for key in keys}


def table(headings: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> None:
    """A small table of our own words and numbers."""
    st.markdown(markdown.table(headings, ([name, *values] for name, values in rows)))
