"""What a classifier of pictures or of texts says at its end: a class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Answer, Guess, Worked
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs
from viz_model.drawing.scene import Scene
from viz_model.measures import patches
from viz_model.measures.classes import Classes, by_depth, classes
from viz_model.topics.next_token.pictures import classes as pictures

SITES = ("class.logits", "class.probs")


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
            **view.facts,
            "logit": f"{view.logits[first]:+.3f}",
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
        elements.source(page, *SITES)
    with see:
        elements.see(page, "see_classes", **given.facts)


def _drawn(page: Page) -> Scene:
    picture = None
    if page.lm.config.reads_pictures:
        picture = patches.pixels(page.trace), page.words("picture_name")
    alt, name = page.words("classes_alt"), page.words("classes_name")
    return pictures.bars(classes(page.trace), picture, "next_token.classes", alt, name)


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


def _sites(given: Said) -> tuple[str, ...]:
    """What is taken apart; a classifier of texts has a layer of its own in front."""
    return ("class.act", *SITES) if "class.act" in given.page.trace else SITES


def formula(given: Said) -> None:
    if given.view is not None:
        elements.formula(given.page, *_sites(given))


def hand(given: Said) -> None:
    if given.view is None:
        return
    at = (given.view.top,)
    numbers = [
        Worked((f"{given.page.text_key}.hand_class",), "class.logits", at),
        Worked((f"{given.page.text_key}.hand_class_share",), "class.probs", at),
    ]
    elements.worked(given.page, numbers, **given.facts)


def code(given: Said) -> None:
    sites = _sites(given) if given.view is not None else (given.page.trace.leaving,)
    elements.code(given.page, sites=sites[::-1])


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

OF_TEXT = replace(LAYOUT, sections=(section, depth))
"""Without a door: what is behind it is as short as what is in front of it."""
