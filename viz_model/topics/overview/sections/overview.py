"""Parts of the overview that stay as they are while a visitor looks around: of a long text they take a while."""

from __future__ import annotations

import functools

import streamlit as st

from viz_model.app import runs
from viz_model.app.stage import Stage
from viz_model.config import Side
from viz_model.topics.overview import numbers as story
from viz_model.topics.overview.pictures import overview


@st.cache_resource(show_spinner=False, max_entries=256)
def _block(asked: runs.RunKey, side: Side, layer: int, pool: int) -> overview.BlockView:
    run = runs.trace(asked).at(side)
    with runs.alone():
        return overview.BlockView.of(run, layer, pool)


@st.cache_resource(show_spinner=False, max_entries=256)
def _look(asked: runs.RunKey, side: Side, token: int, attention: str) -> story.Look | None:
    run = runs.trace(asked).at(side)
    with runs.alone():
        return story.strongest_look(run, token, attention)


@st.cache_resource(show_spinner=False, max_entries=32)
def _along(asked: runs.RunKey, side: Side) -> overview.Along:
    run = runs.trace(asked).at(side)
    with runs.alone():
        return overview.Along.of(run)


def picture(stage: Stage) -> overview.OverviewView:
    """The whole run."""
    place = (stage.asked, stage.trace.stack.side)
    return overview.OverviewView.of(
        stage.trace,
        stage.token,
        stage.view.layer,
        block=functools.partial(_block, *place),
        look=functools.partial(_look, *place, stage.token),
    )


def along(stage: Stage) -> overview.Along:
    """Dimension 0 and the length of every vector on its way up."""
    return _along(stage.asked, stage.trace.stack.side)
