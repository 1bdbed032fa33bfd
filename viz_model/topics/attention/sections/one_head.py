"""The chosen head in large: one of its matrices, and its weights as lines between tokens."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Said, note, title
from viz_model.app.page import Page
from viz_model.app.saving import Known
from viz_model.drawing import lines
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.scene import Scene
from viz_model.drawing.spans import around
from viz_model.topics.attention import figures
from viz_model.topics.attention.choices import MATRIX, SPAN
from viz_model.topics.attention.numbers import layer, views
from viz_model.topics.attention.sections.query import Query

MOST_LINES, LINE_PITCH = 20, 26
"""Positions on either side of the lines at the most, and the pixels that each takes."""


def section(query: Query) -> None:
    page = query.page
    elements.told(page, _title, "one_head")
    matrix = elements.choose(page, MATRIX, layer.matrices(page.trace, page.view.layer))
    wide, narrow = st.columns([3, 2], gap="medium")
    with wide:
        _matrix(page, matrix)
    with narrow:
        _lines(page)


def _title(page: Page) -> Iterator[Said]:
    yield title(page.words("one_head", **Query.of(page).facts))


def _matrix(page: Page, matrix: str) -> None:
    """One matrix, of the positions around the chosen token."""
    n, most = len(page.trace), _reach(page)

    elements.shown(page, lambda page: figures.matrix(page.subject, matrix, most), "head")
    elements.source(page, page.at(f"attn.{matrix}"))

    def part(page: Page) -> Iterator[Said]:
        shown = around(page.token, n, most)
        yield note(page.words("shown_part", first=shown.start, last=shown.stop - 1, n=n))

    if most < n:
        elements.told(page, part, "head_part", by=("token",))


def _reach(page: Page) -> int:
    """How many positions are shown: of a long text, a choice."""
    length = len(page.trace)
    if length <= views.LARGEST or elements.choose(page, SPAN, ("near", "whole")) == "whole":
        return length
    return views.LARGEST


def _lines(page: Page) -> None:
    """Queries and keys as two columns, joined by lines; a click picks a query."""
    names = {name: page.words(f"lines_{name}") for name in lines.WORDS}

    def drawn(page: Page) -> Scene:
        return lines.scene(_seen(page), "attention.lines", page.words("lines_title"), names, LINE_PITCH)

    elements.picture(page, drawn, "lines", known=partial(_known, page))
    if len(_seen(page).target) < len(page.token_labels):
        elements.told(
            page, lambda page: [note(page.words("lines_part", share=f"{_seen(page).share:.0%}"))], "lines_part"
        )


def _known(page: Page) -> Known:
    return Known(where=(Cells(page.at("attn.pattern"), (page.view.head, ROW, COLUMN)),))


def _seen(page: Page) -> lines.LinesView:
    pattern = page.trace.head(page.at("attn.pattern"), page.view.head).numpy()
    return lines.LinesView.of(pattern, page.token_labels, page.token_labels, page.token, MOST_LINES)
