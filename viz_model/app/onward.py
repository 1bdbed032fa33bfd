"""Where a page stands on a token's way through the model, and the ways on from it."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import streamlit as st

from viz_model.app import state
from viz_model.app.page import Page
from viz_model.config import ModelConfig, Side
from viz_model.island.page import Trials
from viz_model.model import sites


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


def stations(config: ModelConfig, side: Side) -> frozenset[str]:
    """The pages of a stack's stations."""
    names = {site.name for _, site in sites.in_order(config)}
    position = ("position",) if names & {"embed.position", "attn.q_rotated", "attn.bias"} else ()
    source = ("cross_attention",) if len(config.sides) > 1 and side == "decoder" else ()
    tokens = () if config.reads_pictures else ("tokens",)
    return frozenset((*tokens, "embedding", *position, "attention", *source, "block", "next_token"))


def mark(page: Page, layer: object = None) -> str:
    """Where a page stands in the order of reading: of how many stations, and in which block; of others nothing.

    ``layer`` stands for the selected one where it is given.
    """
    config, side = page.lm.config, page.trace.stack.side
    passed = stations(config, side)
    if page.name not in passed:
        return ""
    order = [name for name in page.pages if name in passed]
    place = page.t("common.station", n=order.index(page.name) + 1, all=len(order))
    if page.name in ("attention", "cross_attention", "block"):
        last, now = config.depth(side) - 1, page.view.layer if layer is None else layer
        place += page.t("common.station_block", layer=now, last=last)
    return place
