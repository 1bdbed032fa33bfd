"""Target and source as two columns, joined by lines."""

from __future__ import annotations

import streamlit as st

from viz_model.app import components, elements, state
from viz_model.drawing import lines
from viz_model.topics.attention.claims import STRONGEST
from viz_model.topics.attention.numbers.heads import largest
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.choices import SHOWN
from viz_model.topics.cross_attention.sections.weights import Weights


def section(weights: Weights) -> None:
    page, pattern = weights.page, weights.pattern
    picture, see = elements.split()
    with picture:
        elements.choose(page, SHOWN, ("head", "average"))
        view = lines.LinesView.of(pattern, cross.target_labels(page.trace), weights.source, page.token)
        header, drawn = lines.scene(view, weights.labels("lines", lines.WORDS))
        components.lines(header, drawn, key="cross_attention.lines", on_pick=follow)
        elements.source(page, page.at("cross.pattern"))
    with see:
        of = page.words(f"of_{weights.shown}", **weights.facts)
        elements.say(page, STRONGEST, largest(pattern[page.token]), **weights.facts, of=of)
        elements.see(page, f"see_{weights.shown}", **weights.facts)
        if view.weights.shape != pattern.shape:
            st.caption(page.words("window", share=f"{view.share:.0%}"))


def follow(position: int) -> None:
    """Select a token of the target."""
    state.update(side="decoder", token=position)
