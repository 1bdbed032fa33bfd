"""Prose of a page beside its pictures."""

from __future__ import annotations

from typing import Any, TypeVar

import streamlit as st

from viz_model.app.page import Page
from viz_model.claims import Verdict

V = TypeVar("V")


def split() -> tuple[Any, Any]:
    """Two thirds for a picture, one for what you see."""
    picture, see = st.columns([2, 1], gap="large")
    return picture, see


def see(page: Page, section: str = "see", /, **values: object) -> None:
    """What a picture shows, in this sentence's own tokens and numbers."""
    st.markdown(page.prose(section, **values))


def say(page: Page, verdict: Verdict[V], values: V, /, **filled: object) -> None:
    """What may be said of some values of this run; nothing where the verdict has no words for them."""
    if text := page.verdict(verdict, values, **filled):
        st.markdown(text)
