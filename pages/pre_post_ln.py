"""Pre-LN / Post-LN: one sentence through two models that differ only in where the norm stands."""

from typing import Any

import streamlit as st

from viz_model.figures import twins
from viz_model.ui import runs
from viz_model.ui.stage import open_stage
from viz_model.ui.texts import LANGUAGES, literal

stage = open_stage("pre_post_ln")
view, trace, words = stage.view, stage.trace, stage.words
if stage.lm.twin not in runs.names():
    st.info(words("no_twin", model=literal(view.model)))
    st.stop()
names = {lm.config.norm_at: lm.name for lm in (stage.lm, runs.model(stage.lm.twin))}
traces = {side: runs.trace(names[side], trace.text) for side in twins.NAMES}
token = {"token": stage.token_name(), "layer": view.layer, "n": len(trace)}


def show(place: Any, name: str, figure: Any, facts: dict[str, str], *sites: str) -> None:
    said = {key: literal(value) if key.endswith("_top") else value for key, value in facts.items()} | token
    said |= {key: words(value) for key, value in facts.items() if key.endswith("_word")}
    with place:
        st.markdown(f"#### {words(f'{name}_title', **said)}")
        stage.figure(figure, name, words(f"{name}_alt"))
        stage.see(name, **said)
        stage.source(*sites)


blocks = {side: twins.BlockView.of(traces[side], view.layer, stage.token) for side in twins.NAMES}
picture, see = stage.split()
with picture:
    stations = {kind: stage.t(f"common.map_{kind}") for kind in ("norm", "attention", "ffn")}
    stage.figure(twins.draw_blocks(blocks, stations, stage.lm.config.norm_at), "blocks", words("blocks_alt"))
    stage.source(*(stage.at(site) for site in ("resid.in", "attn.out", "resid.mid", "ffn.out", "resid.out")))
with see:
    stage.see(**token, **twins.lengths(blocks))

choices = twins.PredictionsView.twins(traces, stage.token)
figure = twins.draw_predictions(choices, twins.NAMES, twins.TWIN_MARKS)
show(st.container(), "predictions", figure, choices.facts(), "logits", "probs")
depth = twins.DepthView.of(traces, stage.token)
stream = ("embed.out", stage.at("resid.mid"), stage.at("resid.out"))
first, second, third = (st.columns(2, gap="large") for _ in range(3))
show(first[0], "norms", twins.draw_norms(depth, words("length")), depth.facts(), *stream)
if len(trace) > 1:
    show(first[1], "alike", twins.draw_similarity(depth, words("cosine")), depth.facts(), *stream)
    pull = twins.GradientsView.of({side: runs.gradients(names[side], trace.text) for side in twins.NAMES})
    figure = twins.draw_gradients(pull, words("gradient"))
    show(second[0], "gradients", figure, pull.facts(), "embed.out", stage.at("resid.out"))
else:
    second[0].info(words("one_token_alike"))
    second[1].info(words("one_token_gradient"))

bare = twins.PredictionsView.final_norm(traces["pre"], stage.token)
figure = twins.draw_predictions(bare, {name: words(f"{name}_norm") for name in bare.probs}, twins.NORM_MARKS)
facts = bare.facts() | {"changed": str(twins.bare_top_changes(traces["pre"]))}
beside = second if len(trace) > 1 else first
show(beside[1], "final", figure, facts, f"blocks.{stage.lm.config.n_layers - 1}.resid.out", "logits")
logs = {side: runs.training_log(names[side]) for side in twins.NAMES}
if all(logs.values()):
    curves = twins.CurvesView.of(logs)
    show(third[0], "loss", twins.draw_loss(curves, words("step"), words("loss")), curves.facts())
    if curves.languages:
        figure = twins.draw_held_out(curves, LANGUAGES, words("step"), words("bits_per_byte"))
        show(third[1], "held_out", figure, curves.facts())

formula, hand, code, numbers = stage.tabs()
with formula:
    stage.see("formula")
    stage.formula(*(stage.at(site) for site in ("attn.norm.out", "resid.mid", "resid.out")), "logits")
with hand:
    stage.see("hand", **twins.by_hand(traces, view.layer, stage.token), **token)
with code:
    stage.code(layer=view.layer)
with numbers:
    stage.table("residual-stream", depth.table(), depth.sites, [words(f"column_{n}") for n in range(6)], "depth")
stage.question()
