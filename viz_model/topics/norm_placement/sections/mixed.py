"""An encoder–decoder whose two stacks have their norms at places of their own."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.drawing.writing import small
from viz_model.topics.norm_placement.choices import MIXED
from viz_model.topics.norm_placement.numbers.mixed import BLOCKS, MOST, PLACES, WIDTH
from viz_model.topics.norm_placement.pictures import depth, gradients
from viz_model.topics.norm_placement.pictures.depth import DepthView
from viz_model.topics.norm_placement.pictures.look import NAMES
from viz_model.topics.norm_placement.sections.comparison import Comparison
from viz_model.topics.norm_placement.sections.fresh import of_two_stacks


def section(shown: Comparison) -> None:
    elements.see(shown.page, "part_mixed", blocks=BLOCKS, width=WIDTH, most=MOST)
    _stacks(shown)


def _stacks(shown: Comparison) -> None:
    """Both stacks of a fresh model, one beside the other."""
    page = shown.page
    if len(page.trace) < 2:
        st.info(page.words("mixed_few"))
        return
    places = elements.choose(page, MIXED, tuple(PLACES))
    found = of_two_stacks(shown.keys[shown.own], page.trace.stack.side, places)
    labels = {name: page.words(name) for name in ("after", "length")}
    for column, (side, at) in zip(st.columns(2, gap="large"), found.places.items(), strict=True):
        view = DepthView({at: found.readings[side]}, {}, None, WIDTH**0.5)
        facts = {**view.facts(at), **gradients.facts(found.gradients[side]), "place": NAMES[at]}
        with column:
            st.markdown(f"#### {page.words(f'mixed_{side}', **facts)}")
            figure = depth.draw_lengths(view, labels["length"], labels)
            elements.figure(page, figure, f"mixed_{side}", page.words("lengths_alt"), own=False)
            elements.see(page, "mixed_stack", **facts)
            elements.see(page, f"mixed_{side}_{at}", **facts)
    elements.see(page, "mixed_again", again=small(found.again))
