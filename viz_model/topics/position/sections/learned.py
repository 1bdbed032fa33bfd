"""Learned positions: a trained row for every position, added to the embedding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st
import torch

from viz_model.app import elements
from viz_model.app.elements import Guess, Option
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs
from viz_model.drawing.sheet import Sheet
from viz_model.topics.position import figures
from viz_model.topics.position.choices import WHOLE
from viz_model.topics.position.numbers import by_hand, views
from viz_model.topics.position.numbers.views import LearnedView
from viz_model.topics.position.pictures.matrix import draw_matrix
from viz_model.topics.position.sections import embedding, scores
from viz_model.topics.position.sections.worked import worked


@dataclass(frozen=True)
class Rows:
    """The text's trained rows; ``column`` is where the chosen token's is furthest from 0, ``facts`` its arithmetic."""

    page: Page
    view: LearnedView
    column: int
    facts: dict[str, str]

    @classmethod
    def of(cls, page: Page) -> Rows:
        view = views.learned_view(page.trace)
        column = view.column(page.token)
        facts = by_hand.row_by_hand(page.trace, page.token, column)
        return cls(page, view, column, {**facts, "token": page.token_name()})

    @property
    def axes(self) -> tuple[str, str]:
        return self.page.t("common.axis_token"), self.page.t("common.axis_dimension")


def matrix(given: Rows) -> None:
    page, view = given.page, given.view
    elements.see(page, "learned_lead", **given.facts)
    picture, see = elements.split()
    with picture:
        elements.shown(page, lambda page: figures.learned(page.subject, view), "matrix", by=("token",))
        elements.source(page, "embed.position")
        st.caption(page.words("learned_scale", limit=f"{view.limit:.3g}", largest=f"{abs(view.trained).max():.3g}"))
    with see:
        elements.told(page, _tell, "see", by=("token",))


def _tell(page: Page) -> Iterator[str]:
    given = Rows.of(page)
    view = given.view
    shortest, longest = int(view.lengths.argmin()), int(view.lengths.argmax())
    yield page.prose(
        "learned_see",
        **given.facts,
        length=f"{view.lengths[page.token]:.3f}",
        shortest=f"{view.lengths[shortest]:.3f}",
        longest=f"{view.lengths[longest]:.3f}",
        shortest_at=shortest,
        longest_at=longest,
        wave_length=f"{view.wave_length:.2f}",
    )


def waves(given: Rows) -> None:
    page = given.page
    st.subheader(page.words("learned_waves"), anchor=False)

    def drawn(page: Page) -> Sheet:
        return draw_matrix(views.rows_view(page.trace, given.view.waves, "sin, cos", page.token, given.axes, limit=1.0))

    elements.figure(page, drawn, "paper", page.words("learned_waves_alt"), by=("token",))
    st.caption(page.words("learned_waves_note"))


def alike(given: Rows) -> None:
    page = given.page
    view = views.similarity_view(page.trace, page.token)
    near, next_ = f"{view.at(1):.2f}", min(1, len(view.distance) - 1)
    curves = tuple(scores.words(page, "learned_curve", "mean", "range", "waves").values())
    embedding.alike(page, view, page.words("learned_similarity", near=near), "learned_", curves)
    elements.see(
        page,
        "learned_similarity",
        near=near,
        low=f"{view.low[next_]:.2f}",
        high=f"{view.high[next_]:.2f}",
        far=f"{view.at(len(view.distance) - 1):.2f}",
        waves=f"{view.waves[next_]:.2f}",
        **embedding.context(page),
    )


def total(given: Rows) -> None:
    embedding.total(given.page, lambda page: (given.view.column(page.token),))


def formula(given: Rows) -> None:
    page = given.page
    sites = ("embed.position", "embed.segment", "embed.out")
    elements.formula(page, *(site for site in sites if site in page.trace))
    elements.see(page, "learned_formula", **given.facts)


def hand(given: Rows) -> None:
    worked(given.page, ("embed.position", (given.page.token, given.column)))
    embedding.sum_by_hand(given.page, given.column)


def question(given: Rows) -> None:
    elements.question(given.page, "learned_question", "learned_answer", guess=_guess, **given.facts)


def _guess(page: Page) -> Guess | None:
    """Whose row is most like that of the chosen token's place."""
    rows = page.trace["embed.position"]
    others = [n for n in range(len(rows)) if n != page.token]
    alike = torch.cosine_similarity(rows, rows[page.token][None], dim=-1)
    names = {others[n]: page.words("guess_place", n=others[n]) for n in elements.spread(len(others), 4)}
    options = {n: Option(name, float(alike[n]), name) for n, name in names.items()}
    return elements.largest(page, options, "{:.3f}".format, "guess_alike", place=page.token)


LAYOUT = Layout(
    of=Rows.of,
    sections=(matrix, Door("alike", (waves, alike)), Door("sum", (total,), (WHOLE,))),
    tabs=Tabs(formula, hand, embedding.code, embedding.tables),
    question=question,
)
