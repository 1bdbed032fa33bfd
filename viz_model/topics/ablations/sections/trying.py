"""What is pressed on this page, of texts and of pictures: an experiment, to try it, and to take it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from viz_model.app import elements, interventions, state
from viz_model.app.page import Page
from viz_model.runs.edits import Edit
from viz_model.topics.ablations.choices import EXPERIMENT


def choose(page: Page, names: Sequence[str], chosen: str, **more: Any) -> None:
    """The experiments by name."""
    more |= {"format_func": lambda name: page.words(f"experiment_{name}"), "required": True, "wrap": True}
    elements.control(page, EXPERIMENT, st.segmented_control, names, value=chosen, **more)


def buttons(page: Page, changes: Sequence[Edit], is_tried: bool, **press: Any) -> bool:
    """Whether it is to be tried now, in the place of ``changes``; ``press`` is Streamlit's: what a press does."""
    with st.container(horizontal=True, vertical_alignment="center"):
        is_pressed = st.button(
            page.words("again" if is_tried else "try"),
            key="ablations.try",
            type="secondary" if is_tried else "primary",
            icon=":material/science:",
            disabled=is_tried,
            **press,
        )
        st.button(
            page.words("undo"),
            key="ablations.undo",
            icon=":material/restart_alt:",
            type="tertiary",
            disabled=not changes,
            on_click=state.update,
            kwargs={"edits": ()},
        )
    if changes and not is_tried:
        listed = page.listed(interventions.describe(edit, page.t) for edit in changes)
        st.caption(page.words("replaces", changes=listed))
    return is_pressed
