"""Parts of the attention page: the grid of all heads, and what becomes of a query and a key."""

from __future__ import annotations

import streamlit as st

from viz_model.config import Side
from viz_model.figures import attention
from viz_model.ui import components, controls, derivation, runs, state
from viz_model.ui.stage import Stage


@st.cache_resource(show_spinner=False, max_entries=64)
def of_layer(asked: runs.Asked, side: Side, layer: int) -> attention.GridView:
    """The grid of a layer, which stays as it is whatever head and token are looked at."""
    run = runs.trace(asked).at(side)
    with runs.alone():
        return attention.GridView.of(run, layer)


def span(stage: Stage) -> int:
    """How many positions the large map shows: of a long text, a choice."""
    length = len(stage.trace)
    if length <= attention.LARGEST:
        return length
    return length if controls.choose(stage, "span", ("near", "whole"), "near") == "whole" else attention.LARGEST


def grid(stage: Stage, view: attention.GridView) -> None:
    """All heads of a layer, those that share keys and values in one frame; a click picks a head."""
    words = stage.words
    header, patterns = attention.scene(view, stage.view.head)
    labels = {
        **{name: words(f"grid_{name}") for name in ("head", "hint", "masked")},
        "kinds": {kind: words(f"kind_{kind}") for kind in attention.KINDS},
        "groups": [words("grid_shared", heads=attention.span(g), group=n) for n, g in enumerate(view.groups)],
    }
    header |= {"words": labels, "site": stage.trace.full_name(view.site)}
    components.grid(header, patterns, key="attention.grid", on_pick=_pick, on_ask=derivation.picked)
    stage.source(view.site)


def _pick(head: int) -> None:
    state.update(head=head)


def part(stage: Stage, name: str, shown: slice) -> None:
    """Say under a picture which positions it shows, where that is not all of them."""
    if shown.stop - shown.start < len(stage.trace):
        st.caption(stage.words(name, first=shown.start, last=shown.stop - 1, n=len(stage.trace)))


def forms(stage: Stage, view: attention.FormsView) -> None:
    """The query and the key before and after norm and rotation, and what that does to the products."""
    words = stage.words
    names = {letter + form: words(f"form_{letter}{form}") for form in view.forms for letter in "qk"}
    lengths = {name: words(f"form_{name}") for name in ("length", "axis")}
    stage.figure(attention.draw_forms(view, names, lengths), "forms", words("forms_alt"))
    stage.source(*(stage.at(f"attn.{letter}{form}") for form in view.forms for letter in "qk"))
    st.caption(words("forms_note"))
    tokens = {"token": stage.token_name(view.query), "key": stage.token_name(view.key)}
    for form, note in view.notes.items():
        stage.see(f"form{note}", **tokens, **view.facts(form))


def steps(stage: Stage, view: attention.StepsView) -> None:
    """One query's way from dot products to a mixed value, as this model takes it."""
    words, layer = stage.words, stage.view.layer
    names = {name: words(f"step_{name}") for name in (*attention.STEPS, "weighted")}
    stage.figure(attention.draw_steps(view, names), "steps", words("steps_alt"))
    stage.source(*(stage.at(f"attn.{name}") for name in (*attention.matrices(stage.trace, layer), "z")))
    if len(view.shown()) < len(stage.trace):
        st.caption(words("steps_part", shown=len(view.shown()), n=len(stage.trace)))
    if not view.scaled:
        st.caption(words("no_scale"))
