"""The textbook of a tutorial, then the text, in ``cl100k_base`` and in the model's own vocabulary."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.texts.markdown import literal, row
from viz_model.tokenizers.tokenizer import cl100k_base
from viz_model.topics.tokens.claims import ROWS
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.numbers.rows import Rows, rows
from viz_model.topics.tokens.pictures.use import Used, draw_use
from viz_model.topics.tokens.sections.beside import Beside

EXAMPLES = 5
"""Tokens that are named of those whose rows are alike."""


def section(beside: Beside) -> None:
    page, cl100k = beside.page, cl100k_base()
    words = page.words
    book, width = cutting.TEXTBOOK, cutting.TEXTBOOK_WIDTH
    full, compact = book.numbers(width)
    facts = {
        **book.written(width),
        "short": f"{book.largest:,}",
        "per": f"{book.per_token:.2f}",
        "width": width,
        "times": f"{full / compact:.1f}",
        "last": literal(cl100k.token(book.largest).label),
        "last_bytes": literal(cl100k.token(book.largest).bytes.hex(" ").upper()),
    }
    st.subheader(words("corpus"), anchor=False)
    st.markdown(f"**{words('corpus_title', **facts)}**")
    picture, see = elements.split()
    texts = [Used(words("corpus_book"), cl100k.name, book)]
    texts += [Used(words("corpus_yours"), one.name, cutting.use(beside.text, one)) for one in (cl100k, beside.own)]
    with picture:
        drawn = {name: words(f"corpus_{name}") for name in ("used", "idle", "axis")}
        elements.figure(page, draw_use(texts, drawn), "use", words("corpus_alt"))
        heads = [words("corpus_figure"), *(f"{one.text}, {literal(one.vocabulary)}" for one in texts)]
        told = [one.use.written(width) for one in texts]
        lines = [row(heads), row(["---", *["---:"] * len(texts)])]
        lines += [row([words(f"corpus_{name}", width=width), *(each[name] for each in told)]) for name in told[0]]
        st.markdown("\n".join(lines))
    with see:
        elements.see(page, "corpus", **facts)
        _rows(page)
        elements.see(page, "corpus_slips", **facts)


@cached(beside=True)
def rows_of(model: str) -> Rows:
    """The rows of a model's own table."""
    return rows(runs.model(model).model)


def _rows(page: Page) -> None:
    """What became of the rows of the table in this model."""
    table, token = rows_of(page.view.model), page.lm.tokenizer.token
    shortest, median, longest = (f"{length:.2f}" for length in table.lengths)
    facts = {
        "model": literal(page.view.model),
        "n_rows": f"{table.n:,}",
        "n_alike": f"{len(table.alike):,}",
        "examples": " ".join(literal(token(id).label) for id in table.alike[-EXAMPLES:]),
        "length": f"{table.length:.2f}",
    }
    elements.say(page, ROWS, table, shortest=shortest, median=median, longest=longest, **facts)
