"""Sinusoidal positions: fixed waves added to the embedding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Guess
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs
from viz_model.topics.position import figures, numbers
from viz_model.topics.position.choices import PAIR, RANGE, WHOLE
from viz_model.topics.position.claims import SLOWEST
from viz_model.topics.position.numbers import by_hand, views
from viz_model.topics.position.pictures.waves import WavesView, draw_waves
from viz_model.topics.position.sections import embedding, scores, turning
from viz_model.topics.position.sections.worked import worked


@dataclass(frozen=True)
class Wave:
    """One pair of waves, and its arithmetic at the chosen token, for prose."""

    page: Page
    pair: int
    facts: dict[str, str]

    @classmethod
    def of(cls, page: Page) -> Wave:
        last = page.lm.config.d_model // 2 - 1
        chosen = page.chosen(PAIR)
        pair = figures.first_wave(page.subject) if chosen is None else min(chosen, last)
        facts = by_hand.wave_facts(page.trace, page.token, pair)
        return cls(page, pair, {**facts, "token": page.token_name()})

    @property
    def columns(self) -> tuple[int, int]:
        return numbers.wave_columns(self.page.lm.config, self.pair)


def curves(given: Wave) -> None:
    page, pair = given.page, given.pair
    elements.see(page, "waves_lead")
    picture, see = elements.split()
    with picture:
        last = page.lm.config.d_model // 2 - 1
        if last:
            elements.control(page, PAIR, st.slider, 0, last, value=pair)
        reach = elements.choose(
            page,
            RANGE,
            ("text", "context"),
            format_func=lambda option: page.words(f"range_{option}", context=page.lm.config.n_context),
            help=None,
            label_visibility="collapsed",
        )
        labels = scores.words(page, "waves", "pair", "dimension", "beyond", "axis")

        def view_of(page: Page) -> WavesView:
            return views.waves_view(page.trace, page.token, pair, whole_context=reach == "context")

        alt = page.words("waves_alt", pair=pair)
        elements.figure(page, lambda page: draw_waves(view_of(page), labels), "waves", alt, by=("token",))
        elements.source(page, "embed.position")
    with see:
        elements.told(page, _tell, "see", by=("token",))


def _tell(page: Page) -> Iterator[str]:
    given = Wave.of(page)
    wavelength = numbers.wavelength(page.lm.config, given.pair)
    yield page.prose("see", **{**given.facts, "wavelength": f"{wavelength:,.1f}"})


def matrix(given: Wave) -> None:
    page = given.page
    st.subheader(page.words(f"matrix_{numbers.scheme(page.lm.config).layout}"), anchor=False)
    elements.shown(page, lambda page: figures.waves(page.subject, given.columns), "matrix", by=("token",))
    elements.source(page, "embed.position")


def alike(given: Wave) -> None:
    page = given.page
    view = views.similarity_view(page.trace, page.token)
    embedding.alike(page, view, page.words("similarity", near=f"{view.at(1):.2f}"), "")
    elements.see(page, "similarity", near=f"{view.at(1):.4f}", **embedding.context(page))


def total(given: Wave) -> None:
    embedding.total(given.page, lambda page: given.columns)


def ends(given: Wave) -> None:
    elements.see(given.page, "beyond", **given.facts)


def formula(given: Wave) -> None:
    page = given.page
    sites = ("embed.position", "embed.token", "embed.out")
    elements.formula(page, *(site for site in sites if site in page.trace))
    wavelength = f"{numbers.wavelength(page.lm.config, given.pair):,.4f}"
    elements.see(page, "wavelength", **{**given.facts, "wavelength": wavelength})


def hand(given: Wave) -> None:
    worked(given.page, *(("embed.position", (given.page.token, column)) for column in given.columns))
    embedding.sum_by_hand(given.page, given.columns[0])
    elements.see(given.page, "textbook", **by_hand.textbook())


def question(given: Wave) -> None:
    slowest = SLOWEST.says(given.page.t.language, numbers.turns(given.page.lm.config), **given.facts)
    elements.question(given.page, guess=_guess, here=slowest, **given.facts)


def _guess(page: Page) -> Guess | None:
    return turning.guess(page, numbers.turns(page.lm.config))


LAYOUT = Layout(
    of=Wave.of,
    sections=(curves, matrix, Door("alike", (alike,)), Door("sum", (total, ends), (WHOLE,))),
    tabs=Tabs(formula, hand, embedding.code, embedding.tables),
    question=question,
)
