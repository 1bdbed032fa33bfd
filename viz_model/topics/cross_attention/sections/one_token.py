"""One target token: the steps from its query to its weights, and what that adds to its stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN, Cells
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import percent
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.choices import MASK
from viz_model.topics.cross_attention.claims import PADDING, Padded
from viz_model.topics.cross_attention.numbers.steps import steps_view
from viz_model.topics.cross_attention.pictures.heads import draw_heads
from viz_model.topics.cross_attention.pictures.steps import MAX_WRITTEN, StepsView, step_strips
from viz_model.topics.cross_attention.sections.weights import Weights

STEPS = ("products", "products_normed", "scores", "masked", "pattern", "weighted")
"""Keys of the words for the steps."""


def steps_of(page: Page) -> StepsView:
    """The steps of the chosen token in the chosen head, or what they would be were the source's end padding."""
    padded = elements.on_offer(page, MASK, ("none", "padding")) == "padding"
    n_padding = cross.n_padding(len(cross.source_labels(page.trace))) if padded else 0
    return steps_view(page.trace, page.view.layer, page.view.head, page.token, "cross", n_padding)


def steps(weights: Weights) -> None:
    page, n = weights.page, len(weights.source)
    elements.told(page, _steps_title, "steps_title")
    padded = elements.choose(page, MASK, ("none", "padding")) == "padding"
    view, names = steps_of(page), weights.labels("step", STEPS)
    elements.heat_rows(page, lambda page: step_strips(steps_of(page), names), "steps", page.words("steps_alt"))
    if n > MAX_WRITTEN:
        st.caption(page.words("columns", n=len(view.shown()), total=n))
    elements.source(page, *(page.at(f"cross.{site}") for site in ("scores", "masked", "pattern", "z")))
    if not padded:
        elements.see(page, "no_mask")
    else:
        elements.told(page, _padding, "padding")


def _steps_title(page: Page) -> Iterator[Said]:
    yield title(page.words("steps_title", **Weights.of(page).facts))


def _padding(page: Page) -> Iterator[str]:
    n_seen = steps_of(page).n_seen
    own = page.trace.row(page.at("cross.pattern"), page.token, page.view.head).numpy()
    hidden = Padded(len(own) - n_seen, float(own[n_seen:].sum()))
    yield page.verdict(PADDING, hidden, n=hidden.n, weight=percent(hidden.weight))


def sum(weights: Weights) -> None:
    """The stream before, what is added, and the stream after; and how much each head writes."""
    page, words = weights.page, weights.page.words
    left, right = st.columns([3, 2], gap="large")
    with left:
        elements.heat_rows(page, _strips, "sum", words("sum_alt"), by=("layer", "token"))
    with right:
        names = weights.labels("sum", ("head", "length"))

        def drawn(page: Page) -> Sheet:
            lengths = np.linalg.norm(_written(page).heads, axis=-1).astype(np.float32)
            return draw_heads(lengths, page.view.head, names)

        elements.figure(page, drawn, "heads", words("heads_alt"))
    elements.source(page, *(page.at(site) for site in ("resid.mid", "cross.head_out", "cross.out", "resid.cross")))


def _written(page: Page) -> cross.Written:
    return cross.written(page.trace, page.view.layer, page.token)


def _strips(page: Page) -> strips.StripsView:
    words, written = page.words, _written(page)
    vectors = {"before": written.before, "out": written.out}
    if page.trace.norm_at == "pre":
        vectors["after"] = written.after
    else:  # the sum has a strip of its own, because a norm follows it
        vectors |= {"sum": written.before + written.out, "after_norm": written.after}
    sites = {"before": "resid.mid", "out": "cross.out", "after": "resid.cross", "after_norm": "resid.cross"}
    cells = [Cells(page.at(sites[key]), (page.token, COLUMN)) if key in sites else None for key in vectors]
    named = {words(f"sum_{key}"): values for key, values in vectors.items()}
    return strips.vectors(named, words("sum_length"), page.t("common.axis_dimension"), cells)
