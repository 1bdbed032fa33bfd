"""Why position: the same tokens in another order, with positions and without."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.writing import small
from viz_model.texts.markdown import literal
from viz_model.topics.cost import choices
from viz_model.topics.cost.claims import MASK, ORDER
from viz_model.topics.cost.numbers.order import Shuffled, shuffled, work_of_shuffling
from viz_model.topics.cost.sections.common import table

MOST_WORK = 2_000_000_000
"""Multiplications that are run unasked when words are shuffled."""


@cached()
def _shuffled(key: runs.RunKey, side: Side) -> Shuffled | None:
    return shuffled(runs.trace(key).at(side))


def section(page: Page) -> None:
    words, trace = page.words, page.trace
    st.subheader(words("order_title"), anchor=False)
    if len(trace) < 2:
        st.info(words("order_one"))
        return
    wait = work_of_shuffling(trace) > MOST_WORK
    if wait and not elements.control(page, choices.ORDER, st.toggle):
        return
    found = _shuffled(page.run_key, trace.stack.side)
    if found is None:
        return
    facts = {name: small(getattr(found, name)) for name in ("bare", "own", "bare_masked", "own_masked")}
    labels = [token.label for token in trace.tokens]
    facts |= {
        "before": literal(" ".join(labels[: len(found.order)])),
        "after": literal(" ".join(labels[i] for i in found.order)),
    }
    left, right = st.columns([3, 2], gap="large")
    with left:
        headings = [words("order_change"), words("order_all"), words("order_past")]
        rows = [(words(f"order_{row}"), [facts[row], facts[f"{row}_masked"]]) for row in ("bare", "own")]
        table(headings, rows)
        st.caption(words("order_note"))
    with right:
        elements.say(page, ORDER, found, **facts)
        elements.say(page, MASK, found, **facts)
