"""The whole run of a picture, and what the model says of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from viz_model.app import elements, frame
from viz_model.app.elements import Guess, Option
from viz_model.app.page import Page
from viz_model.app.topic import Layout, Tabs, itself
from viz_model.measures.classes import classes
from viz_model.topics.overview import figures
from viz_model.topics.overview.sections import taken_apart
from viz_model.topics.overview.sections.run import Run


def section(page: Page) -> None:
    elements.shown(page, lambda page: figures.drawn(page.subject), "drawn", by=("token",), on_pick=_open)
    if page.lm.config.classes:
        elements.see(page, "finding_class", **classes(page.trace).facts)
    elements.told(page, _tell, "way", by=("token",))


def _tell(page: Page) -> Iterator[str]:
    yield page.prose("see_drawn", token=page.token_name(), n=len(page.trace) - 1)


def _open(place: dict[str, Any]) -> None:
    """A click on a heading opens its stage, on the head that stands there."""
    frame.go(place.pop("page"), **place)


def formula(page: Page) -> None:
    shown = (
        "patches.projected",
        "embed.out",
        page.at("resid.mid"),
        page.at("resid.out"),
        "class.logits",
        "class.probs",
    )
    elements.formula(page, *(name for name in shown if name in page.trace))


def hand(page: Page) -> None:
    taken_apart.hand(Run(page))


def code(page: Page) -> None:
    elements.code(page, "picture_overview")


def numbers(page: Page) -> None:
    taken_apart.numbers(Run(page))


def question(page: Page) -> None:
    elements.question(page, "question_drawn", "answer_drawn", guess=_guess)


def _guess(page: Page) -> Guess | None:
    """In which block's stream the chosen position is longest."""
    trace = page.trace
    lengths = [float(trace.row(f"blocks.{n}.resid.out", page.token).norm()) for n in range(trace.n_layers)]
    names = {n: page.t("common.guess_block", n=n) for n in elements.spread(trace.n_layers)}
    options = {n: Option(name, lengths[n], name) for n, name in names.items()}
    return elements.largest(page, options, "{:.1f}".format, "guess_longest", token=page.token_name())


LAYOUT = Layout(of=itself, sections=(section,), tabs=Tabs(formula, hand, code, numbers), question=question)
