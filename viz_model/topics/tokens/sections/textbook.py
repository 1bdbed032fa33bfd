"""The textbook of a tutorial, then the text, in ``cl100k_base`` and in the model's own vocabulary."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.texts import literal
from viz_model.tokenizers.tokenizer import cl100k_base
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.pictures.use import UseView, draw_use
from viz_model.topics.tokens.sections.beside import Beside


def section(beside: Beside) -> None:
    page, cl100k = beside.page, cl100k_base()
    words = page.words
    book, width = cutting.TEXTBOOK, cutting.TEXTBOOK_WIDTH
    full, compact = book.numbers(width)
    facts = {
        **{name: f"{value:,}" for name, value in book._asdict().items()},
        "share": f"{book.share:.2%}",
        "rows": f"{book.rows:,}",
        "short": f"{book.largest:,}",
        "per": f"{book.per_token:.2f}",
        "width": width,
        "full": f"{full:,}",
        "compact": f"{compact:,}",
        "times": f"{full / compact:.1f}",
        "last": literal(cl100k.token(book.largest).label),
        "last_bytes": literal(cl100k.token(book.largest).bytes.hex(" ").upper()),
    }
    st.subheader(words("corpus"), anchor=False)
    st.markdown(f"**{words('corpus_title', **facts)}**")
    picture, see = elements.split()
    view = UseView.of(beside.text, words("corpus_yours"), (cl100k, beside.own), words("corpus_book"))
    with picture:
        drawn = {name: words(f"corpus_{name}") for name in ("used", "idle", "axis")}
        elements.figure(page, draw_use(view, drawn), "use", words("corpus_alt"))
        heads = [f"{name}, {literal(one)}" for name, one in zip(view.names, view.vocabularies, strict=True)]
        lines = [("", heads), ("---", ["---:"] * len(heads))]
        lines += [(words(f"corpus_{name}", width=width), values) for name, values in view.rows(width)]
        st.markdown("\n".join(f"| {' | '.join((name, *values))} |" for name, values in lines))
    with see:
        elements.see(page, "corpus", **facts)
        elements.see(page, "corpus_slips", **facts)
