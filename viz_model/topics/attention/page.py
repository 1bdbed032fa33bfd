"""Attention: which tokens each token reads, head by head, and the arithmetic behind one row."""

import streamlit as st

from viz_model.app import controls, texts
from viz_model.app.page import Stage, show
from viz_model.topics.attention.pictures import attention
from viz_model.topics.attention.sections import caveats, heads, mask_editor


def draw(stage: Stage) -> None:
    trace, words, config = stage.trace, stage.words, stage.lm.config
    layer, head, token = stage.view.layer, stage.view.head, stage.token
    sight = attention.sight(trace, layer)
    grid = heads.of_layer(stage.asked, trace.stack.side, layer)
    steps = attention.StepsView.of(trace, layer, head, token)
    strongest = int(steps.pattern.argmax())
    said = {"head": head, "layer": layer, "token": stage.token_name(), "key": stage.token_name(strongest)}
    shared = attention.shared_facts(config, head)

    picture, see = stage.split()
    with picture:
        heads.grid(stage, grid)
    with see:
        stage.see(**said, strongest=said["key"], weight=f"{steps.pattern[strongest]:.0%}")
        marks = ", ".join(texts.literal(mark) for mark in grid.marks)
        st.markdown(words(f"about_{grid.summaries[head].kind}", marks=marks))
        stage.see(f"see_{sight}", size=config.window(trace.stack.side, layer))
        if shared:
            stage.see("see_shared", **shared)
        if grid.pool > 1:
            st.caption(words("pooled", pool=grid.pool))
        if config.kind == "encoder_decoder" and "cross_attention" in stage.pages:
            st.page_link(
                stage.pages["cross_attention"],
                label=stage.t("common.page_cross_attention"),
                icon=":material/arrow_forward:",
            )

    st.subheader(words("one_head", **said), anchor=False)
    matrix = controls.choose(stage, "matrix", attention.matrices(trace, layer), "pattern")
    wide, narrow = st.columns([3, 2], gap="medium")
    with wide:
        heads.large(stage, matrix)
    with narrow:
        heads.joined(stage, trace.head(stage.at("attn.pattern"), head).numpy())

    def one_query() -> None:
        heads.forms(stage, attention.FormsView.of(trace, layer, head, token, strongest), said)
        heads.steps(stage, steps)

    def care() -> None:
        caveats.section(stage)

    def what_if() -> None:
        mask_editor.section(stage)

    stage.parts({"steps": one_query, "care": care, "what_if": what_if})
    st.divider()

    def formula() -> None:
        stage.see(attention.heads_text(config), **attention.sizes(config))
        if shared:
            stage.see("heads_shared", **shared, d_head=config.d_head)
        stage.formula(*attention.formulas(trace, layer))

    def hand() -> None:
        stage.see("hand", **said)
        sums = attention.by_hand(steps, strongest) | attention.heads_by_hand(trace, layer, token)
        for n, part in enumerate(attention.hand_parts(steps, config), start=1):
            stage.see(f"hand_{part}", n=n, **sums)

    def code() -> None:
        stage.code(sites=attention.code(trace, layer))

    def numbers() -> None:
        site = stage.at(f"attn.{matrix}")
        exact = trace.head(site, head).numpy()
        stage.table(f"{trace.full_name(site)}[{head}]", exact, stage.token_labels, stage.token_labels, "matrix")

    stage.tabs(formula, hand, code, numbers)
    stage.question(*(("question_two_way", "answer_two_way") if "two_way" in sight else ()))


def run() -> None:
    """Open the page."""
    show("attention", draw)
