"""What the text costs in each vocabulary, as a small table."""

from __future__ import annotations

import streamlit as st

from viz_model.texts.markdown import literal, row
from viz_model.tokenizers.tokenizer import cl100k_base
from viz_model.topics.tokens.numbers import facts
from viz_model.topics.tokens.sections.beside import Beside


def section(beside: Beside) -> None:
    words, text = beside.page.words, beside.text
    lines = [row(words(f"count_{name}") for name in ("name", "entries", "tokens", "bytes", "characters"))]
    lines.append("|---|---:|---:|---:|---:|")
    for one in {one.name: one for one in (beside.own, beside.other, cl100k_base())}.values():
        n, n_bytes, n_characters = facts.counts(text, one)
        cells = (f"{one.n_vocab:,}", f"{n:,}", f"{n_bytes:.2f}", f"{n_characters:.2f}")
        lines.append(row((literal(one.name), *cells)))
    st.markdown("\n".join(lines))
    st.caption(words("count_note", bytes_n=f"{len(text.encode()):,}", characters_n=f"{len(text):,}"))
