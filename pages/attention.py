"""Attention: which tokens each token reads, head by head, and the arithmetic behind one row."""

import streamlit as st

from viz_model.analysis import masks
from viz_model.figures import attention, heatmap
from viz_model.ui import components, controls, state
from viz_model.ui.stage import open_stage

stage = open_stage("attention")
view, trace, t = stage.view, stage.trace, stage.t
pattern_site = stage.at("attn.pattern")

grid = attention.GridView.of(trace, view.layer)
steps = attention.StepsView.of(trace, view.layer, view.head, stage.token)
strongest = int(steps.pattern.argmax())
picture, see = stage.split()
header, patterns = attention.scene(grid, view.head)
words = {key: stage.words(f"grid_{key}") for key in ("head", "hint", "masked")}
kinds = {kind: stage.words(f"kind_{kind}") for kind in attention.KINDS}


def pick(head: int) -> None:
    state.update(head=head)


with picture:
    components.grid({**header, "words": {**words, "kinds": kinds}}, patterns, key="attention.grid", on_pick=pick)
    stage.source(pattern_site)
with see:
    stage.see(
        token=stage.token_name(),
        strongest=stage.token_name(strongest),
        weight=f"{steps.pattern[strongest]:.0%}",
        head=view.head,
        layer=view.layer,
        kind=stage.words(f"about_{grid.summaries[view.head].kind}"),
    )
    if grid.pool > 1:
        st.caption(stage.words("pooled", pool=grid.pool))

st.subheader(stage.words("one_head", head=view.head, layer=view.layer), anchor=False)
matrix, mask = controls.matrix_and_mask(stage, attention.MATRICES)
axes = t("common.axis_query"), t("common.axis_key")
large = attention.head_view(trace, view.layer, view.head, stage.token, axes, matrix, mask)
wide, narrow = st.columns([3, 2], gap="medium")
drawn = heatmap.draw(large, square=True)
with wide:
    stage.figure(drawn, "head", stage.words("head_alt", head=view.head, layer=view.layer))
    stage.source(stage.at(f"attn.{matrix}" if mask == "causal" else "attn.scores"))
    if mask != "causal":
        st.caption(stage.words(f"masks_{mask}_note"))
with narrow:
    lines = attention.LinesView.of(trace, view.layer, view.head, stage.token)
    stage.figure(attention.draw_lines(lines, axes, drawn.layout.height), "lines", stage.words("lines_alt"))

st.subheader(stage.words("five_steps", token=stage.token_name()), anchor=False)
names = tuple(stage.words(f"step_{n}") for n in range(1, 6))
stage.figure(attention.draw_steps(steps, names), "steps", stage.words("steps_alt"))
stage.source(stage.at("attn.scores"), stage.at("attn.masked"), pattern_site, stage.at("attn.z"))

formula, hand, code, numbers = stage.tabs()
with formula:
    config = stage.lm.config
    stage.see("heads", n_heads=config.n_heads, d_head=config.d_head, d_model=config.d_model)
    stage.formula(*(stage.at(f"attn.{name}") for name in ("q", "k", "v", "scores", "mask", "pattern", "z", "out")))
with hand:
    sums = attention.by_hand(steps, strongest) | attention.heads_by_hand(trace, view.layer, stage.token)
    stage.see("hand", **sums, token=stage.token_name(), key=stage.token_name(strongest))
with code:
    stage.code(layer=view.layer, head=view.head)
with numbers:
    exact = masks.matrices(trace, view.layer, view.head, mask)[matrix]
    stage.table(large.site, exact, large.rows, large.columns, "matrix")
stage.question()
