"""What several schemes show alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from viz_model.app import state
from viz_model.app.stage import Stage
from viz_model.topics.position import numbers as analysis
from viz_model.topics.position.numbers import views
from viz_model.topics.position.pictures import bias
from viz_model.topics.position.pictures.similarity import SimilarityView
from viz_model.topics.position.pictures.sum import draw_normed, draw_sum, draw_sums


def words(stage: Stage, prefix: str, *names: str) -> dict[str, str]:
    """Labels of a figure: ``{name: the page's prefix_name}``."""
    return {name: stage.words(f"{prefix}_{name}") for name in names}


def index(stage: Stage, name: str, last: int, first: int) -> int:
    """A slider from 0 to ``last`` that begins at ``first`` and stays within bounds; none where there is no choice."""
    key = f"position.{name}"
    if last < 1:
        return 0
    state.follow(key, min(st.session_state.get(key, first), last))
    return st.slider(stage.words(f"{name}_slider"), 0, last, key=key, help=stage.words(f"{name}_help"))


def whole(stage: Stage) -> bool:
    """Whether curves over the distance go as far as there is something to see, or as far as the sentence."""
    chosen = st.segmented_control(
        stage.words("range"),
        ["text", "all"],
        key="position.distances",
        default="text",
        format_func=lambda option: stage.words(f"range_{option}"),
        label_visibility="collapsed",
        required=True,
    )
    return chosen == "all"


def nearest_other(stage: Stage) -> int:
    """The key that the chosen query reads most, itself aside; itself where it sees no other."""
    pattern = stage.trace.head(stage.at("attn.pattern"), stage.view.head)[stage.token].numpy()
    others = np.where(np.arange(len(pattern)) == stage.token, -1.0, pattern)
    return int(others.argmax()) if others.max() > 0 else stage.token


def visible_keys(stage: Stage) -> Sequence[int]:
    """The positions that the chosen token may look at in the chosen layer."""
    length = len(stage.trace)
    visible = stage.trace.stack.visible(stage.view.layer, length, length)[stage.token]
    return [int(key) for key in visible.nonzero().flatten()]


def choose_key(stage: Stage) -> int:
    """Which of the visible keys is worked out; at first the one that is read most."""
    keys = visible_keys(stage)
    if len(keys) == 1:
        return keys[0]
    key = "position.key"
    shown = st.session_state.get(key)
    state.follow(key, shown if shown in keys else nearest_other(stage))
    labels = stage.token_labels
    return st.select_slider(
        stage.words("key_slider"),
        keys,
        key=key,
        help=stage.words("key_help"),
        format_func=lambda position: f"{position}: {labels[position]}",
    )


def sum_strips(stage: Stage, columns: tuple[int, ...] = ()) -> None:
    """Embedding + position = what block 0 reads."""
    trace, token, axis = stage.trace, stage.token, stage.t("common.axis_dimension")
    view = views.sum_view(trace, token)
    st.subheader(stage.words("sum" if view.normed is None else "sum_normed", token=stage.token_name()), anchor=False)
    names = [stage.words("strip_" + site.removeprefix("embed.")) for site in view.sites[:-1]]
    names = [name if n == 0 else f"+ {name}" for n, name in enumerate(names)]
    total = (*names, stage.words("strip_total" if view.normed is None else "strip_read"))
    if st.toggle(stage.words("whole"), key="position.whole"):
        axes = (stage.t("common.axis_token"), axis)
        figure = draw_sums(views.sum_views(trace, token, axes), total, axis, columns)
    else:
        figure = draw_sum(view, total, axis, columns)
    stage.figure(figure, "sum", stage.words("sum_alt"))
    if view.normed is not None:
        normed = draw_normed(view, stage.words("strip_normed"), axis, columns)
        stage.figure(normed, "normed", stage.words("strip_normed"))
    stage.source(*view.named)
    stage.see("sum", token=stage.token_name(), **view.said)


def sum_table(stage: Stage) -> None:
    view = views.sum_view(stage.trace, stage.token)
    stage.table(f"embed[{stage.token}]", view.strips, view.sites, stage.dimension_labels, "sum")


def position_table(stage: Stage) -> None:
    rows = stage.trace["embed.position"].numpy()
    stage.table("embed.position", rows, stage.token_labels, stage.dimension_labels, "waves")


def added(stage: Stage, section: str) -> tuple[bias.AddedView, int]:
    """Scores + bias = what the softmax reads, and one row's attention with and without; the view and a key."""
    view, trace = stage.view, stage.trace
    found = bias.AddedView.of(trace, view.layer, view.head, stage.token)
    st.subheader(stage.words("added", head=view.head, layer=view.layer), anchor=False)
    axes = stage.t("common.axis_query"), stage.t("common.axis_key")
    sites = [stage.at(f"attn.{which}") for which in bias.MATRICES]
    for column, which, site in zip(st.columns(3, gap="medium"), bias.MATRICES, sites, strict=True):
        with column:
            matrix = found.matrix(which, f"{site}[{view.head}]", axes)
            title = stage.words(f"added_{which}")
            stage.figure(bias.draw_added(matrix, title), which, title)
    stage.source(*sites)
    st.caption(stage.words("added_axes"))
    st.subheader(stage.words("row", token=stage.token_name()), anchor=False)
    wide, narrow = st.columns([2, 1], gap="large")
    with wide:
        labels = words(stage, "row", "with", "without", "weight")
        stage.figure(bias.draw_row(found, labels), "row", stage.words("row_alt"))
        stage.source(stage.at("attn.pattern"))
    with narrow:
        key = choose_key(stage)
        hand = bias.by_hand(found, key)
        stage.see(section, **hand, token=stage.token_name(), key=stage.token_name(key))
    return found, key


def code(stage: Stage, first: str, *others: str) -> None:
    """Code of where position enters, then of the embedding's parts, or of ``others`` in attention."""
    embedding = tuple(n for n in stage.trace.sites if n.startswith("embed.")) if not others else ()
    every = dict.fromkeys((first, *embedding, *(stage.at(f"attn.{name}") for name in others)))
    stage.code(sites=[name for name in every if name in stage.trace])


def bias_table(stage: Stage, found: bias.AddedView) -> None:
    name = f"{stage.at('attn.bias')}[{stage.view.head}]"
    stage.table(name, found.found.bias, stage.token_labels, stage.token_labels, "bias")


def rows_alike(stage: Stage) -> SimilarityView:
    return views.similarity_view(stage.trace, stage.token)


def context(stage: Stage) -> dict[str, str]:
    """The context in words, and how much of it is compared."""
    size = stage.lm.config.n_context
    return {"context": f"{size:,}", "last_position": f"{size - 1:,}", "compared": f"{min(size, analysis.MAX_ROWS):,}"}
