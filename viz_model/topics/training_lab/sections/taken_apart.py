"""The four tabs of this page."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.texts.markdown import literal
from viz_model.topics.training_lab.choices import COLUMN
from viz_model.topics.training_lab.numbers import by_hand
from viz_model.topics.training_lab.sections.run import finished
from viz_model.training import lab


def formula(page: Page) -> None:
    elements.see(page, "formula")


def hand(page: Page) -> None:
    """One step of AdamW for one weight, in the numbers of the run."""
    run = finished()
    if run is None or run.experiment.update is None:
        elements.see(page, "hand_none")
        return
    update = run.experiment.update
    last = len(update.before) - 1
    column = min(page.chosen(COLUMN), last)
    elements.control(page, COLUMN, st.number_input, 0, last, value=column, step=1)
    elements.see(page, "hand", **by_hand.by_hand(update, column), watched=literal(lab.WATCHED))


def code(page: Page) -> None:
    elements.code(page)


def numbers(page: Page) -> None:
    """Every report of the run."""
    run = finished()
    if run is None:
        elements.see(page, "numbers_none")
        return
    elements.records(page, "training", by_hand.columns(run.experiment.reports, run.experiment.held_out, page.words))
