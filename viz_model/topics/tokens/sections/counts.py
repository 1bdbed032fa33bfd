"""What the text costs in each vocabulary, as a small table."""

from __future__ import annotations

import streamlit as st

from viz_model.app.texts import literal
from viz_model.tokenizers.tokenizer import cl100k_base
from viz_model.topics.tokens.numbers import facts
from viz_model.topics.tokens.sections.beside import Beside


def section(beside: Beside) -> None:
    words = beside.page.words
    vocabularies = {one.name: one for one in (beside.own, beside.other, cl100k_base())}
    view = facts.CountView.of(beside.text, list(vocabularies.values()))
    heads = [words(f"count_{name}") for name in ("name", "entries", "tokens", "bytes", "characters")]
    lines = [f"| {' | '.join(heads)} |", "|---|---:|---:|---:|---:|"]
    lines += [f"| {literal(name)} | {' | '.join(cells)} |" for name, *cells in view.rows()]
    st.markdown("\n".join(lines))
    st.caption(words("count_note", bytes_n=f"{view.n_bytes:,}", characters_n=f"{view.n_characters:,}"))
