"""The chosen head as matrices, each with its shape: from queries and keys to what it mixes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import title
from viz_model.app.page import Page
from viz_model.drawing.strips import StripsView
from viz_model.runs.trace import Trace
from viz_model.topics.attention import figures
from viz_model.topics.attention.numbers import layer, views
from viz_model.topics.attention.sections.query import Query


def section(query: Query) -> None:
    """From Q, K and V to the values mixed."""
    page = query.page
    elements.told(page, lambda page: [title(page.words("matrices_title", **Query.of(page).facts))], "matrices_title")
    elements.see(page, "matrices", n=len(page.trace), **layer.sizes(page.lm.config))
    draw(page, page.trace, layer.matrices(page.trace, page.view.layer, layer.CHAIN), "chain", 3)


def draw(page: Page, trace: Trace, names: tuple[str, ...], key: str, n_columns: int, most: int = views.LARGEST) -> None:
    """Matrices of the chosen head side by side; ``trace`` may be another run of the page's text."""
    view = page.view
    for start in range(0, len(names), n_columns):
        for name, place in zip(names[start : start + n_columns], st.columns(n_columns, gap="medium"), strict=False):
            shape = views.matrix_of(trace, view.layer, view.head, name).shape
            with place:
                size = " × ".join(map(str, shape))
                st.markdown(f"{_symbol(page, trace, name)} {page.words(f'matrix_{name}')} [{size}]")
                elements.heat_rows(
                    page,
                    partial(of, trace=trace, name=name, most=most),
                    f"{key}.{name}",
                    partial(_alt, name=name),
                    own=trace is page.trace,
                )
                if name == "mask":
                    st.caption(page.words("mask_legend"))
    if most < len(trace):
        st.caption(page.words("matrices_part", shown=most, n=len(trace)))


def _alt(page: Page, name: str) -> str:
    return page.words("matrix_alt", name=page.words(f"matrix_{name}"), head=page.view.head, layer=page.view.layer)


def of(page: Page, trace: Trace, name: str, most: int = views.LARGEST) -> StripsView:
    """A matrix of the chosen head, of the positions around the chosen token, with its numbers where there is room."""
    drawn = figures.matrix(replace(page.subject, trace=trace), name, most).picture
    assert isinstance(drawn, StripsView)
    return drawn


def _symbol(page: Page, trace: Trace, name: str) -> str:
    """LaTeX of a matrix and of how it is made of those before it."""
    has_bias = f"blocks.{page.view.layer}.attn.bias" in trace
    config, scores = trace.config, "S" if trace.config.score_cap is None else r"\bar{S}"
    root = r"\sqrt{d_k}" if config.divides_by_root else rf"\sqrt{{{config.root_of:g}}}"
    symbols = {
        "q": "Q",
        "k": "K",
        "v": "V",
        "products": r"QK^\top",
        "scores": rf"S = QK^\top / {root}" if config.scale_scores else r"S = QK^\top",
        "capped": rf"\bar{{S}} = c \tanh(S / c),\; c = {config.score_cap or 0:g}",
        "bias": "B",
        "mask": "M",
        "masked": rf"\tilde{{S}} = {scores} + B + M" if has_bias else rf"\tilde{{S}} = {scores} + M",
        "pattern": r"A = \mathrm{softmax}(\tilde{S})",
        "z": "Z = AV",
    }
    return f"${symbols[name]}$"
