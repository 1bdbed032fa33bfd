"""Attention weights beside what they bring: for one head, for all of them, and for the tokens that only take weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from viz_model.app import elements, runs, state
from viz_model.app.cache import cached
from viz_model.app.elements import Said, note
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.writing import share
from viz_model.texts.markdown import literal
from viz_model.topics.attention.choices import GROUP, RUN
from viz_model.topics.attention.claims import FIRST, SINKS
from viz_model.topics.attention.numbers import caveats as care
from viz_model.topics.attention.pictures.every_head import HeadsView, draw_heads
from viz_model.topics.attention.pictures.pairs import PairsView, draw_pairs
from viz_model.topics.attention.pictures.row import RowView, draw_row
from viz_model.topics.attention.sections.query import Query

MOST_GAPS = 5
MOST_WORK = 60_000_000
"""Cells of all patterns that are gone through unasked."""


@cached()
def _care(run: runs.RunKey, side: Side) -> care.Care:
    return care.care(runs.trace(run).at(side))


def section(query: Query) -> None:
    """What stands under its own heading; its texts are a file of their own."""
    page = replace(query.page, text_key="attention_caveats")
    st.subheader(page.words("title"), anchor=False)
    if len(page.trace) < 2:
        st.info(page.words("one_token"))
        return
    elements.see(page, "intro")
    if care.edited(page.trace):
        st.caption(page.words("edited"))
    _one_head(page)
    if care.work(page.trace) > MOST_WORK and not elements.control(page, RUN, st.toggle, help=None):
        return
    found = _care(page.run_key, page.trace.stack.side)
    _ranks(page, found)
    if found.groups:
        _sinks(page, found)


def _one_head(page: Page) -> None:
    """The chosen head: one query's keys, and every pair."""
    words = page.words
    names = {name: words(name) for name in ("weight", "share", "axis", "key", "query", "first", "others", "equal")}
    left, right = st.columns(2, gap="large")
    with left:
        elements.told(page, _row_title, "row_title")
        elements.figure(page, lambda page: draw_row(_row(page), names), "row", words("row_alt"))
        elements.told(page, _tell_row, "row_told")
    with right:
        elements.told(page, _pairs_title, "pairs_title", by=("layer", "head"))
        elements.figure(page, lambda page: draw_pairs(_pairs(page), names, page.token), "pairs", words("pairs_alt"))
        elements.told(page, _tell_pairs, "pairs_told")
    elements.source(page, page.at("attn.pattern"), page.at("attn.v"))


def _row(page: Page) -> RowView:
    return RowView.of(_arriving(page), page.token_labels, 0, page.token)


def _pairs(page: Page) -> PairsView:
    return PairsView.of(_arriving(page), page.token_labels, 0)


def _row_title(page: Page) -> Iterator[str]:
    row = _row(page)
    far = row.furthest
    numbers = {"weight": share(float(row.weights[far])), "share": share(float(row.shares[far]))}
    named = {"token": page.token_name(), "key": literal(row.labels[far])}
    yield f"#### {page.words('row_one' if row.n_seen == 1 else 'row_title', **numbers, **named)}"


def _tell_row(page: Page) -> Iterator[Said | str]:
    row, top = _row(page), care.first(_arriving(page), page.token)
    facts = {name: share(getattr(top, name)) for name in ("read_weight", "weight", "share")}
    names = {name: page.token_name(getattr(top, name)) for name in ("read", "sender")}
    yield page.verdict(FIRST, top, **facts, **names)
    if len(row.keys) < row.n_seen:
        yield note(page.words("row_part", shown=len(row.keys), n=row.n_seen))


def _pairs_title(page: Page) -> Iterator[str]:
    yield f"#### {page.words('pairs_title', layer=page.view.layer, head=page.view.head)}"


def _tell_pairs(page: Page) -> Iterator[Said]:
    pairs = _pairs(page)
    yield note(page.words("pairs_note", shown=len(pairs.weights), n=pairs.n_pairs, token=page.token_name()))


def _arriving(page: Page) -> care.Arriving:
    """What the chosen head takes from where."""
    return care.arriving(page.trace, page.view.layer, page.view.head)


def _ranks(page: Page, found: care.Care) -> None:
    """Whether weights rank what arrives, head by head, and where they disagree most."""
    words = page.words
    facts = found.rank_facts()
    st.markdown(f"#### {words('ranks_title', **facts) if facts else words('ranks_none')}")
    picture, see = elements.split()
    with picture:
        if facts:
            _heads(page, found.ranks, "rank", "rank", "ranks")
        lines = [
            f"- {words('gap', **_written(page, gap), layer=gap.layer, head=gap.head)}" for gap in found.gaps[:MOST_GAPS]
        ]
        st.markdown("\n".join([words("gaps_title"), "", *lines]))
    with see:
        if facts:
            elements.see(page, "ranks", **facts)


def _written(page: Page, gap: care.Gap) -> dict[str, str]:
    tokens = {"query": page.token_name(gap.query), "key": page.token_name(gap.key)}
    return {**tokens, "weight": share(gap.weight), "share": share(gap.share)}


def _sinks(page: Page, found: care.Care) -> None:
    """Tokens that take weight: how much every head gives them, and how much comes from there."""
    words = page.words
    name = elements.choose(page, GROUP, tuple(found.groups))
    taken = found.groups[name]
    tokens = list(dict.fromkeys(page.token_name(place) for place in taken.positions))
    facts = taken.facts() | {"tokens": " ".join(tokens[:8]) + (" …" if len(tokens) > 8 else "")}
    st.markdown(f"#### {words('sinks_title', name=words(f'in_title_{name}', **facts), **facts)}")
    left, right = st.columns(2, gap="large")
    for place, shown, key, role in (
        (left, taken.weights, "weight", "pattern"),
        (right, taken.shares, "share", "value"),
    ):
        with place:
            st.markdown(f"**{words(f'sinks_{key}')}**")
            _heads(page, shown, key, role, f"sinks_{key}")
    elements.see(page, "sinks", **facts)
    is_less = any(site.endswith("attn.sink") for site in page.trace)
    elements.say(page, SINKS, taken, **facts, why=words("sinks_why_less" if is_less else "sinks_why"))


def _heads(page: Page, values: np.ndarray, value: str, role: str, key: str) -> None:
    """A number for every head [L, H], the chosen one framed; a click chooses another. ``value`` names the numbers."""
    axes = {name: page.t(f"common.axis_{name}") for name in ("layer", "head")} | {"value": page.words(value)}
    elements.figure(
        page,
        lambda page: draw_heads(HeadsView(values, (page.view.layer, page.view.head)), axes, role),
        key,
        page.words(f"{key}_alt"),
        by=("layer", "head"),
        on_pick=_pick,
    )


def _pick(place: Sequence[int]) -> None:
    """A click on a cell chooses its layer and head."""
    layer, head = place
    state.update(layer=layer, head=head)
