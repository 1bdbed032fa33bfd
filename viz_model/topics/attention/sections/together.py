"""The heads of the layer side by side, and what W_O makes of them."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN, Cells
from viz_model.topics.attention.numbers import layer
from viz_model.topics.attention.numbers.together import together
from viz_model.topics.attention.pictures.together import concatenation, output_matrix
from viz_model.topics.attention.sections.query import Query


def section(query: Query) -> None:
    page, config, words = query.page, query.page.lm.config, query.page.words
    seen, sizes = together(page.trace, page.view.layer, page.token), layer.sizes(config)
    st.subheader(words("together_title", **query.facts, **sizes), anchor=False)
    elements.see(page, layer.heads_text(config), **sizes)
    if query.shared:
        elements.see(page, "heads_shared", **query.shared, d_head=config.d_head)
    n_heads, axis = config.n_heads, words("together_axis")
    st.markdown(words("together_row", **sizes))
    row = concatenation(seen.mixed, words("together_mixed"), axis, words("form_length"), page.at("attn.z"), page.token)
    elements.heat_rows(page, row, "together.row", words("together_row_alt"))
    elements.source(page, page.at("attn.z"))
    st.markdown(words("together_matrix", **sizes))
    drawn = output_matrix(seen.w_o, n_heads, (page.t("common.axis_dimension"), axis))
    elements.heat_rows(page, drawn, "together.matrix", words("together_matrix_alt"))
    st.markdown(words("together_out", **sizes))
    shown, rest = seen.parts()
    named = {words("together_head", head=head): vector for head, vector in shown.items()}
    cells: list[Cells | None] = [Cells(page.at("attn.head_out"), (head, page.token, COLUMN)) for head in shown]
    for name, vector in (("rest", rest), ("bias", seen.bias)):
        if vector is not None:
            named[words(f"together_{name}")] = vector
            cells.append(None)
    named[words("together_sum")] = seen.out
    cells.append(Cells(page.at("attn.out"), (page.token, COLUMN)))
    picture = strips.vectors(named, words("form_length"), page.t("common.axis_dimension"), cells)
    elements.heat_rows(page, picture, "together.out", words("together_out_alt"))
    elements.source(page, page.at("attn.head_out"), page.at("attn.out"))
    elements.see(page, "together_sizes", **sizes)
