"""No position scheme: what order is left, measured."""

from __future__ import annotations

import streamlit as st

from viz_model.app.stage import Stage
from viz_model.topics.position import numbers as analysis
from viz_model.topics.position.pictures import order
from viz_model.topics.position.sections import common


def show(stage: Stage) -> dict[str, str]:
    """Everything up to the question, whose values it returns."""
    trace, token = stage.trace, stage.token
    stage.see("none_lead")
    effect = analysis.order_effect(trace, token)
    picture, see = stage.split()
    with picture:
        if effect is None:
            st.info(stage.words("none_short"), icon=":material/swap_horiz:")
        else:
            labels = common.words(stage, "none", "own_mask", "no_mask", "layer", "change")
            stage.figure(order.draw_effect(effect, labels), "effect", stage.words("none_alt"))
        stage.source(stage.at("resid.out"))
    with see:
        if effect is not None:
            values = {
                "token": stage.token_name(),
                "count": token,
                "first": f"{effect.own_mask[0]:.2g}",
                "last": f"{effect.own_mask[-1]:.2g}",
                "largest": f"{effect.no_mask.max():.2g}",
            }
            stage.see("none_see", **values)
            stage.see(f"none_{order.verdict(effect)}")

    def formula() -> None:
        stage.formula("embed.out", *(stage.at(f"attn.{name}") for name in ("scores", "mask", "masked", "pattern")))
        stage.see("none_formula")

    def by_hand() -> None:
        hand = order.by_hand(trace, stage.view.layer, stage.view.head, token)
        terms = "  \n".join(f"{stage.token_name(key)}: ${term}$" for key, term in hand.terms)
        said = {"layer": stage.view.layer, "head": stage.view.head, "sum": hand.total, "recorded": hand.recorded}
        stage.see("none_hand", token=stage.token_name(), terms=terms, **said)

    def code() -> None:
        stage.code("position_none")

    def numbers() -> None:
        if effect is not None:
            stage.records(
                "order_effect",
                {
                    "layer": range(len(effect.own_mask)),
                    "own_mask": effect.own_mask.tolist(),
                    "no_mask": effect.no_mask.tolist(),
                },
            )
        names = stage.token_labels, stage.dimension_labels
        stage.table("embed.out", trace["embed.out"].numpy(), *names, "input")

    stage.tabs(formula, by_hand, code, numbers)
    return {}
