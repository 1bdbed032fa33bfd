"""What splits oddly, found by counting: words in four spellings, numbers, faces, Chinese characters."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.texts.markdown import literal, row
from viz_model.topics.tokens.choices import CL100K
from viz_model.topics.tokens.numbers import splitting
from viz_model.topics.tokens.pictures.survey import draw_survey
from viz_model.topics.tokens.sections.beside import Beside
from viz_model.topics.tokens.sections.vocabularies import surveys

MOST_SPELT = 6
"""Words of the text that are told in four spellings."""


def section(beside: Beside) -> None:
    page, own, other = beside.page, beside.own, beside.other
    words = page.words
    found = surveys(page.view.model, CL100K if beside.why else beside.chosen)
    kinds = {kind.kind: kind for kind in found[0].kinds}
    st.subheader(words("odd"), anchor=False)
    bare = kinds["bare"]
    facts = {"n": str(bare.n), "name": literal(own.name), "other": literal(other.name)}
    whole = {name: f"{kind.by_tokens[0]:,}" for name, kind in kinds.items()}
    st.markdown(f"**{words('odd_title' if bare.n else 'odd_title_none', **facts, **whole)}**")
    picture, see = elements.split()
    with picture:
        parts = [*kinds, "unknown", *(f"tokens_{n}" for n in range(1, splitting.LONG + 1))]
        figure = draw_survey(found, {name: words(f"odd_{name}") for name in parts})
        elements.figure(page, figure, "odd", words("odd_alt"))
    with see:
        elements.see(page, "odd", **facts)
    rows = splitting.spellings(own, beside.text, MOST_SPELT)
    if rows:
        st.markdown(f"**{words('odd_yours', name=literal(own.name))}**")
        lines = [f"| {' | '.join(words(f'odd_{form}') for form in splitting.FORMS)} |", "|---|---|---|---|"]
        for one in rows:
            lines.append(row(f"**{len(labels)}** {' '.join(map(literal, labels))}" for labels in one.pieces))
        st.markdown("\n".join(lines))
