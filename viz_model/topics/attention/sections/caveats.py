"""Attention weights beside what they bring: for one head, for all of them, and for the tokens that only take weight."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go
import streamlit as st

from viz_model.app import controls, runs, state
from viz_model.app.page import Stage
from viz_model.app.texts import literal
from viz_model.config import Side
from viz_model.topics.attention.numbers import caveats as care
from viz_model.topics.attention.pictures import caveats as figures

MOST_WORK = 60_000_000
"""Cells of all patterns that are gone through unasked."""


@st.cache_resource(show_spinner=False, max_entries=32)
def _care(asked: runs.Asked, side: Side) -> care.Care:
    run = runs.trace(asked).at(side)
    with runs.alone():
        return care.care(run)


def section(stage: Stage) -> None:
    """The part of the page under its own heading; its texts are a file of their own."""
    stage = replace(stage, name="attention_caveats")
    st.subheader(stage.words("title"), anchor=False)
    if len(stage.trace) < 2:
        st.info(stage.words("one_token"))
        return
    stage.see("intro")
    if care.edited(stage.trace):
        st.caption(stage.words("edited"))
    _one_head(stage)
    if care.work(stage.trace) > MOST_WORK and not st.toggle(stage.words("run"), key="attention_caveats.run"):
        return
    found = _care(stage.asked, stage.trace.stack.side)
    _ranks(stage, found)
    if found.groups:
        _sinks(stage, found)


def _one_head(stage: Stage) -> None:
    """The chosen head: one query's keys, and every pair."""
    words, head = stage.words, stage.view.head
    found = care.arriving(stage.trace, stage.view.layer, head)
    labels = stage.token_labels
    row = figures.RowView.of(found, labels, 0, stage.token)
    far = row.furthest
    said = {
        "layer": stage.view.layer,
        "head": head,
        "token": stage.token_name(),
        "key": literal(row.labels[far]),
        "weight": figures.share(float(row.weights[far])),
        "share": figures.share(float(row.shares[far])),
        "shown": len(row.keys),
        "n": row.n_seen,
    }
    names = {name: words(name) for name in ("weight", "share", "axis", "key", "query", "first", "others", "equal")}
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"#### {words('row_one' if row.n_seen == 1 else 'row_title', **said)}")
        stage.figure(figures.draw_row(row, names), "row", words("row_alt"))
        if len(row.keys) < row.n_seen:
            st.caption(words("row_part", **said))
    with right:
        pairs = figures.PairsView.of(found, labels, 0)
        st.markdown(f"#### {words('pairs_title', **said)}")
        stage.figure(figures.draw_pairs(pairs, names, stage.token), "pairs", words("pairs_alt"))
        st.caption(words("pairs_note", shown=len(pairs.weights), n=pairs.n_pairs, token=stage.token_name()))
    stage.source(stage.at("attn.pattern"), stage.at("attn.v"))


def _ranks(stage: Stage, found: care.Care) -> None:
    """Whether weights rank what arrives, head by head, and where they disagree most."""
    words = stage.words
    facts = figures.rank_facts(found)
    st.markdown(f"#### {words('ranks_title', **facts) if facts else words('ranks_none')}")
    picture, see = stage.split()
    with picture:
        if facts:
            view = figures.HeadsView(found.ranks, (stage.view.layer, stage.view.head))
            _clickable(stage, figures.draw_heads(view, _axes(stage, "rank"), "rank"), "ranks", words("ranks_alt"))
        lines = [words("gaps_title")]
        for gap in found.gaps[: figures.MOST_GAPS]:
            said = {
                "layer": gap.layer,
                "head": gap.head,
                "query": stage.token_name(gap.query),
                "key": stage.token_name(gap.key),
                "weight": figures.share(gap.weight),
                "share": figures.share(gap.share),
            }
            lines.append(f"- {words('gap', **said)}")
        st.markdown("\n".join([lines[0], "", *lines[1:]]))
    with see:
        if facts:
            stage.see("ranks", **facts)


def _sinks(stage: Stage, found: care.Care) -> None:
    """Tokens that take weight: how much every head gives them, and how much comes from there."""
    words = stage.words
    name = controls.choose(stage, "group", list(found.groups), next(iter(found.groups)))
    taken = found.groups[name]
    tokens = list(dict.fromkeys(stage.token_name(place) for place in taken.positions))
    facts = figures.sink_facts(taken) | {"tokens": " ".join(tokens[:8]) + (" …" if len(tokens) > 8 else "")}
    st.markdown(f"#### {words('sinks_title', name=words(f'in_title_{name}', **facts), **facts)}")
    chosen = (stage.view.layer, stage.view.head)
    left, right = st.columns(2, gap="large")
    for place, values, key, role in (
        (left, taken.weights, "weight", "pattern"),
        (right, taken.shares, "share", "value"),
    ):
        with place:
            st.markdown(f"**{words(f'sinks_{key}')}**")
            figure = figures.draw_heads(figures.HeadsView(values, chosen), _axes(stage, key), role)
            _clickable(stage, figure, f"sinks_{key}", words(f"sinks_{key}_alt"))
    stage.see("sinks", **facts)
    stage.see(f"sinks_{'some' if figures.is_sink(taken).any() else 'none'}", **facts)


def _axes(stage: Stage, value: str) -> dict[str, str]:
    axes = {name: stage.t(f"common.axis_{name}") for name in ("layer", "head")}
    return axes | {"value": stage.words(value)}


def _clickable(stage: Stage, figure: go.Figure, key: str, alt: str) -> None:
    """Draw a figure of which a click on a cell chooses its layer and head."""
    name = f"{stage.name}.{key}"

    def picked() -> None:
        points = st.session_state[name]["selection"]["points"]
        if points and "customdata" in points[0]:
            layer, head = points[0]["customdata"]
            state.update(layer=layer, head=head)

    config = {"displayModeBar": False}
    st.plotly_chart(figure, key=name, alt=alt, config=config, on_select=picked, selection_mode="points")
