"""The experiment by formula, by hand, in code and as numbers."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from viz_model.app import elements
from viz_model.drawing.writing import percent
from viz_model.texts.markdown import literal
from viz_model.topics.ablations.numbers import by_hand, change
from viz_model.topics.ablations.pictures import series
from viz_model.topics.ablations.sections import compare
from viz_model.topics.ablations.sections.ablation import Ablation
from viz_model.topics.ablations.sections.lab import Lab


def formula(ablation: Ablation) -> None:
    page = ablation.lab.page
    elements.see(page, f"formula_{ablation.experiment.name}")
    elements.see(page, "formula_logits" if ablation.lab.plain.config.has_logits else "formula_vectors")


def hand(ablation: Ablation) -> None:
    """The divergence of the two predictions, by its largest terms."""
    lab, page = ablation.lab, ablation.lab.page
    if not page.trace.edits:
        elements.see(page, "hand_nothing")
    elif not lab.plain.config.has_logits:
        parts = by_hand.turn(lab.plain, page.trace, lab.token)
        elements.see(page, "hand_vectors", token=lab.token_name(lab.token), **parts)
    else:
        was, now = (run.at(lab.at.side) for run in (lab.plain, page.trace))
        found, name = change.guesses(was, now, lab.at.position), lab.plain.tokenizer.token
        terms = by_hand.divergence(found.before, found.after, lambda id: literal(name(id).label))
        elements.see(page, "hand", **terms)


def code(ablation: Ablation) -> None:
    elements.code(ablation.lab.page)


def numbers(ablation: Ablation) -> None:
    """The measure, and the first guesses of both runs."""
    lab, page, finding = ablation.lab, ablation.lab.page, ablation.finding()
    if finding is not None and finding.table:
        elements.records(page, "experiment", _named(lab, finding.table))
    if lab.plain.config.has_logits:
        view = compare.guesses(lab)
        columns = {lab.words("column_token"): list(view.labels)}
        for key, values in (("before", view.before), ("after", view.after)):
            columns[lab.words(f"series_{key}")] = [percent(value) for value in values]
        elements.records(page, "guesses", columns)
    elif finding is None:
        st.caption(lab.words("no_numbers"))


def _named(lab: Lab, table: Mapping[str, list[object]]) -> dict[str, list[object]]:
    """Columns by what a visitor calls them."""
    known = {key: lab.words(f"series_{key}") for key in series.COLOURS} | {"": lab.words("column_place")}
    return {known.get(key, key): values for key, values in table.items()}
