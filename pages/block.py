"""Block: one token's vector on its way up through a block, its norms, and the hidden neurons that fire."""

import streamlit as st

from viz_model.figures import block
from viz_model.ui import state
from viz_model.ui.stage import open_stage

stage = open_stage("block")
view, trace, t, token = stage.view, stage.trace, stage.t, stage.token
config, tokens, dimensions = stage.lm.config, t("common.axis_token"), t("common.axis_dimension")
side, name, last = config.norm_at, stage.token_name(), config.d_model - 1

strips = block.StripsView.of(trace, view.layer, token)
picture, see = stage.split()
with picture:
    state.follow("block.dimension", min(st.session_state.get("block.dimension", 0), last))
    dimension = st.slider(stage.words("dimension"), 0, last, key="block.dimension", help=stage.words("dimension_help"))
    figure = block.draw_strips(strips, dimension, dimensions, stage.words("length"))
    stage.figure(figure, "strips", stage.words("strips_alt"))
    stage.source(*(step.site for step in strips.steps if step.site in trace))
with see:
    stage.see(f"see_{side}", token=name, layer=view.layer, **block.summary(strips))

norms = block.NormsView.of(trace, view.layer, token)
st.subheader(stage.words(f"norms_{norms.trend}", **norms.said), anchor=False)
words = {key: stage.words(key) for key in ("step", "length")}
stage.figure(block.draw_norms(norms, words), "norms", stage.words("norms_alt"))
stage.source("embed.out", stage.at("resid.mid"), stage.at("resid.out"))
stage.see(f"norms_{side}", root=f"{config.d_model**0.5:.2f}", d_model=config.d_model)

st.subheader(stage.words("layer_norm", token=name), anchor=False)
which = st.segmented_control(
    stage.words("which"),
    ["attn", "ffn"],
    key="block.which",
    default="attn",
    format_func=lambda option: stage.words(f"which_{option}_{side}"),
    label_visibility="collapsed",
    required=True,
)
norm = block.NormView.of(trace, stage.at(f"{which}.norm"), token)
left, right = st.columns(2, gap="large")
with left:
    words = {key: stage.words(f"norm_{key}") for key in ("1", "2", "3", "near", "values", "axis")}
    stage.figure(block.draw_norm(norm, words), "norm", stage.words("norm_alt"))
with right:
    stage.figure(block.draw_parameters(norm, dimension, dimensions), "parameters", stage.words("parameters_alt"))
    stage.see("why_layer_norm", d_model=config.d_model)
stage.source(*(f"{norm.site}.{part}" for part in ("mean", "scale", "out")))

neurons = block.NeuronsView.of(trace, view.layer, token)
fire = {"active": neurons.active[token], "d_ffn": config.d_ffn}
st.subheader(stage.words("neurons", token=name, **fire), anchor=False)
left, right = st.columns(2, gap="large")
with left:
    stage.figure(block.draw_active(neurons, (tokens, stage.words("active"))), "active", stage.words("active_alt"))
    stage.see("neurons", **fire, d_model=config.d_model, times=f"{config.d_ffn / config.d_model:g}")
with right:
    words = {key: stage.words(f"neuron_{key}") for key in ("neuron", "writes", "promotes", "activation")}
    stage.figure(block.draw_neurons(neurons, words), "neurons", stage.words("neurons_alt"))
stage.source(stage.at("ffn.act"))

formula, hand, code, numbers = stage.tabs()
with formula:
    stage.see(f"formula_{side}")
    stage.formula(*(site for site in trace.sites if site.startswith(tuple(map(stage.at, block.FORMULAS)))))
with hand:
    stage.see("hand_norm", token=name, **block.by_hand_norm(norm, dimension))
    stage.see(f"hand_sums_{side}", dimension=dimension, **block.by_hand_sums(strips, dimension))
    stage.see(
        "hand_neuron" if neurons.strongest else "hand_no_neuron", **block.by_hand_neuron(neurons, strips, dimension)
    )
with code:
    stage.code(layer=view.layer)
with numbers:
    stage.table(f"blocks.{view.layer}[{token}]", strips.matrix, strips.names, stage.dimension_labels, "strips")
    stage.table("resid.length", norms.lengths, norms.sites, stage.token_labels, "norms")
stage.question(layer=view.layer)
