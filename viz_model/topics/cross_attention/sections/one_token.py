"""One target token: the steps from its query to its weights, and what that adds to its stream."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.drawing.cells import COLUMN, Cells, Index
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.choices import MASK
from viz_model.topics.cross_attention.pictures import steps as pictures
from viz_model.topics.cross_attention.pictures import sum as sums
from viz_model.topics.cross_attention.pictures.heads import draw_heads
from viz_model.topics.cross_attention.sections.weights import Weights


def steps(weights: Weights) -> None:
    page, source = weights.page, weights.source
    st.subheader(page.words("steps_title", **weights.facts), anchor=False)
    padded = elements.choose(page, MASK, ("none", "padding")) == "padding"
    shown = cross.steps(page.trace, page.view.layer, page.view.head, page.token, padded=padded)
    rows, cells = weights.labels("step", pictures.STEPS), {} if padded else _cells(weights)
    drawn = pictures.step_strips(shown, source, rows, scaled=page.lm.config.scale_scores, cells=cells)
    elements.heat_rows(page, drawn, "steps", page.words("steps_alt"))
    if len(source) > pictures.MOST_COLUMNS:
        st.caption(page.words("columns", n=pictures.MOST_COLUMNS, total=len(source)))
    elements.source(page, *(page.at(f"cross.{site}") for site in ("scores", "masked", "pattern", "z")))
    elements.see(page, "padding" if padded else "no_mask")


def _cells(weights: Weights) -> dict[str, Cells]:
    """Which numbers of the run the rows of the steps show; a product is the first step of its score."""
    page = weights.page
    index: Index = (page.view.head, page.token, COLUMN)
    names = {"product": "scores", "scale": "scores", "mask": "masked", "softmax": "pattern"}
    return {row: Cells(page.at(f"cross.{site}"), index) for row, site in names.items()}


def sum(weights: Weights) -> None:
    """The stream before, what is added, and the stream after; and how much each head writes."""
    page, norm_at = weights.page, weights.page.trace.norm_at
    written = cross.written(page.trace, page.view.layer, page.token)
    names = weights.labels("sum", sums.WORDS)
    after = "after" if norm_at == "pre" else "after_norm"
    sites = {"before": "resid.mid", "out": "cross.out", after: "resid.cross"}
    cells = {strip: Cells(page.at(site), (page.token, COLUMN)) for strip, site in sites.items()}
    left, right = st.columns([3, 2], gap="large")
    with left:
        drawn = sums.sum_strips(written, names, page.t("common.axis_dimension"), norm_at, cells)
        elements.heat_rows(page, drawn, "sum", page.words("sum_alt"))
    with right:
        elements.figure(page, draw_heads(written, page.view.head, names), "heads", page.words("heads_alt"))
    elements.source(page, *(page.at(site) for site in ("resid.mid", "cross.head_out", "cross.out", "resid.cross")))
