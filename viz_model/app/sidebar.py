"""What one sets for every page: model, norm, stack, layer and head, edits, language; and the link to it all."""

from __future__ import annotations

from typing import Any, NamedTuple

import streamlit as st

import viz_model as vm
from viz_model.app import describe, frame, interventions, island, runs, share, state
from viz_model.app.view import ViewState
from viz_model.texts import LANGUAGES, Texts


class Slots(NamedTuple):
    """Containers for what is known only when the sentence has run: layer and head, and a question about a number.

    None where that is not shown.
    """

    place: Any
    ask: Any


def draw(view: ViewState, lm: vm.LanguageModel, t: Texts) -> Slots:
    """All but what stands in the slots."""
    _model(view, lm, t)
    norm_toggle(view, lm, t, "sidebar.norm_at")
    if len(lm.config.sides) > 1:
        sides = list(lm.config.sides)
        shown = view.stack(lm.config)
        _choice("side", t("common.side"), sides, shown, lambda side: t(f"common.side_{side}"), t("common.side_help"))
    place = st.container(key="sidebar_place")
    interventions.chips(view, t)
    language(view, t)
    if not frame.is_bare():
        share.door(view, t)
    return Slots(place, st.container())


def _model(view: ViewState, lm: vm.LanguageModel, t: Texts) -> None:
    key = "sidebar.model"
    state.follow(key, view.model)
    st.selectbox(
        t("common.model"),
        runs.names(),
        key=key,
        format_func=runs.labels().__getitem__,
        help=describe.kin(view.model, lm, t),
        on_change=state.on_change,
        args=(key, "model"),
    )
    st.caption(describe.model(view.model, lm, t))


_PLACES = {"pre": "Pre-LN", "post": "Post-LN", "branch": "x + norm(f(x))", "both": "x + norm(f(norm(x)))"}


def norm_toggle(view: ViewState, lm: vm.LanguageModel, t: Texts, key: str, hidden: bool = False) -> None:
    """Pre-LN | Post-LN: swaps the model for its trained twin; ``hidden`` leaves its label to screen readers."""
    state.follow(key, lm.config.norm_at)

    def changed() -> None:
        if lm.twin and st.session_state[key] != lm.config.norm_at and not state.is_late(key):
            # One thing changes: what was shown where nobody had chosen stays selected.
            now = state.current()
            held: dict[str, Any] = {axis: n for axis, n in island.usual().items() if getattr(now, axis) is None}
            state.update(model=lm.twin, **held)

    st.segmented_control(
        t("common.norm_at"),
        list(dict.fromkeys(("pre", "post", lm.config.norm_at))),
        key=key,
        format_func=_PLACES.__getitem__,
        help=t("common.norm_at_help") if lm.twin else t("common.no_twin"),
        disabled=lm.twin is None,
        required=True,
        label_visibility="collapsed" if hidden else "visible",
        width="stretch",
        on_change=changed,
    )


def language(view: ViewState, t: Texts) -> None:
    """The languages of the app."""
    _choice("lang", t("common.language"), list(LANGUAGES), view.lang, lambda lang: LANGUAGES[lang].name, hidden=True)


def _choice(
    field: str, label: str, options: list[Any], value: Any, show: Any, help: str | None = None, hidden: bool = False
) -> None:
    """One of a few values of a field of the view; ``hidden`` leaves its label to screen readers."""
    key = f"sidebar.{field}"
    state.follow(key, value)
    st.segmented_control(
        label,
        options,
        key=key,
        format_func=show,
        help=help,
        required=True,
        label_visibility="collapsed" if hidden else "visible",
        width="stretch",
        on_change=state.on_change,
        args=(key, field),
    )
