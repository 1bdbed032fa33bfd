"""ALiBi: every head subtracts its slope times the distance."""

from __future__ import annotations

import math

import streamlit as st

from viz_model.app.stage import Stage
from viz_model.topics.position import numbers as analysis
from viz_model.topics.position.pictures import bias
from viz_model.topics.position.sections import common


def show(stage: Stage) -> dict[str, str]:
    """Everything up to the question, whose values it returns."""
    trace, view = stage.trace, stage.view
    slopes = analysis.slopes(trace)
    slope = float(slopes[view.head])
    stage.see("alibi_lead")
    picture, see = stage.split()
    with picture:
        curves = bias.CurvesView.of(trace, view.layer, view.head, stage.token, whole=common.whole(stage))
        labels = common.words(stage, "bias", "head", "others", "distance", "added", "bucket")
        stage.figure(bias.draw_curves(curves, labels), "curves", stage.words("alibi_curves_alt"))
        stage.source(stage.at("attn.bias"))
    said = {
        "head": str(view.head),
        "slope": f"{slope:.6g}",
        "factor": f"{math.exp(-slope):.4f}",
        "tenth": f"{math.log(10) / slope:,.1f}",
        "n_heads": str(len(slopes)),
        "steepest": f"{slopes.max():.4g}",
        "flattest": f"{slopes.min():.4g}",
    }
    with see:
        stage.see("alibi_see", **said)
        if stage.lm.config.kind == "encoder_decoder":
            stage.see("self_only")
    st.subheader(stage.words("alibi_slopes", **said), anchor=False)
    names = common.words(stage, "bias", "head", "slope")
    stage.figure(
        bias.draw_slopes(bias.SlopesView.of(trace, view.head), names), "slopes", stage.words("alibi_slopes_alt")
    )
    stage.see("alibi_slopes", **said)
    found, key = common.added(stage, "added_see")
    hand = bias.by_hand(found, key, slope)

    def formula() -> None:
        stage.formula(*(stage.at(f"attn.{name}") for name in ("scores", "bias", "masked", "pattern")))
        stage.see("alibi_formula", **said)

    def by_hand() -> None:
        stage.see("alibi_hand", **hand, token=stage.token_name(), key=stage.token_name(key), head=view.head)

    def code() -> None:
        common.code(stage, stage.at("attn.bias"), "scores", "masked", "pattern")

    def numbers() -> None:
        stage.records("alibi_slopes", {"head": range(len(slopes)), "slope": slopes.tolist()})
        common.bias_table(stage, found)

    stage.tabs(formula, by_hand, code, numbers)
    return said
