"""The four tabs, and the question."""

from __future__ import annotations

from viz_model.app import elements
from viz_model.app.elements import Guess, Option
from viz_model.app.page import Page
from viz_model.texts.markdown import literal
from viz_model.topics.embedding.numbers import by_hand
from viz_model.topics.embedding.sections.row import Row


def formula(given: Row) -> None:
    names = ("tokens.ids", "embed.token", "embed.segment", "embed.norm.out")
    elements.formula(given.page, *(name for name in names if name in given.page.trace))
    elements.see(given.page, "formula", **given.facts)


def hand(given: Row) -> None:
    page = given.page
    worked = by_hand.by_hand(page.trace, given.geometry, page.token, int(given.near.ids[0]))
    elements.see(page, "hand", **{**given.facts, **worked})


def code(given: Row) -> None:
    others = (name for name in given.page.trace.sites if name.startswith(("tokens.", "embed.")))
    elements.code(given.page, sites=("embed.token", *others))


def numbers(given: Row) -> None:
    page, near = given.page, given.near
    values = page.trace["embed.token"].numpy()
    elements.table(page, "embed.token", values, page.token_labels, page.dimension_labels, "matrix")
    columns = (near.ids.tolist(), near.labels, near.cosines.tolist())
    headings = (page.words("id"), given.axes[0], page.words("cosine"))
    elements.records(page, "neighbours", dict(zip(headings, columns, strict=True)))


def question(given: Row) -> None:
    elements.question(given.page, guess=_guess, in_this_run=_here if given.near.labels else "", **given.facts)


def _here(page: Page) -> str:
    return page.prose("here", **Row.of(page).facts)


def _guess(page: Page) -> Guess | None:
    """The nearest row, among others that stand near."""
    near = Row.of(page).near
    picked = elements.spread(len(near.labels), 4)
    rows = {n: Option(literal(near.labels[n]), float(near.cosines[n]), literal(near.labels[n])) for n in picked}
    by_label = dict(sorted(rows.items(), key=lambda row: row[1].label))
    return elements.largest(page, by_label, "{:.2f}".format, token=page.token_name())
