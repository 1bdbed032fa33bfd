"""Target and source as two columns, joined by lines."""

from __future__ import annotations

from functools import partial

import streamlit as st

from viz_model.app import elements, state
from viz_model.app.page import Page
from viz_model.app.saving import Known
from viz_model.drawing import lines
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.scene import Scene
from viz_model.topics.attention.claims import STRONGEST
from viz_model.topics.attention.numbers.heads import largest
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.choices import SHOWN
from viz_model.topics.cross_attention.sections.weights import Weights


def section(weights: Weights) -> None:
    page, pattern = weights.page, weights.pattern
    row = largest(pattern[page.token])
    picture, see = elements.split()
    with picture:
        elements.choose(page, SHOWN, ("head", "average"))
        names = weights.labels("lines", lines.WORDS)

        def seen(page: Page) -> lines.LinesView:
            target = cross.target_labels(page.trace)
            return lines.LinesView.of(weights.of_head(page), target, weights.source, page.token)

        def drawn(page: Page) -> Scene:
            return lines.scene(
                seen(page), "cross_attention.lines", page.words("lines_title"), names, picks="token" in page.without
            )

        elements.picture(page, drawn, "lines", on_pick=follow, known=partial(_known, weights))
        view = seen(page)
        elements.source(page, page.at("cross.pattern"))
    with see:
        st.subheader(STRONGEST.label(page.t.language, row, **weights.facts), anchor=False)
        of = page.words(f"of_{weights.shown}", **weights.facts)
        elements.say(page, STRONGEST, row, **weights.facts, of=of)
        elements.see(page, f"see_{weights.shown}", **weights.facts)
        if view.weights.shape != pattern.shape:
            st.caption(page.words("window", share=f"{view.share:.0%}"))


def _known(weights: Weights) -> Known:
    page = weights.page
    if weights.shown != "head":
        return Known()
    return Known(where=(Cells(page.at("cross.pattern"), (page.view.head, ROW, COLUMN)),))


def follow(position: int) -> None:
    """Select a token of the target."""
    state.update(side="decoder", token=position)
