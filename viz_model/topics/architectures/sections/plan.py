"""The parts that differ: two plans side by side, the formulas of their steps, and the table of all parts."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import components, elements, frame
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.topics.architectures.pictures import parts
from viz_model.topics.architectures.pictures.diagram import DiagramView, Stack, draw_diagram, name_of
from viz_model.topics.architectures.sections.beside import Pair


def section(pair: Pair) -> None:
    page, words = pair.page, pair.page.words
    rows = parts.part_rows(*pair.lms)
    facts = pair.names | parts.part_facts(rows, words, page.listed)
    st.subheader(words("plan_title", **facts), anchor=False)
    picture, see = elements.split()
    for which, (place, one) in enumerate(zip(picture.columns(2), pair.both, strict=True)):
        with place:
            _plan(pair, which, words("plan_alt", model=one.lm.name))
    with see:
        elements.see(page, **facts)
        for which, (view, one) in enumerate(zip(_views(pair), pair.both, strict=True)):
            if view.changed():
                with st.expander(words("plan_formulas", model=one.lm.name)):
                    _formulas(pair, which)


def _views(pair: Pair) -> tuple[DiagramView, DiagramView]:
    first, second = (Stack(one.lm.config, one.side, one.layer) for one in pair.both)
    return DiagramView.pair(first, second)


def _plan(pair: Pair, which: int, alt: str) -> None:
    """One of the two; layers may be built in more than one way."""

    def draw(page: Page) -> Sheet:
        there = pair.at(page)
        return draw_diagram(_views(there)[which], page.words, there.both[which].lm.name, which, page.t.site_label)

    elements.figure(pair.page, draw, f"plan{which}", alt, by=("layer",))


def _formulas(pair: Pair, which: int) -> None:
    """Of the steps that the other has otherwise, or not at all."""

    def tell(page: Page) -> Iterator[str]:
        for element in _views(pair.at(page))[which].changed():
            formulas = "\n\n".join(f"${site.formula}$" for site in element.sites)
            yield f"**{name_of(element, page.words, page.t.site_label)}**\n\n{formulas}"

    elements.told(pair.page, tell, f"formulas{which}", by=("layer",))


def parts_table(pair: Pair) -> None:
    """All parts of both, first those that differ."""
    page, words = pair.page, pair.page.words
    rows = parts.part_rows(*pair.lms)
    scene = parts.parts_scene(rows, (pair.own.lm.name, pair.other.lm.name), words, page.t)
    components.parts(scene, key="architectures.parts", on_pick=frame.go)
