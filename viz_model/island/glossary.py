"""Technical terms, each with its definition: marked in a page's prose, and listed at its end.

``texts/<language>/glossary.toml`` holds them. A text says itself which words mean a term: ``[words](#term-key)``. An
island makes of it what ``frontend/src/terms.js`` finds, and Streamlit's own Markdown a link, which it finds too.
"""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from viz_model.texts import ENGLISH, Texts, tables


class Term(NamedTuple):
    """A term.

    Attributes:
        key: what a text marks it with.
        name: what the app calls it.
        says: its definition.
        source: what publications call it; empty where they call it the same.
        books: what textbooks call it, by their short names.
    """

    key: str
    name: str
    says: str
    source: str
    books: Mapping[str, str]


@functools.cache
def terms(language: str) -> tuple[Term, ...]:
    """All terms, in the order in which a text meets them on its way through a model."""
    own, english = tables(language, "glossary"), tables(ENGLISH, "glossary")
    return tuple(_term(key, **own.get(key, row)) for key, row in english.items())


def _term(key: str, name: str, says: str, source: str = "", **books: str) -> Term:
    return Term(key, name, says, source, books)


def sent(t: Texts) -> dict[str, Any]:
    """The terms as the browser reads them."""
    rows = {
        term.key: [term.name, term.says, t("common.terms_source", source=term.source) if term.source else ""]
        for term in terms(t.language)
    }
    return {"title": t("common.terms"), "terms": rows}
