"""The parts that differ: two plans side by side, the formulas of their steps, and the table of all parts."""

from __future__ import annotations

import streamlit as st

from viz_model.app import components, elements, frame
from viz_model.topics.architectures.pictures import parts
from viz_model.topics.architectures.pictures.diagram import DiagramView, Stack, draw_diagram, name_of
from viz_model.topics.architectures.sections.beside import Pair


def section(pair: Pair) -> None:
    page, words, label = pair.page, pair.page.words, pair.page.t.site_label
    rows = parts.part_rows(*pair.lms)
    facts = pair.names | parts.part_facts(rows, words, page.listed)
    st.subheader(words("plan_title", **facts), anchor=False)
    picture, see = elements.split()
    views = DiagramView.pair(*(Stack(one.lm.config, one.side, one.layer) for one in pair.both))
    for which, (place, one) in enumerate(zip(picture.columns(2), pair.both, strict=True)):
        with place:
            figure = draw_diagram(views[which], words, one.lm.name, which, label)
            elements.figure(page, figure, f"plan{which}", words("plan_alt", model=one.lm.name))
    with see:
        elements.see(page, **facts)
        for view, one in zip(views, pair.both, strict=True):
            if changed := view.changed():
                with st.expander(words("plan_formulas", model=one.lm.name)):
                    for element in changed:
                        formulas = "\n\n".join(f"${site.formula}$" for site in element.sites)
                        st.markdown(f"**{name_of(element, words, label)}**\n\n{formulas}")


def parts_table(pair: Pair) -> None:
    """All parts of both, first those that differ."""
    page, words = pair.page, pair.page.words
    rows = parts.part_rows(*pair.lms)
    scene = parts.parts_scene(rows, (pair.own.lm.name, pair.other.lm.name), words, page.t)
    components.parts(scene, key="architectures.parts", on_pick=frame.go)
