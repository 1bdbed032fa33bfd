"""Pre-LN / Post-LN: one sentence through two models that differ only in where the norm stands, or through one.

Then what the place of the norm does in any model: before its first step, and in its first steps.
"""

import streamlit as st

from viz_model.app.stage import Stage, show
from viz_model.topics.norm_placement.pictures import twins
from viz_model.topics.norm_placement.sections import norm_lab, norm_placement


def draw(stage: Stage) -> None:
    page = norm_placement.Comparison(stage)

    norm_placement.introduce(page)
    norm_placement.blocks(page)

    norm_placement.section(page, f"sentence{page.alone}")
    first, second = (st.columns(2, gap="large") for _ in range(2))
    depth = norm_placement.by_depth(page, *first)
    norm_placement.pull(page, second[0])
    norm_placement.final(page, second[1])
    if not page.alone:
        norm_placement.predictions(page)

    norm_lab.start(page)
    warmup = norm_lab.warmup(page)
    if not page.alone:
        norm_lab.training(page)

    st.divider()

    def formula() -> None:
        stage.see("formula")
        stage.formula(*page.sites("attn.norm.out", "resid.mid", "resid.cross", "resid.out"))

    def hand() -> None:
        stage.see("hand", **page.say({}))
        for place, said in twins.by_hand(page.traces, stage.view.layer, stage.token).items():
            stage.see(f"hand_{place}", **said)

    def code() -> None:
        stage.code(layer=stage.view.layer)

    def numbers() -> None:
        kinds = range(4 if depth.untrained else 3)
        columns = [f"{twins.NAMES[side]}: {page.words(f'column_{n}')}" for side in page.traces for n in kinds]
        stage.table("residual-stream", depth.table(), depth.sites, columns, "depth")
        stage.records("warmup-runs", warmup.table())

    stage.tabs(formula, hand, code, numbers)
    if page.own == "post" and page.alone:
        stage.question("question_post", "answer_post")
    else:
        stage.question()


def run() -> None:
    """Open the page."""
    show("norm_placement", draw, without={"head"})
