"""Relative keys, which no bundled model has: put into the page's model, on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import streamlit as st

from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import RelativeKey, Side
from viz_model.runs.trace import Trace
from viz_model.topics.position.choices import RELATIVE
from viz_model.topics.position.numbers.relative import with_relative_keys
from viz_model.topics.position.sections import schemes, scores
from viz_model.topics.position.sections.schemes import Shown
from viz_model.topics.position.sections.scores import Scores


@cached()
def _run(run: runs.RunKey, side: Side) -> Trace:
    return with_relative_keys(runs.trace(run).at(side))


def section(given: Shown) -> None:
    """Nothing where the model has them itself, or where no second query stands as far from its key."""
    page = given.page
    if isinstance(schemes.own(page), RelativeKey) or len(page.trace) < 3:
        return
    st.subheader(page.words("relative_title"), anchor=False)
    elements.see(page, "relative_lead")
    if not elements.control(page, RELATIVE, st.toggle):
        return
    elements.told(page, _tell, "relative_see")
    scores.matrices(given, "relative_", _with_keys)


def _with_keys(page: Page) -> Page:
    """The page on its model with relative keys put into it."""
    return replace(page, trace=_run(page.run_key, page.trace.stack.side))


def _tell(page: Page) -> Iterator[str]:
    """Of two queries that stand as far from their keys."""
    of_head = Scores.of(_with_keys(page))
    query, key = page.token, of_head.key
    step = -1 if min(query, key) else 1
    if max(query, key) + step >= len(page.trace):
        query, key, step = query - 1, max(key - 1, 0), 1
    yield page.prose("relative_see", **_facts(of_head.page, of_head, query, key, step))


def _facts(page: Page, of_head: Scores, query: int, key: int, step: int) -> dict[str, str]:
    values = {name: getattr(of_head.view.head_values, name) for name in ("scores", "bias", "masked")}
    return {
        **{name: f"{value[query, key]:.4f}" for name, value in values.items()},
        "bias_other": f"{values['bias'][query + step, key + step]:.4f}",
        "token": page.token_name(query),
        "key": page.token_name(key),
        "other": page.token_name(query + step),
        "vectors": f"{2 * page.lm.config.n_context - 1:,}",
        "layer": str(page.view.layer),
        "head": str(page.view.head),
    }
