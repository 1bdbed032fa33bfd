"""What a model that reads pictures says at its end: a class."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from viz_model.app import elements, patches
from viz_model.app.elements import Answer, Guess, Worked
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs
from viz_model.drawing.scene import Scene
from viz_model.drawing.writing import percent
from viz_model.topics.next_token.numbers.classes import Classes, by_depth, classes
from viz_model.topics.next_token.pictures import classes as pictures


@dataclass(frozen=True)
class Said:
    """The classes of the run; None of a model that ends in vectors."""

    page: Page
    view: Classes | None

    @classmethod
    def of(cls, page: Page) -> Said:
        return cls(page, classes(page.trace) if page.lm.config.classes else None)

    @property
    def facts(self) -> dict[str, object]:
        view = self.view
        assert view is not None
        first, second = view.order[:2]
        return {
            "class": view.names[first],
            "share": percent(float(view.probs[first])),
            "logit": f"{view.logits[first]:+.3f}",
            "second": view.names[second],
            "second_share": percent(float(view.probs[second])),
            "second_logit": f"{view.logits[second]:+.3f}",
            "n": len(view.labels),
            "d_model": self.page.lm.config.d_model,
        }


def section(given: Said) -> None:
    page = given.page
    if given.view is None:
        st.info(page.words("no_classes"), icon=":material/info:")
        return
    st.subheader(page.words("class_title", **given.facts), anchor=False)
    picture, see = elements.split()
    with picture:
        elements.picture(page, _drawn, "classes", by=())
        elements.source(page, "class.logits", "class.probs")
    with see:
        elements.see(page, "see_classes", **given.facts)


def _drawn(page: Page) -> Scene:
    words = page.words("picture_name"), page.words("classes_name")
    return pictures.bars(
        classes(page.trace), patches.pixels(page.trace), "next_token.classes", page.words("classes_alt"), words
    )


def depth(given: Said) -> None:
    """What would be said after fewer blocks."""
    if given.view is None:
        return
    page = given.page

    def drawn(page: Page) -> Scene:
        rows = [page.words("depth_before"), *(page.words("depth_after", layer=n) for n in range(page.trace.n_layers))]
        said, view = classes(page.trace), by_depth(page.trace)
        shown = said.order[: pictures.COLUMNS] if len(said.labels) > pictures.COLUMNS else range(len(said.labels))
        labels = [said.labels[n] for n in shown]
        return pictures.depth(view.probs[:, list(shown)], labels, rows, "next_token.depth", page.words("depth_alt"))

    elements.picture(page, drawn, "depth", by=())
    elements.see(page, "see_depth", **given.facts)
    if len(given.view.labels) > pictures.COLUMNS:
        elements.see(page, "see_depth_most", most=pictures.COLUMNS, **given.facts)


def formula(given: Said) -> None:
    if given.view is not None:
        elements.formula(given.page, "class.logits", "class.probs")


def hand(given: Said) -> None:
    if given.view is None:
        return
    at = (given.view.top,)
    numbers = [
        Worked(("next_token.hand_class",), "class.logits", at),
        Worked(("next_token.hand_class_share",), "class.probs", at),
    ]
    elements.worked(given.page, numbers, **given.facts)


def code(given: Said) -> None:
    sites = ("class.probs", "class.logits") if given.view is not None else (given.page.trace.leaving,)
    elements.code(given.page, sites=sites)


def numbers(given: Said) -> None:
    if given.view is None:
        return
    page, view = given.page, given.view
    columns = {
        page.words("column_class"): list(view.names),
        page.words("column_logit"): view.logits.tolist(),
        page.words("column_share"): view.probs.tolist(),
    }
    elements.records(page, "classes", columns)


def question(given: Said) -> None:
    elements.question(given.page, guess=_guess(given))


def _guess(given: Said) -> Guess | None:
    """Which class comes second."""
    view = given.view
    if view is None or len(view.labels) < 3:
        return None
    page, offered = given.page, sorted(view.order[1:6])
    second = view.order[1]
    said = page.words("guess_second_found", **given.facts)
    options = {str(n): view.labels[n] for n in offered}
    return Guess(page.words("guess_second", **given.facts), options, lambda: Answer(str(second), said))


LAYOUT = Layout(
    of=Said.of,
    sections=(section, Door("depth", (depth,))),
    tabs=Tabs(formula, hand, code, numbers),
    question=question,
)
