"""Under the toggle of the norm: both models side by side, what differs in them, or which models have such a pair."""

from typing import Any

import numpy as np
import streamlit as st

import viz_model as vm
from viz_model.app import runs, state
from viz_model.app.page import Page
from viz_model.app.view import ViewState
from viz_model.drawing.digits import percent
from viz_model.measures.stream import sum_lengths
from viz_model.texts import Texts
from viz_model.texts.markdown import literal

_FORMER = "twin.former"
"""Of the session: the model that was left for the pair."""


def beside(lm: vm.LanguageModel, view: ViewState, t: Texts) -> None:
    """Whether the twin's pictures stand beside those of the model."""
    if lm.twin not in runs.names():
        return
    key = "sidebar.beside"
    state.follow(key, view.twin)

    def changed() -> None:
        state.update(twin=st.session_state[key], also=None)

    st.toggle(t("common.twin_beside", twin=runs.label(lm.twin or "")), key=key, on_change=changed)


def paired(lm: vm.LanguageModel, view: ViewState, t: Texts) -> None:
    """Of a model without a twin, which pair has one, on a button; of the pair, the way back to that model."""
    if view.edits:  # their list stands in the sidebar's room
        return
    former = st.session_state.get(_FORMER)
    if lm.twin in runs.names():
        if former in runs.names() and former != view.model:
            _go(t("common.twin_back", model=runs.label(former)), former, None)
        return
    pair = next((name for name in runs.names() if runs.model(name).twin in runs.names()), None)
    if pair is not None:
        twin = runs.model(pair).twin or ""
        _go(t("common.twin_open", model=runs.label(pair), twin=runs.label(twin)), pair, view.model)


def _go(label: str, model: str, former: str | None) -> None:
    def go() -> None:
        st.session_state[_FORMER] = former
        state.update(model=model, token=None)

    st.button(label, key="sidebar.twin", icon=":material/compare_arrows:", on_click=go, width="stretch")


def changed(page: Page) -> str:
    """What the twin makes of this sentence, and what is the same in both; "" where there is nothing to say."""
    twin = page.lm.twin
    if twin is None or twin not in runs.names() or not page.lm.config.has_logits or page.view.edits:
        return ""
    key, side = page.run_key.plain, page.trace.stack.side
    own, other = (runs.trace(key._replace(model=name)).at(side) for name in (key.model, twin))
    known = facts(own, other, own.n_layers - 1, 0, len(own) - 1)
    return page.t("common.twin_changed", **known, twin=literal(runs.label(twin)))


def facts(own: vm.Trace, other: vm.Trace, layer: int, head: int, token: int) -> dict[str, Any]:
    """First choices after a token, lengths of its stream, and the share of a head's weights that is elsewhere."""
    given: dict[str, Any] = {"layer": layer, "head": head, "token": literal(own.tokens[token].label)}
    for name, run in (("own", own), ("other", other)):
        best, chance = run.next_tokens(token, 1)[0]
        given |= {f"guess_{name}": literal(best.label), f"chance_{name}": percent(chance)}
        given[f"length_{name}"] = f"{sum_lengths(run, layer, 'ffn')[token]:.1f}"
    rows = [run.row(f"blocks.{layer}.attn.pattern", token, head).numpy() for run in (own, other)]
    given["moved"] = percent(float(np.abs(rows[0] - rows[1]).sum() / 2))
    return given
