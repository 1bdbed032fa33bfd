"""The covered token: what an encoder expects in the place of a token that it cannot see."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from viz_model.app import controls, runs
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.drawing.writing import percent
from viz_model.topics.next_token.numbers import masked
from viz_model.topics.next_token.pictures import next_token
from viz_model.topics.next_token.sections import choice as chosen
from viz_model.topics.next_token.sections import draws

GUESSES_SEEN = 5


def show(stage: Stage) -> None:
    seen, words, mask_id = stage.trace, stage.words, stage.lm.tokenizer.mask_id
    own_id = seen.ids[stage.token]
    is_typed = own_id == mask_id
    covers = mask_id is not None and not is_typed
    trace = runs.masked(stage.asked, stage.token) if covers else seen
    mask = literal(stage.lm.tokenizer.token(mask_id).label) if mask_id is not None else ""

    sampling = controls.sampling(replace(stage, text_key="next_token"))
    choice = next_token.ChoiceView.of(trace, stage.token, sampling, marked_id=own_id if covers else None)
    said = {**chosen.facts(choice), "token": stage.token_name(), "mask": mask, "position": str(stage.token)}
    how = "typed" if is_typed else "visible" if not covers else "first" if choice.marked == 0 else "later"
    st.subheader(words(f"title_{how}", **said), anchor=False)
    picture, see = stage.split()
    with picture:
        chosen.picture(stage, choice, said, words("choice_alt"), words("true_token"), own=not covers)
    with see:
        stage.see(f"see_{'covered' if covers else how}", **said)
        stage.see("greedy" if sampling.temperature == 0 else "kept_all" if choice.kept.all() else "kept_some", **said)
        if covers:
            guesses = seen.next_tokens(stage.token, GUESSES_SEEN)
            share = percent(float(seen.row("logits", stage.token).softmax(-1)[own_id]))
            stage.see("beside", share=share, **said)
            stage.figure(next_token.draw_guesses(guesses, own_id), "visible", words("visible_alt", **said))
    draws.tail(stage, choice, sampling)
    st.info(words("no_drawing"), icon=":material/info:")
    if mask_id is not None:
        _cover_all(stage, mask, mask_id)

    def formula() -> None:
        stage.see("formula")
        chosen.formula(stage)

    def hand() -> None:
        chosen.hand(stage, trace, choice, f"hand_{'typed' if is_typed else 'covered' if covers else 'visible'}")

    def code() -> None:
        stage.code(
            "masked_token",
            sites=("logits", "probs"),
            token=stage.token,
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
        )

    def numbers() -> None:
        chosen.numbers(stage, choice, said)

    stage.tabs(formula, hand, code, numbers)
    if mask_id is None:
        stage.question("question_visible", "answer_visible")
    else:
        stage.question(mask=mask)


def _cover_all(stage: Stage, mask: str, mask_id: int) -> None:
    """Every token of the text covered alone, against what stands there."""
    part = masked.part(stage.trace, stage.token)
    found = runs.covered(stage.asked, part.start, part.stop)
    if not len(found.positions):
        return
    came = next_token.ArrivalsView.covered(stage.trace, found)
    said = {**came.facts(), "mask": mask, "n_written": str(len(masked.written(stage.trace)))}
    st.subheader(stage.words("arrivals_title", **said), anchor=False)
    chosen.arrivals(stage, came, stage.token)
    if len(part) < len(masked.written(stage.trace)):
        stage.see("part", **said)
    if mask_id in (stage.trace.ids[position] for position in part):
        stage.see("left_out", **said)
