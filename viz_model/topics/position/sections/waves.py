"""Sinusoidal positions: fixed waves added to the embedding."""

from __future__ import annotations

import streamlit as st

from viz_model.app.stage import Stage
from viz_model.topics.position import numbers as analysis
from viz_model.topics.position.numbers import by_hand as worked
from viz_model.topics.position.numbers import views
from viz_model.topics.position.pictures.matrix import draw_matrix
from viz_model.topics.position.pictures.similarity import draw_by_distance, draw_similarity
from viz_model.topics.position.pictures.waves import draw_waves
from viz_model.topics.position.sections import common


def show(stage: Stage) -> dict[str, str]:
    """Everything up to the question, whose values it returns."""
    trace, token, config = stage.trace, stage.token, stage.lm.config
    axes = (stage.t("common.axis_token"), stage.t("common.axis_dimension"))
    last = config.d_model // 2 - 1
    layout = analysis.scheme(config).layout
    stage.see("waves_lead")
    picture, see = stage.split()
    with picture:
        pair = common.index(stage, "pair", last, last // 12)
        reach = st.segmented_control(
            stage.words("range"),
            ["text", "context"],
            key="position.range",
            default="text",
            format_func=lambda option: stage.words(f"range_{option}", context=config.n_context),
            label_visibility="collapsed",
            required=True,
        )
        view = views.waves_view(trace, token, pair, whole_context=reach == "context")
        labels = common.words(stage, "waves", "pair", "dimension", "beyond", "axis")
        stage.figure(draw_waves(view, labels), "waves", stage.words("waves_alt", pair=pair))
        stage.source("embed.position")
    hand, ends = worked.by_hand(trace, token, pair), worked.ends(trace)
    with see:
        stage.see(**hand, **ends, token=stage.token_name(), wavelength=f"{view.wavelength:,.1f}")
    st.subheader(stage.words(f"matrix_{layout}"), anchor=False)
    matrix = views.matrix_view(trace, "embed.position", token, axes, limit=1.0)
    stage.figure(draw_matrix(matrix, view.columns), "matrix", stage.words("matrix_alt"))
    stage.source("embed.position")
    _alike(stage)
    common.sum_strips(stage, view.columns)

    def formula() -> None:
        stage.formula("embed.position", *(site for site in ("embed.token", "embed.out") if site in trace))
        stage.see("wavelength", **{**ends, **hand, "wavelength": f"{view.wavelength:,.4f}"})

    def by_hand() -> None:
        stage.see("hand", token=stage.token_name(), **hand)

    def code() -> None:
        common.code(stage, "embed.position")

    def numbers() -> None:
        common.sum_table(stage)
        common.position_table(stage)

    stage.tabs(formula, by_hand, code, numbers)
    stage.see("beyond", **ends)
    return ends


def _alike(stage: Stage) -> None:
    alike = common.rows_alike(stage)
    st.subheader(stage.words("similarity", near=f"{alike.at(1):.2f}"), anchor=False)
    square, curve = st.columns(2, gap="large")
    axis = stage.t("common.axis_token")
    with square:
        stage.figure(draw_similarity(alike, (axis, axis)), "similarity", stage.words("similarity_alt"))
    with curve:
        names = (stage.words("distance"), stage.words("cosine"))
        stage.figure(draw_by_distance(alike, names), "distance", stage.words("distance_alt"))
    stage.source("embed.position")
    stage.see("similarity", near=f"{alike.at(1):.4f}", spread=f"{alike.spread:.0e}", **common.context(stage))
