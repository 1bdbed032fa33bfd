"""Technical terms, each with its definition: marked in a page's prose, and listed at its end.

``texts/<language>/glossary.toml`` holds them. The browser finds them in what stands on the page
(``frontend/src/terms.js``), so that no prose need be written for it.
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

from viz_model.texts import ENGLISH, LANGUAGES, Texts, tables

_FORM = re.compile(r"(?P<before>[^\[\]]*)\[(?P<term>[^\[\]]+)\](?P<after>[^\[\]]*)")


class Form(NamedTuple):
    """A term as it stands in prose, and what must stand around it for it to be one."""

    before: str
    term: str
    after: str


class Term(NamedTuple):
    """A term.

    Attributes:
        says: its definition.
        source: what publications call it; empty where they call it the same.
    """

    key: str
    forms: tuple[Form, ...]
    says: str
    source: str


@functools.cache
def terms(language: str) -> tuple[Term, ...]:
    """All terms, in the order in which a text meets them on its way through a model."""
    own, english = tables(language, "glossary"), tables(ENGLISH, "glossary")
    rows = {key: own.get(key, row) for key, row in english.items()}
    return tuple(
        Term(key, tuple(map(_form, row["forms"])), row["says"], row.get("source", "")) for key, row in rows.items()
    )


def _form(written: str) -> Form:
    found = _FORM.fullmatch(written)
    return Form(**found.groupdict()) if found else Form("", written, "")


def sent(t: Texts) -> dict[str, Any]:
    """The terms as the browser reads them."""
    rows = [
        [list(term.forms), term.says, t("common.terms_source", source=term.source) if term.source else ""]
        for term in terms(t.language)
    ]
    return {"title": t("common.terms"), "terms": rows, "spaced": LANGUAGES[t.language].spaces}
