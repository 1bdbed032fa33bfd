"""Cross-attention: what each token of the target reads of the source, and decoding step by step."""

import streamlit as st

from viz_model.app import components, controls
from viz_model.app.stage import Stage, show
from viz_model.drawing import lines
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.pictures import cross_attention as figures
from viz_model.topics.cross_attention.sections import cross_attention


def draw(stage: Stage) -> None:
    if not cross.exists(stage.lm.config):
        cross_attention.missing(stage)
        return
    stage = cross_attention.seen_from(stage, "decoder")
    view, trace, config, token, words = stage.view, stage.trace, stage.lm.config, stage.token, stage.words
    source, target = cross.source_labels(trace), cross.target_labels(trace)
    pattern_site, dimension = stage.at("cross.pattern"), stage.t("common.axis_dimension")

    picture, see = stage.split()
    with picture:
        shown = controls.choose(stage, "shown", ("head", "average"), "head")
        every = cross.patterns(trace, view.layer)
        pattern = every[view.head] if shown == "head" else every.mean(0)
        said = cross_attention.facts(stage, pattern)
        seen = lines.LinesView.of(pattern, target, source, token)
        header, weights = lines.scene(seen, cross_attention.labels(stage, "lines", lines.WORDS))
        components.lines(header, weights, key="cross_attention.lines", on_pick=cross_attention.follow)
        stage.source(pattern_site)
    with see:
        stage.see(f"see_{shown}", **said)
        if seen.weights.shape != pattern.shape:
            st.caption(words("window", share=f"{seen.share:.0%}"))

    st.subheader(words(f"maps_{shown}", **said), anchor=False)
    cross_attention.maps(stage, every, pattern, shown)

    st.subheader(words("steps_title", **said), anchor=False)
    padded = controls.choose(stage, "mask", ("none", "padding"), "none") == "padding"
    steps = cross.steps(trace, view.layer, view.head, token, padded=padded)
    rows = cross_attention.labels(stage, "step", figures.STEPS)
    cells = {} if padded else cross_attention.step_cells(stage)
    drawn = figures.step_strips(steps, source, rows, scaled=config.scale_scores, cells=cells)
    stage.strips(drawn, "steps", words("steps_alt"))
    if len(source) > figures.MOST_COLUMNS:
        st.caption(words("columns", n=figures.MOST_COLUMNS, total=len(source)))
    stage.source(*(stage.at(f"cross.{site}") for site in ("scores", "masked", "pattern", "z")))
    stage.see("padding" if padded else "no_mask")
    written = cross.written(trace, view.layer, token)
    left, right = st.columns([3, 2], gap="large")
    names = cross_attention.labels(stage, "sum", figures.SUMS)
    with left:
        drawn = figures.sum_strips(written, names, dimension, config.norm_at, cross_attention.sum_cells(stage))
        stage.strips(drawn, "sum", words("sum_alt"))
    with right:
        stage.figure(figures.draw_heads(written, view.head, names), "heads", words("heads_alt"))
    stage.source(*(stage.at(site) for site in ("resid.mid", "cross.head_out", "cross.out", "resid.cross")))

    st.subheader(words("reading_title", **said), anchor=False)
    stage.see("reading", **said)
    stage.records("reading", cross_attention.reading(stage))
    decoding = cross_attention.decoding(stage, pattern, shown)
    cross_attention.wiring(stage, said)

    def formula() -> None:
        stage.see("formula")
        stage.formula(*(site for site in trace.sites if cross_attention.is_formula(stage, site)))

    def hand() -> None:
        cross_attention.by_hand(stage, said)

    def code() -> None:
        stage.code(sites=cross_attention.code(stage))

    def numbers() -> None:
        stage.table(pattern_site, pattern, target, source, "pattern")
        stage.table(
            f"{stage.at('cross.steps')}[{view.head}, {token}]", *figures.steps_table(steps, rows, source), "steps"
        )
        stage.records("decoding", decoding)

    stage.tabs(formula, hand, code, numbers)
    stage.question()


def run() -> None:
    """Open the page."""
    show("cross_attention", draw)
