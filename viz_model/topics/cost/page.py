"""Cost: what grows with the square of the text, counted and measured, and what that answers."""

import streamlit as st

from viz_model.app.stage import Stage, show
from viz_model.topics.cost import numbers as counting
from viz_model.topics.cost.numbers import by_hand
from viz_model.topics.cost.pictures.times import TimesView
from viz_model.topics.cost.sections import cost as parts


def draw(stage: Stage) -> None:
    config, side, length = stage.lm.config, stage.trace.stack.side, len(stage.trace)

    parts.counted(stage)
    parts.measured(stage)
    parts.waiting(stage)
    parts.order(stage)
    parts.many(stage)
    parts.generated(stage)
    parts.stacks(stage)

    def formula() -> None:
        stage.see("formula", **by_hand.sizes(config))
        parts.fits(stage)

    def hand() -> None:
        stage.see("hand", **by_hand.by_hand(config, length))

    def code() -> None:
        stage.code(layer=stage.view.layer)

    def numbers() -> None:
        words = parts.names(stage, *counting.Multiplications._fields, "length", *counting.PARTS)
        stage.records("multiplications", by_hand.count_columns(config, side, length, parts.n_source(stage), words))
        if found := parts.readings(stage):
            st.caption(stage.words("readings"))
            stage.records("readings", TimesView.of(found, config).columns(words))

    stage.tabs(formula, hand, code, numbers)
    stage.question()


def run() -> None:
    """Open the page."""
    show("cost", draw, without={"head"})
