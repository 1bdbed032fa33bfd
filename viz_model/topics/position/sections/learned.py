"""Learned positions: a trained row for every position, added to the embedding."""

from __future__ import annotations

import numpy as np
import streamlit as st

from viz_model.app.stage import Stage
from viz_model.topics.position.numbers import by_hand as worked
from viz_model.topics.position.numbers import views
from viz_model.topics.position.pictures.matrix import draw_matrix
from viz_model.topics.position.pictures.similarity import SimilarityView, draw_by_distance, draw_similarity
from viz_model.topics.position.sections import common


def show(stage: Stage) -> dict[str, str]:
    """Everything up to the question, whose values it returns."""
    trace, token = stage.trace, stage.token
    axes = (stage.t("common.axis_token"), stage.t("common.axis_dimension"))
    view, alike = views.learned_view(trace), common.rows_alike(stage)
    column = int(np.abs(view.trained[token]).argmax())
    hand = worked.learned_by_hand(trace, token, column)
    stage.see("learned_lead", **hand)
    picture, see = stage.split()
    with picture:
        trained = views.matrix_view(trace, "embed.position", token, axes, limit=view.limit)
        stage.figure(draw_matrix(trained, (column,)), "matrix", stage.words("learned_matrix_alt"))
        stage.source("embed.position")
        st.caption(stage.words("learned_scale", limit=f"{view.limit:.3g}", largest=f"{abs(view.trained).max():.3g}"))
    with see:
        shortest, longest = int(view.lengths.argmin()), int(view.lengths.argmax())
        stage.see(
            "learned_see",
            **hand,
            token=stage.token_name(),
            length=f"{view.lengths[token]:.3f}",
            shortest=f"{view.lengths[shortest]:.3f}",
            longest=f"{view.lengths[longest]:.3f}",
            shortest_at=shortest,
            longest_at=longest,
            wave_length=f"{view.wave_length:.2f}",
        )
    st.subheader(stage.words("learned_waves"), anchor=False)
    paper = views.rows_view(trace, view.waves, "sin, cos", token, axes, limit=1.0)
    stage.figure(draw_matrix(paper), "paper", stage.words("learned_waves_alt"))
    st.caption(stage.words("learned_waves_note"))
    _alike(stage, alike)
    common.sum_strips(stage, (column,))

    def formula() -> None:
        stage.formula("embed.position", *(site for site in ("embed.segment", "embed.out") if site in trace))
        stage.see("learned_formula", **hand)

    def by_hand() -> None:
        stage.see("learned_hand", token=stage.token_name(), **hand)

    def code() -> None:
        common.code(stage, "embed.position")

    def numbers() -> None:
        common.sum_table(stage)
        common.position_table(stage)

    stage.tabs(formula, by_hand, code, numbers)
    return hand


def _alike(stage: Stage, alike: SimilarityView) -> None:
    near, far = f"{alike.at(1):.2f}", f"{alike.at(len(alike.distance) - 1):.2f}"
    st.subheader(stage.words("learned_similarity", near=near), anchor=False)
    square, curve = st.columns(2, gap="large")
    axis = stage.t("common.axis_token")
    with square:
        drawn = draw_similarity(alike, (axis, axis))
        stage.figure(drawn, "similarity", stage.words("learned_similarity_alt"))
    with curve:
        axes = (stage.words("distance"), stage.words("cosine"))
        names = tuple(common.words(stage, "learned_curve", "mean", "range", "waves").values())
        stage.figure(draw_by_distance(alike, axes, names), "distance", stage.words("learned_distance_alt"))
    stage.source("embed.position")
    stage.see(
        "learned_similarity",
        near=near,
        low=f"{alike.low[min(1, len(alike.low) - 1)]:.2f}",
        high=f"{alike.high[min(1, len(alike.high) - 1)]:.2f}",
        far=far,
        waves=f"{alike.waves[min(1, len(alike.waves) - 1)]:.2f}",
        **common.context(stage),
    )
