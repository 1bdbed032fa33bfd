"""What stands for the table where a model reads pictures: patches times the filters of a projection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import streamlit as st

from viz_model.app import elements, state
from viz_model.app.elements import Guess, Option, Said, Worked, note, title
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs
from viz_model.drawing.scene import Scene
from viz_model.drawing.strips import StripsView, scaled
from viz_model.measures import patches
from viz_model.topics.embedding.choices import FILTER
from viz_model.topics.embedding.numbers import filters
from viz_model.topics.embedding.pictures import filters as pictures


class Patch(NamedTuple):
    """A patch, counted from 0, under the chosen filter; where [CLS] is chosen, the one with most ink."""

    page: Page
    patch: int
    view: filters.Filtered

    @classmethod
    def of(cls, page: Page) -> Patch:
        patch = (page.token or patches.fullest(page.trace)) - 1
        chosen = page.chosen(FILTER)
        known = chosen is not None and chosen < page.lm.config.d_model
        number = chosen if known and chosen is not None else filters.strongest(page.trace, patch)
        return cls(page, patch, filters.filtered(page.trace, patch, number))

    @property
    def facts(self) -> dict[str, object]:
        view = self.view
        inked = int((patches.of(self.page.trace)[self.patch] > 0).sum())
        return {
            "patch": self.page.token_name(self.patch + 1),
            "number": view.number,
            "n_filters": len(view.filters),
            "n_pixels": view.patch.size,
            "n_inked": inked,
            "paper": f"{self.page.trace['patches.pixels'].min():+.2f}",
            "sum": f"{view.products.sum():+.3f}",
            "bias": f"{view.bias:+.3f}",
            "value": f"{view.value:+.4f}",
        }


def section(given: Patch) -> None:
    page = given.page
    elements.told(page, _title, "filter_title", by=("token",))
    elements.picture(page, _worked, "worked", by=("token",))
    elements.source(page, "patches.pixels", "patches.projected")
    elements.told(page, _tell, "filter", by=("token",))


def _title(page: Page) -> Iterator[Said]:
    facts = Patch.of(page).facts
    if page.token == 0:
        yield note(page.words("class_has_none", **facts))
    yield title(page.words("filter_title", **facts))


def _tell(page: Page) -> Iterator[str]:
    yield page.prose("see_filter", **Patch.of(page).facts)


def _labels(given: Patch) -> dict[str, str]:
    return {
        name: given.page.words(f"worked_{name}", **given.facts)
        for name in ("picture", "patch", "filter", "product", "value")
    }


def _worked(page: Page) -> Scene:
    given = Patch.of(page)
    pixels, grid = patches.pixels(page.trace), patches.grid(page.trace.config)
    title = page.words("worked_alt", **given.facts)
    return pictures.worked(given.view, pixels, grid, given.patch, _labels(given), "embedding.worked", title)


def all_filters(given: Patch) -> None:
    page = given.page
    st.subheader(page.words("filters_title", **given.facts), anchor=False)

    def drawn(page: Page) -> Scene:
        given = Patch.of(page)
        answers = page.trace["patches.projected"][given.patch].numpy()
        words = page.words
        return pictures.grid(given.view, "embedding.filters", words("filters_alt"), "", words("filters_name"), answers)

    def pick(number: Any) -> None:
        state.update(**state.choose(page.name, (FILTER, int(number))))

    elements.picture(page, drawn, "filters", by=("token",), on_pick=pick)
    elements.see(page, "see_filters", **given.facts)


def vectors(given: Patch) -> None:
    """The vectors of all positions, before places are added."""
    page = given.page

    def drawn(page: Page) -> StripsView:
        values, names = page.trace["embed.patch"].numpy(), patches.names(page.trace, page.t)
        rows = tuple(scaled(name, row) for name, row in zip(names, values, strict=True))
        return StripsView(rows, page.dimension_labels, 200)

    elements.heat_rows(page, drawn, "vectors", page.words("vectors_alt"), by=())
    elements.source(page, "embed.patch")
    elements.see(page, "see_vectors", n=len(page.trace), d_model=page.lm.config.d_model)


def formula(given: Patch) -> None:
    elements.formula(given.page, "patches.pixels", "patches.projected", "embed.patch")


def hand(given: Patch) -> None:
    at = (given.patch, given.view.number)
    elements.worked(given.page, [Worked(("embedding.hand_filter",), "patches.projected", at)], **given.facts)


def code(given: Patch) -> None:
    elements.code(given.page, sites=("patches.projected", "patches.pixels", "embed.patch"))


def numbers(given: Patch) -> None:
    page = given.page
    values = page.trace["embed.patch"].numpy()
    names = patches.names(page.trace, page.t)
    elements.table(page, "embed.patch", values, names, page.dimension_labels, "matrix")


def question(given: Patch) -> None:
    elements.question(given.page, guess=_guess)


def _guess(page: Page) -> Guess | None:
    """Which of some patches the filter answers most."""
    number = Patch.of(page).view.number
    answers, names = page.trace["patches.projected"][:, number], patches.names(page.trace, page.t)[1:]
    picked = {*elements.spread(len(names), 4), int(answers.argmax())}
    options = {n: Option(names[n], float(answers[n]), names[n]) for n in sorted(picked)}
    return elements.largest(page, options, "{:+.3f}".format, "guess_filter", number=number)


LAYOUT = Layout(
    of=Patch.of,
    sections=(section, all_filters, Door("patches", (vectors,))),
    tabs=Tabs(formula, hand, code, numbers),
    question=question,
)
