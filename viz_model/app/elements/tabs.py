"""Tabs and folds, of which only what is open is drawn; what is open is a choice of the page."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import streamlit as st

from viz_model.app import state
from viz_model.app.choices import TAB, Choice
from viz_model.app.page import Page

Draw = Callable[[], None]


def four_tabs(page: Page, formula: Draw, hand: Draw, code: Draw, numbers: Draw) -> None:
    """Formula, By hand, Code, Numbers: in a fragment, so that another tab draws itself and nothing else."""
    draw = {"formula": formula, "hand": hand, "code": code, "numbers": numbers}
    labels = {name: page.t(f"common.tab_{name}") for name in draw}
    key = f"{page.text_key}.{TAB.name}s"
    names = {label: name for name, label in labels.items()}

    def changed() -> None:
        if not state.is_late(key):
            state.put(**state.choose(page.name, (TAB, names[st.session_state[key]])))
            state.run_alone(key)

    def draw_open() -> None:
        state.follow(key, labels.get(page.chosen(TAB), next(iter(labels.values()))))
        places = st.tabs(list(names), key=key, on_change=changed)
        for place, name in zip(places, names.values(), strict=True):
            if place.open or not state.has_browser():
                with place, state.fragment(key):
                    draw[name]()

    st.fragment(draw_open, key=key)()


def fold(page: Page, choice: Choice[bool], draw: Draw) -> None:
    """A part of a section that is drawn when it is opened, labelled with the page's text of the choice's name."""
    _folded(page, choice, page.words(choice.name), draw, is_alone=True)


def door(page: Page, choice: Choice[bool], label: str, draw: Draw, *, is_alone: bool = False) -> None:
    """Sections that are drawn when they are opened, and without a browser in any case.

    Args:
        is_alone: whether what is chosen behind it shows nowhere else.
    """
    _folded(page, choice, label, draw, is_alone=is_alone, always=not state.has_browser())


def _folded(page: Page, choice: Choice[bool], label: str, draw: Draw, *, is_alone: bool, always: bool = False) -> None:
    key = f"{page.text_key}.{choice.name}"
    part = f"{key}.part"

    def changed() -> None:
        # Also what may have been said before Back was heard of: refused, what a visitor has just opened would stay open
        # in the browser, which is only told what differs from what it was told before.
        state.put(**state.choose(page.name, (choice, bool(st.session_state[key]))))
        state.run_alone(part)

    def draw_open() -> None:
        # Written each time: with a label in another language it is another widget, which begins closed.
        st.session_state[key] = page.chosen(choice)
        place = st.expander(label, key=key, on_change=changed)
        if always or page.chosen(choice):
            with place, state.fragment(part) if is_alone else contextlib.nullcontext():
                draw()

    st.fragment(draw_open, key=part)()
