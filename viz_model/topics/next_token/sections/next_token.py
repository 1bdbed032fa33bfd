"""The next token: logits become probabilities, sampling keeps some of them, and one token is drawn."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements, frame, runs
from viz_model.app.cache import cached
from viz_model.topics.next_token.numbers.views import arrivals_view
from viz_model.topics.next_token.pictures.arrivals import ArrivalsView
from viz_model.topics.next_token.sections import choice
from viz_model.topics.next_token.sections.question import Following


def section(given: Following) -> None:
    """The distribution after the chosen position."""
    page, facts = given.page, given.facts
    if page.view.stack(page.lm.config) != "decoder":
        st.caption(page.words("from_the_encoder", token=page.token_name()))
    choice.sliders(page)
    st.subheader(page.words("choice_title", **facts), anchor=False)
    picture, see = elements.split()
    with picture:
        choice.picture(page, given.choice, facts, page.words("choice_alt"))
    with see:
        elements.see(page, **facts)
        kept = "greedy" if given.sampling.temperature == 0 else "all" if given.choice.kept.all() else "some"
        elements.see(page, f"see_{kept}", **facts)


@cached()
def _arrivals(run: runs.RunKey) -> ArrivalsView:
    return arrivals_view(runs.trace(run).at("decoder"))


def arrivals(given: Following) -> None:
    """What was expected of each token of the text."""
    page, has_source = given.page, len(given.page.lm.config.sides) > 1
    if len(page.trace) == 1:
        start = frame.start(page.trace, page.t)
        st.info(page.words("one_token_target" if has_source else "one_token", start=start))
        return
    came = _arrivals(page.run_key)
    st.subheader(page.words("arrivals_title", **came.facts()), anchor=False)
    elements.see(page, "arrivals_target" if has_source else "arrivals_text")
    choice.arrivals(page, came, page.token + 1)


def formula(given: Following) -> None:
    choice.formula(given.page)


def hand(given: Following) -> None:
    choice.hand(given.page, given.page.trace, given.choice, "hand_intro")


def code(given: Following) -> None:
    choice.code(given.page, given.sampling)


def numbers(given: Following) -> None:
    choice.numbers(given.page, given.choice, given.facts)
