"""The next token: logits become probabilities, sampling keeps some of them, and one token is drawn."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from viz_model.app import controls, runs, state
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.runs.generation import Sampling
from viz_model.runs.trace import Trace
from viz_model.topics.next_token.pictures import next_token
from viz_model.topics.next_token.sections import cache, draws
from viz_model.topics.next_token.sections import choice as chosen


def show(stage: Stage) -> None:
    config, words = stage.lm.config, stage.words
    if stage.trace.side != "decoder":
        # The encoder predicts nothing: what it read comes out of the decoder.
        trace = stage.trace.at("decoder")
        stage = replace(stage, trace=trace, token=len(trace) - 1)
        st.caption(words("from_the_encoder", token=stage.token_name()))
    trace = stage.trace
    sampling = controls.sampling(stage)
    choice = next_token.ChoiceView.of(trace, stage.token, sampling)
    said = {**chosen.facts(choice), "token": stage.token_name()}
    st.subheader(words("choice_title", **said), anchor=False)
    picture, see = stage.split()
    with picture:
        chosen.picture(stage, choice, said, words("choice_alt"))
    with see:
        stage.see(**said)
        stage.see("see_greedy" if sampling.temperature == 0 else "see_all" if choice.kept.all() else "see_some", **said)
    draws.tail(stage, choice, sampling)
    _draw(stage, sampling)
    cache.section(stage, sampling)
    if len(trace) > 1:
        came = _arrivals(stage.asked, trace)
        st.subheader(words("arrivals_title", **came.facts()), anchor=False)
        stage.see("arrivals_target" if config.kind == "encoder_decoder" else "arrivals_text")
        chosen.arrivals(stage, came, stage.token + 1)
    else:
        st.info(words("one_token_target" if config.kind == "encoder_decoder" else "one_token", start=stage.start))

    def formula() -> None:
        chosen.formula(stage)

    def hand() -> None:
        chosen.hand(stage, trace, choice, "hand_intro")

    def code() -> None:
        stage.code(
            "next_token",
            sites=("logits", "probs"),
            token=stage.token,
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
        )

    def numbers() -> None:
        chosen.numbers(stage, choice, said)

    stage.tabs(formula, hand, code, numbers)
    stage.question()


@st.cache_resource(show_spinner=False, max_entries=64)
def _arrivals(asked: runs.RunKey, _trace: Trace) -> next_token.ArrivalsView:
    with runs.alone():
        return next_token.ArrivalsView.of(_trace)


def _draw(stage: Stage, sampling: Sampling) -> None:
    """Tokens drawn one after the other."""
    trace, words, end = stage.trace, stage.words, stage.lm.tokenizer.end_of_text
    is_target = stage.lm.config.kind == "encoder_decoder"
    st.subheader(words("draw_title"), anchor=False)
    if any(edit.names_positions for edit in trace.edits):
        stage.see("not_with_positions")
        return
    row = st.container(horizontal=True, vertical_alignment="bottom")
    seed = controls.in_view(stage, row.number_input, "seed", stage.view.seed, 0, state.MAX_SEED, width=150)
    place = (stage.asked, sampling, seed)
    at, count = st.session_state.get("next_token.count", (place, 0))
    steps = runs.drawn(*place, count) if at == place and count else ()
    ended = bool(steps) and steps[-1].token.id == end
    for name, more in (("one_more", 1), ("ten_more", 10), ("start_over", -len(steps))):
        change = {"next_token.count": (place, min(next_token.MOST_DRAWN, len(steps) + more))}
        idle = ended or len(steps) == next_token.MOST_DRAWN if more > 0 else not steps
        row.button(
            words(name), key=f"next_token.{name}", on_click=st.session_state.update, args=(change,), disabled=idle
        )
    again = (len(steps), lambda other: (stage.asked, sampling, other), seed)
    row.button(
        words("another_seed"),
        key="next_token.another_seed",
        on_click=draws.another_seed,
        args=again,
        disabled=not steps or sampling.temperature == 0,
    )
    longer = next_token.longer(trace, steps[: len(steps) - ended])
    kept = {"target" if is_target else "text": longer, "token": None}
    keep = words("keep_target" if is_target else "keep")
    row.button(keep, key="next_token.keep", on_click=state.update, kwargs=kept, disabled=len(steps) == ended)
    if not steps:
        stage.see("none_drawn_target" if is_target else "none_drawn")
        return
    draws.show(stage, steps, seed, sampling)
    said = {"n": len(steps), "token": literal(steps[-1].token.label), "most": next_token.MOST_DRAWN}
    stage.see("drawn_end" if ended else "drawn", **said)
