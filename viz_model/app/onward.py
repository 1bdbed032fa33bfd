"""The ways on from a page: to what can be broken or mistaken there, and to the pages before and after it."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import streamlit as st

from viz_model.app import state
from viz_model.app.page import Page
from viz_model.island.page import Trials


def draw_trials(page: Page, trials: Trials) -> None:
    """A link to each trial, on the same sentence and model."""
    _links(page, "ablations", "experiment", trials.experiments, "experiment")
    _links(page, "mistakes", "bug", trials.bugs, "name")


def _links(page: Page, to: str, choice: str, names: tuple[str, ...], said: str) -> None:
    """Links to what another page shows where a choice is made there; ``said`` begins the names of their texts."""
    if not names or to not in page.pages:
        return
    st.markdown(f"**{page.t(f'common.page_{to}')}** · {page.t(f'common.trials_{to}')}")
    with st.container(horizontal=True):
        for name in names:
            # Of the language to translate into only the page knows whether its model has it.
            view, choices = replace(state.current(), to=page.view.to), MappingProxyType({f"{to}.{choice}": name})
            there = replace(view, page=to, cell=None, choices=choices).query()
            label = page.t(f"{to}.{said}_{name}")
            st.page_link(page.pages[to], label=label, query_params=there, icon=":material/arrow_forward:")


def neighbours(page: Page) -> None:
    """The pages before and after this one, in the order in which one reads them."""
    names = list(page.pages)
    at = names.index(page.name)
    with st.container(horizontal=True, horizontal_alignment="distribute", key="frame_onward"):
        if at > 0:
            before = page.t(f"common.page_{names[at - 1]}")
            st.page_link(page.pages[names[at - 1]], label=before, icon=":material/arrow_back:")
        if at + 1 < len(names):
            after = page.t("common.next", page=page.t(f"common.page_{names[at + 1]}"))
            st.page_link(page.pages[names[at + 1]], label=after, icon=":material/arrow_forward:", icon_position="right")
