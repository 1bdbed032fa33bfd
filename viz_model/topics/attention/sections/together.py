"""The heads of the layer side by side, and what W_O makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN, Cells
from viz_model.topics.attention.numbers import layer
from viz_model.topics.attention.numbers.together import Together, together
from viz_model.topics.attention.pictures.together import concatenation, output_matrix
from viz_model.topics.attention.sections.query import Query


def section(query: Query) -> None:
    page, config, words = query.page, query.page.lm.config, query.page.words
    sizes = layer.sizes(config)
    elements.told(page, _title, "together_title", by=("layer", "token"))
    elements.see(page, layer.heads_text(config), **sizes)
    if query.shared:
        elements.see(page, "heads_shared", **query.shared, d_head=config.d_head)
    st.markdown(words("together_row", **sizes))
    elements.heat_rows(page, _row, "together.row", words("together_row_alt"), by=("layer", "token"))
    elements.source(page, page.at("attn.z"))
    st.markdown(words("together_matrix", **sizes))
    elements.heat_rows(page, _matrix, "together.matrix", words("together_matrix_alt"), by=("layer",))
    st.markdown(words("together_out", **sizes))
    elements.heat_rows(page, _out, "together.out", words("together_out_alt"), by=("layer", "token"))
    elements.source(page, page.at("attn.head_out"), page.at("attn.out"))
    elements.see(page, "together_sizes", **sizes)


def _title(page: Page) -> Iterator[Said]:
    yield title(page.words("together_title", **Query.of(page).facts, **layer.sizes(page.lm.config)))


def _together(page: Page) -> Together:
    return together(page.trace, page.view.layer, page.token)


def _row(page: Page) -> strips.StripsView:
    """What the heads mixed, side by side."""
    mixed, axis, length = (page.words(name) for name in ("together_mixed", "together_axis", "form_length"))
    return concatenation(_together(page).mixed, mixed, axis, length, page.at("attn.z"), page.token)


def _matrix(page: Page) -> strips.StripsView:
    axes = page.t("common.axis_dimension"), page.words("together_axis")
    return output_matrix(_together(page).w_o, page.lm.config.n_heads, axes)


def _out(page: Page) -> strips.StripsView:
    """What each head writes, and the sum."""
    words, seen = page.words, _together(page)
    shown, rest = seen.parts()
    named = {words("together_head", head=head): vector for head, vector in shown.items()}
    cells: list[Cells | None] = [Cells(page.at("attn.head_out"), (head, page.token, COLUMN)) for head in shown]
    for name, vector in (("rest", rest), ("bias", seen.bias)):
        if vector is not None:
            named[words(f"together_{name}")] = vector
            cells.append(None)
    named[words("together_sum")] = seen.out
    cells.append(Cells(page.at("attn.out"), (page.token, COLUMN)))
    return strips.vectors(named, words("form_length"), page.t("common.axis_dimension"), cells)
