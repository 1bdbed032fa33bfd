"""Position: the waves that tell the model where a token stands, and their sum with the embedding."""

import streamlit as st

from viz_model.figures import position
from viz_model.ui import state
from viz_model.ui.stage import open_stage

stage = open_stage("position")
trace, t, token = stage.trace, stage.t, stage.token
axes = (t("common.axis_token"), t("common.axis_dimension"))
last_pair = stage.lm.config.d_model // 2 - 1

picture, see = stage.split()
with picture:
    state.follow("position.pair", min(st.session_state.get("position.pair", last_pair // 12), last_pair))
    pair = st.slider(stage.words("pair_slider"), 0, last_pair, key="position.pair", help=stage.words("pair_help"))
    reach = st.segmented_control(
        stage.words("range"),
        ["text", "context"],
        key="position.range",
        default="text",
        format_func=lambda option: stage.words(f"range_{option}", context=stage.lm.config.n_context),
        label_visibility="collapsed",
        required=True,
    )
    waves = position.WavesView.of(trace, token, pair, whole_context=reach == "context")
    words = {key: stage.words(f"waves_{key}") for key in ("pair", "dimension", "beyond", "axis")}
    stage.figure(position.draw_waves(waves, words), "waves", stage.words("waves_alt", pair=pair))
    stage.source("embed.position")
hand, ends = position.by_hand(trace, token, pair), position.ends(trace)
with see:
    stage.see(
        **{key: hand[key] for key in ("position", "pair", "even", "odd", "recorded_sine", "recorded_cosine")},
        **ends,
        token=stage.token_name(),
        wavelength=f"{waves.wavelength:,.1f}",
    )

st.subheader(stage.words("matrix"), anchor=False)
matrix = position.matrix_view(trace, "embed.position", token, axes, limit=1.0)
stage.figure(position.draw_matrix(matrix, pair), "matrix", stage.words("matrix_alt"))
stage.source("embed.position")

alike = position.SimilarityView.of(trace, token)
st.subheader(stage.words("similarity", near=f"{alike.at(1):.2f}"), anchor=False)
square, curve = st.columns(2, gap="large")
with square:
    stage.figure(position.draw_similarity(alike, axes[:1] * 2), "similarity", stage.words("similarity_alt"))
with curve:
    names = (stage.words("distance"), stage.words("cosine"))
    stage.figure(position.draw_by_distance(alike, names), "distance", stage.words("distance_alt"))
stage.see("similarity", near=f"{alike.at(1):.4f}", spread=f"{alike.spread:.0e}", context=ends["context"])

total = position.SumView.of(trace, token)
st.subheader(stage.words("sum", token=stage.token_name()), anchor=False)
whole = st.toggle(stage.words("whole"), key="position.whole")
strip_names = tuple(stage.words(f"strip_{n}") for n in range(1, 4))
if whole:
    views = tuple(position.matrix_view(trace, site, token, axes) for site in total.sites)
    figure = position.draw_sums(views, strip_names, axes[1], pair)
else:
    figure = position.draw_sum(total, strip_names, axes[1], pair)
stage.figure(figure, "sum", stage.words("sum_alt"))
stage.source(*total.sites)
stage.see("sum", token=stage.token_name(), **total.said)

formula, by_hand, code, numbers = stage.tabs()
with formula:
    stage.formula("embed.position", *total.sites[::2])
    stage.see("wavelength", wavelength=f"{waves.wavelength:,.4f}", **{**ends, **hand})
with by_hand:
    stage.see("hand", token=stage.token_name(), **hand)
with code:
    stage.code()
with numbers:
    stage.table(f"embed[{token}]", total.strips, total.sites, stage.dimension_labels, "sum")
    stage.table("embed.position", trace["embed.position"].numpy(), stage.token_labels, stage.dimension_labels, "waves")
stage.see("beyond", **ends)
stage.question(**ends)
