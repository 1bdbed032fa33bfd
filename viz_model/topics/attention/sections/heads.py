"""Parts of the attention page: the grid of all heads, and what becomes of a query and a key."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from viz_model.app import components, controls, derivation, runs, state
from viz_model.app.page import Stage
from viz_model.config import Side
from viz_model.drawing import lines, strips
from viz_model.drawing.spans import around
from viz_model.topics.attention.pictures import attention


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


def large(stage: Stage, matrix: str) -> None:
    """One matrix of the chosen head, of the positions around the chosen token."""
    words, view, n = stage.words, stage.view, len(stage.trace)
    axes = stage.t("common.axis_query"), stage.t("common.axis_key")
    found = attention.head_view(stage.trace, view.layer, view.head, stage.token, axes, matrix, most := span(stage))
    alt = words("head_alt", head=view.head, layer=view.layer)
    stage.strips(strips.matrix(found), "head", alt)
    stage.source(stage.at(f"attn.{matrix}"))
    shown = around(stage.token, n, most)
    if shown.stop - shown.start < n:
        st.caption(words("shown_part", first=shown.start, last=shown.stop - 1, n=n))


def joined(stage: Stage, pattern: np.ndarray) -> None:
    """Queries and keys as two columns, joined by lines; a click picks a query."""
    labels = stage.token_labels
    seen = lines.LinesView.of(pattern, labels, labels, stage.token, attention.MOST_LINES)
    said = {name: stage.words(f"lines_{name}") for name in lines.WORDS}
    header, weights = lines.scene(seen, said, attention.LINE_PITCH)
    components.lines(header, weights, key=f"{stage.name}.lines", on_pick=follow)
    if len(seen.target) < len(labels):
        st.caption(stage.words("lines_part", share=f"{seen.share:.0%}"))


def follow(token: int) -> None:
    state.update(token=token)


def forms(stage: Stage, view: attention.FormsView, said: Mapping[str, object]) -> None:
    """The query and the key before and after norm and rotation, and what that does to the products.

    Nothing where neither is changed before they meet. ``said`` names them.
    """
    words = stage.words
    if not view.notes:
        return
    st.subheader(words(f"forms{''.join(view.notes)}", **said), anchor=False)
    names = {letter + form: words(f"form_{letter}{form}") for form in view.forms for letter in "qk"}
    lengths = {name: words(f"form_{name}") for name in ("length", "axis")}
    stage.strips(attention.form_strips(view, names, lengths), "forms", words("forms_alt"))
    stage.source(*(stage.at(f"attn.{letter}{form}") for form in view.forms for letter in "qk"))
    st.caption(words("forms_note"))
    tokens = {"token": stage.token_name(view.query), "key": stage.token_name(view.key)}
    for form, note in view.notes.items():
        stage.see(f"form{note}", **tokens, **view.facts(form))


def steps(stage: Stage, view: attention.StepsView) -> None:
    """One query's way from dot products to a mixed value, as this model takes it."""
    words, layer = stage.words, stage.view.layer
    st.subheader(words("steps_title", token=stage.token_name()), anchor=False)
    names = {name: words(f"step_{name}") for name in (*attention.STEPS, "weighted")}
    stage.strips(attention.step_strips(view, names), "steps", words("steps_alt"))
    stage.source(*(stage.at(f"attn.{name}") for name in (*attention.matrices(stage.trace, layer), "z")))
    if len(view.shown()) < len(stage.trace):
        st.caption(words("steps_part", shown=len(view.shown()), n=len(stage.trace)))
    if not view.scaled:
        st.caption(words("no_scale"))
