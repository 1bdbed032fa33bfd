"""Under the tabs: formulas of all parameters, one block by hand, code, and every count; and the question."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Option
from viz_model.drawing.writing import percent
from viz_model.topics.architectures.numbers import parameters, views
from viz_model.topics.architectures.pictures import formulas, where
from viz_model.topics.architectures.sections.beside import Pair


def formula(pair: Pair) -> None:
    page = pair.page
    elements.see(page, "formula", **pair.names)
    elements.see(page, "cache_formula")
    for name, latex in formulas.formulas(pair.own.lm.config, page.words, page.t.site_label):
        left, right = st.columns([2, 3], vertical_alignment="center")
        left.markdown(f"**{name}**")
        right.latex(latex)


def hand(pair: Pair) -> None:
    own = pair.own
    block = own.lm.model.stack(own.side).block(own.layer)
    facts = formulas.by_hand(parameters.tree(block))
    elements.see(pair.page, "hand", **pair.names, layer=own.layer, **facts)


def code(pair: Pair) -> None:
    elements.code(pair.page, layer=pair.own.layer)


def numbers(pair: Pair) -> None:
    words = pair.page.words
    elements.records(pair.page, "parameters", where.count_columns(views.whole_models(*pair.lms), words))
    elements.records(pair.page, "published", where.reference_columns(words))


def question(pair: Pair) -> None:
    """Where most of the model's numbers are."""
    page, counts = pair.page, parameters.count(pair.own.lm.model)
    total, names = sum(counts.values()), {part: page.words(f"where_{part}") for part in counts}
    parts = {n: Option(names[part], size / total, names[part]) for n, (part, size) in enumerate(counts.items()) if size}
    elements.question(page, guess=elements.largest(page, parts, percent, **pair.names, total=f"{total:,}"))
