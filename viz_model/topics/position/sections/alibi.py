"""ALiBi: every head subtracts its slope times the distance."""

from __future__ import annotations

import math

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.app.topic import Layout, Tabs
from viz_model.topics.position import numbers
from viz_model.topics.position.pictures.slopes import SlopesView, draw_slopes
from viz_model.topics.position.sections import schemes, scores
from viz_model.topics.position.sections.scores import Scores


def _facts(page: Page) -> dict[str, str]:
    slopes = numbers.slopes(page.trace, page.view.layer)
    slope = float(slopes[page.view.head])
    return {
        "head": str(page.view.head),
        "slope": f"{slope:.6g}",
        "factor": f"{math.exp(-slope):.4f}",
        "tenth": f"{math.log(10) / slope:,.1f}",
        "n_heads": str(len(slopes)),
        "steepest": f"{slopes.max():.4g}",
        "flattest": f"{slopes.min():.4g}",
    }


def curves(given: Scores) -> None:
    page = given.page
    elements.see(page, "alibi_lead")
    picture, see = elements.split()
    with picture:
        scores.curves(page, page.words("alibi_curves_alt"))
    with see:
        elements.see(page, "alibi_see", **_facts(page))
        scores.self_only(page)


def slopes(given: Scores) -> None:
    page, facts = given.page, _facts(given.page)
    st.subheader(page.words("alibi_slopes", **facts), anchor=False)
    view = SlopesView(numbers.slopes(page.trace, page.view.layer), page.view.head)
    drawn = draw_slopes(view, scores.words(page, "bias", "head", "slope"))
    elements.figure(page, drawn, "slopes", page.words("alibi_slopes_alt"))
    elements.see(page, "alibi_slopes", **facts)


def formula(given: Scores) -> None:
    scores.formulas(given.page)
    elements.see(given.page, "alibi_formula", **_facts(given.page))


def hand(given: Scores) -> None:
    elements.see(given.page, "alibi_hand", **{**given.hand, "slope": _facts(given.page)["slope"]})


def tables(given: Scores) -> None:
    values = numbers.slopes(given.page.trace, given.page.view.layer)
    elements.records(given.page, "alibi_slopes", {"head": range(len(values)), "slope": values.tolist()})
    scores.table(given)


def question(given: Scores) -> None:
    elements.question(given.page, "alibi_question", "alibi_answer", **_facts(given.page))


LAYOUT = Layout(
    of=Scores.of,
    sections=(curves, slopes, scores.matrices, scores.row, schemes.section),
    tabs=Tabs(formula, hand, scores.code, tables),
    question=question,
)
