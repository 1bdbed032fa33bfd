"""The covered token: what an encoder expects in the place of a token that it cannot see."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.drawing.writing import percent
from viz_model.topics.next_token.numbers import masked
from viz_model.topics.next_token.numbers.views import covered_view
from viz_model.topics.next_token.pictures.guesses import draw_guesses
from viz_model.topics.next_token.sections import choice
from viz_model.topics.next_token.sections.covered import covered
from viz_model.topics.next_token.sections.question import Covered

GUESSES_SEEN = 5


def section(given: Covered) -> None:
    """The distribution in the place of the chosen token."""
    page, facts, is_covered = given.page, given.facts, given.how == "covered"
    choice.sliders(page)
    title = given.how if not is_covered else "first" if given.choice.marked == 0 else "later"
    st.subheader(page.words(f"title_{title}", **facts), anchor=False)
    picture, see = elements.split()
    with picture:
        true_token = page.words("true_token")
        choice.picture(page, given.choice, facts, page.words("choice_alt"), true_token, own=not is_covered)
    with see:
        elements.see(page, f"see_{given.how}", **facts)
        is_greedy, keeps_all = given.sampling.temperature == 0, given.choice.kept.all()
        elements.see(page, "greedy" if is_greedy else "kept_all" if keeps_all else "kept_some", **facts)
        if is_covered:
            _beside(given)


def _beside(given: Covered) -> None:
    """What the model says in the same place while it can see the token."""
    page, own_id = given.page, given.page.trace.ids[given.page.token]
    guesses = page.trace.next_tokens(page.token, GUESSES_SEEN)
    share = percent(float(page.trace.row("logits", page.token).softmax(-1)[own_id]))
    elements.see(page, "beside", share=share, **given.facts)
    figure = draw_guesses(guesses, own_id)
    elements.figure(page, figure, "visible", page.words("visible_alt", **given.facts))


def arrivals(given: Covered) -> None:
    """Every token of the text covered alone, against what stands there."""
    page = given.page
    st.info(page.words("no_drawing"), icon=":material/info:")
    if given.how == "visible":
        return
    part, n_written = masked.part(page.trace, page.token), len(masked.written(page.trace))
    found = covered(page.run_key, part.start, part.stop)
    if not len(found.positions):
        return
    came = covered_view(page.trace, found)
    facts = {**came.facts(), "mask": given.facts["mask"], "n_written": str(n_written)}
    st.subheader(page.words("arrivals_title", **facts), anchor=False)
    choice.arrivals(page, came, page.token)
    if len(part) < n_written:
        elements.see(page, "part", **facts)
    if page.lm.tokenizer.mask_id in page.trace.ids[part.start : part.stop]:
        elements.see(page, "left_out", **facts)


def formula(given: Covered) -> None:
    elements.see(given.page, "formula")
    choice.formula(given.page)


def hand(given: Covered) -> None:
    choice.hand(given.page, given.trace, given.choice, f"hand_{given.how}")


def code(given: Covered) -> None:
    choice.code(given.page, given.sampling)


def numbers(given: Covered) -> None:
    choice.numbers(given.page, given.choice, given.facts)


def question(given: Covered) -> None:
    if given.how == "visible":
        elements.question(given.page, "question_visible", "answer_visible")
    else:
        elements.question(given.page, mask=given.facts["mask"])
