"""A page that can show nothing of the visitor's model: it opens on another and gives the former back, or says why
not.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st

from viz_model.app import runs, state
from viz_model.app.page import Page
from viz_model.app.view import ViewState
from viz_model.config import ModelConfig
from viz_model.texts import Texts
from viz_model.texts.markdown import literal

_LENT = "lent"
_OF_THE_MODEL = ("model", "target", "to", "as_text", "side", "layer", "head", "token", "edits", "cell")
"""What stands in a view for one model: the sentence and the language are the visitor's on any."""


class _Lent(NamedTuple):
    """What a page was opened on, and what to give back."""

    page: str
    model: str
    former: dict[str, Any]


def fitted(
    view: ViewState,
    page: str,
    needs: Callable[[ModelConfig], bool] | None,
    prefers: Callable[[ModelConfig], bool],
    read: Callable[[list[str]], ViewState],
) -> ViewState:
    """The view with a model that the page can show, or with the former one again.

    An address that names a model is shown as it asks, and so is a model that was chosen on the page.

    Args:
        prefers: which of them come first, where a visitor has typed nothing.
        read: reads the address again, for the models that it is given. Layers, heads and tokens of an address that
            names no model are those of the model that is shown, and so is what is said of one that is not there.
    """
    lent: _Lent | None = st.session_state.get(_LENT)
    named = "model" in st.query_params
    if lent is not None and (lent.page != page or lent.model != view.model):
        del st.session_state[_LENT]
        if lent.model == view.model and not (named and state.from_address()):
            return _put(view, lent.former)
    if needs is None or named or needs(runs.offered()[view.model]):
        return view
    fitting = {name: config for name, config in runs.offered().items() if needs(config)}
    # Whoever has a sentence of their own sees it read.
    is_own = view.text is not None
    others = sorted(fitting, key=lambda name: fitting[name].reads_pictures if is_own else not prefers(fitting[name]))
    if not others:
        return view
    is_read = bool(st.query_params) and state.from_address()
    blank = ViewState(model=others[0])
    former = ViewState(model=view.model) if is_read else view
    st.session_state[_LENT] = _Lent(page, others[0], {name: getattr(former, name) for name in _OF_THE_MODEL})
    if is_read:
        return read(others)
    return _put(view, {name: getattr(blank, name) for name in _OF_THE_MODEL})


def _put(view: ViewState, changes: dict[str, Any]) -> ViewState:
    found = replace(view, **changes)
    state.put(**changes)
    return found


def note(t: Texts) -> str:
    """That the model of this page is lent, and which one comes back; "" where it is the visitor's own choice."""
    lent: _Lent | None = st.session_state.get(_LENT)
    if lent is None:
        return ""
    names = {"model": literal(runs.label(lent.model)), "former": literal(runs.label(lent.former["model"]))}
    return t("common.lent", **names)


ONWARD = {"tokens": "embedding", "batch": "cost", "training_lab": "overview", "mistakes": "ablations"}
"""Where a page leads on to; others lead to the Overview."""


def draw(page: Page) -> None:
    """One sentence, the page that has the same for pictures, and a model that this page can show."""
    st.info(page.t(f"pictures.why_{page.name}"), icon=":material/image:")
    to = ONWARD.get(page.name, "overview")
    with st.container(horizontal=True, vertical_alignment="center"):
        if to in page.pages:
            st.page_link(page.pages[to], label=page.t(f"pictures.onward_{to}"), icon=":material/arrow_forward:")
        others = list(runs.readers())
        if page.name == "cross_attention":
            others = [name for name, config in runs.offered().items() if config.kind == "encoder_decoder"]
            others.sort(key=lambda name: not runs.offered()[name].transcribes)
        if others:
            label = page.t("pictures.other_model", model=runs.label(others[0]))
            change = {"model": others[0], "token": None, "layer": None, "head": None, "edits": (), "cell": None}
            st.button(label, key=f"pictures.{page.name}.other", on_click=state.update, kwargs=change)
