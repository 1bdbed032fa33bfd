"""What becomes of one query and its keys, step by step."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Said, note, title
from viz_model.app.page import Page
from viz_model.drawing.strips import StripsView
from viz_model.measures.heads import STRONGEST
from viz_model.topics.attention import figures
from viz_model.topics.attention.numbers import layer, views
from viz_model.topics.attention.pictures import forms
from viz_model.topics.attention.sections.query import Query


def changes(page: Page) -> bool:
    """Whether queries and keys are changed before they meet."""
    return any(page.at(f"attn.q{form}") in page.trace for form in views.FORMS if form)


def forms_section(query: Query) -> None:
    """The query and the key before and after norm and rotation, and what that does to the products."""
    page, words = query.page, query.page.words
    view = _forms_view(query)
    elements.told(page, _forms_title, "forms_title")
    lengths = {name: words(f"form_{name}") for name in ("length", "axis")}

    def drawn(page: Page) -> StripsView:
        view = _forms_view(Query.of(page))
        names = {letter + form: words(f"form_{letter}{form}") for form in view.forms for letter in "qk"}
        return forms.form_strips(view, names, lengths)

    elements.heat_rows(page, drawn, "forms", words("forms_alt"))
    elements.source(page, *(page.at(f"attn.{letter}{form}") for form in view.forms for letter in "qk"))
    st.caption(words("forms_note"))
    elements.told(page, _forms, "forms_told")


def _forms_title(page: Page) -> Iterator[Said]:
    query = Query.of(page)
    yield title(page.words(f"forms{''.join(_forms_view(query).notes)}", **query.facts))


def _forms(page: Page) -> Iterator[str]:
    view = _forms_view(Query.of(page))
    tokens = {"token": page.token_name(view.query), "key": page.token_name(view.key)}
    for form, kind in view.notes.items():
        yield page.prose(f"form{kind}", **tokens, **view.facts(form))


def _forms_view(query: Query) -> forms.FormsView:
    """The chosen query beside the key that it reads most."""
    page = query.page
    return views.forms_view(page.trace, page.view.layer, page.view.head, page.token, query.largest.at)


def section(query: Query) -> None:
    """The way from dot products to a mixed value, as this model takes it."""
    page, view, words = query.page, query.steps, query.page.words
    elements.told(page, _steps_title, "steps_title")
    elements.shown(page, lambda page: figures.of_query(page.subject, Query.of(page).steps), "steps")
    sites = (*layer.matrices(page.trace, page.view.layer), "z")
    elements.source(page, *(page.at(f"attn.{name}") for name in sites))
    elements.told(page, _steps_part, "steps_part")
    if not view.scaled:
        st.caption(words("no_scale"))


def _steps_part(page: Page) -> Iterator[Said]:
    """That a long row of keys is drawn in part."""
    shown = len(Query.of(page).steps.shown())
    if shown < len(page.trace):
        yield note(page.words("steps_part", shown=shown, n=len(page.trace)))


def _steps_title(page: Page) -> Iterator[Said]:
    query = Query.of(page)
    reads = STRONGEST.label(page.t.language, query.largest, strongest=query.facts["key"], **query.facts)
    yield title(page.words("steps_title", reads=reads))
