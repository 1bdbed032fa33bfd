"""Prose of a page beside its pictures, and the question at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from viz_model.app.elements.guess import Guess, draw
from viz_model.app.elements.told import told
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


def question(
    page: Page,
    section: str = "question",
    answer: str = "answer",
    /,
    *,
    guess: Guess | Callable[[Page], Guess | None] | None = None,
    in_this_run: str | Callable[[Page], str] = "",
    **values: object,
) -> None:
    """What this run answers, to be guessed first; and something to find out by trying, with its answer folded away.

    Args:
        guess: None where this run answers nothing of the kind; then what there is to try stands in its place. One that
            is given as it is belongs to this selection alone; a function makes the one of any.
        in_this_run: names the section that says what it is in this run, where it can be computed; where that depends on
            the layer, head or token, a function makes the words of any.
    """

    def to_try() -> None:
        see(page, section, **values)
        with st.expander(page.t("common.answer")):
            see(page, answer, **values)
            if callable(in_this_run):
                told(page, lambda page: [in_this_run(page)], "in_this_run")
            elif in_this_run:
                see(page, in_this_run, **values)

    here = guess(page) if callable(guess) else guess
    if here is None:
        st.markdown(f"**{page.t('common.try_it')}**")
        to_try()
        return
    draw(page, here, guess if callable(guess) else None)
    with st.expander(page.t("common.try_more")):
        to_try()
