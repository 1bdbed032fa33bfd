"""What the next and the covered token share: one distribution, what sampling keeps of it, one logit by hand.

Its texts are those of the page on the next token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.app.texts import literal
from viz_model.runs.generation import Sampling
from viz_model.runs.trace import Trace
from viz_model.topics.next_token.choices import MAX_TEMPERATURE, MAX_TOP_K, MIN_TOP_P, TEMPERATURE, TOP_K, TOP_P
from viz_model.topics.next_token.numbers import by_hand
from viz_model.topics.next_token.numbers.output import logit_scale, read_site, read_sites
from viz_model.topics.next_token.pictures.arrivals import ArrivalsView, draw_arrivals
from viz_model.topics.next_token.pictures.choice import ChoiceView, draw_choice
from viz_model.topics.next_token.pictures.mass import draw_mass

_OFF = 0


def sliders(page: Page) -> None:
    """Temperature, top-k and top-p, side by side."""
    page = replace(page, text_key="next_token")
    left, middle, right = st.columns(3, gap="large")
    elements.control(page, TEMPERATURE, left.slider, 0.0, MAX_TEMPERATURE, step=0.05)
    elements.control(
        page,
        TOP_K,
        middle.select_slider,
        [*range(1, MAX_TOP_K + 1), _OFF],
        read=lambda k: k or None,
        write=lambda k: k or _OFF,
        format_func=lambda k: page.words("off") if k == _OFF else str(k),
    )
    elements.control(page, TOP_P, right.slider, MIN_TOP_P, 1.0, step=0.05)


def picture(
    page: Page, choice: ChoiceView, facts: Mapping[str, str], alt: str, marked: str = "", *, own: bool = True
) -> None:
    """The first twenty tokens, and all of the probability in one bar; ``marked`` says what a marked token is.

    Without ``own`` the choice is of another run than the page's.
    """
    parts = ("before", "after", "dropped", "model", "kept_mass", "dropped_mass")
    names = {part: page.t(f"next_token.bar_{part}", **facts) for part in parts} | {"marked": marked}
    elements.figure(page, draw_choice(choice, names), "choice", alt, own=own)
    elements.figure(page, draw_mass(choice, names), "mass", page.t("next_token.mass_alt", **facts))
    elements.source(page, "logits", "probs")


def arrivals(page: Page, came: ArrivalsView, selected: int) -> None:
    """What was expected of every token, and the same as a table."""
    parts = ("probability", "bits", "rank", "guesses", *(("visible",) if came.visible is not None else ()))
    names = {part: page.words(f"arrivals_{part}") for part in parts}
    elements.figure(page, draw_arrivals(came, names, selected), "arrivals", page.words("arrivals_alt"))
    elements.see(page, "arrivals", hardest=literal(came.labels[came.bits.argmax()]), **came.facts())
    with st.expander(page.t("next_token.arrivals_table")):
        columns = {page.t(f"next_token.column_{name}"): values for name, values in came.columns().items()}
        elements.records(page, "arrivals", columns)


def formula(page: Page) -> None:
    """From the last vectors to probabilities, and what sampling makes of them."""
    elements.formula(page, *read_sites(page.trace), "logits", "probs")
    st.markdown(page.t.prose("next_token.formula"))


def hand(page: Page, trace: Trace, choice: ChoiceView, which: str) -> None:
    """One logit of ``trace`` and its softmax; ``which`` says what token it is, ``{{word}}`` being its name."""
    worked = by_hand.by_hand(trace, choice)
    word = literal(by_hand.hand_token(choice)[1].label)
    where = {"head": "head", "final": "norm"}.get(read_site(trace).split(".")[0], "block")
    reads = page.t(f"next_token.reads_{where}")
    multiplied = page.t("next_token.reads_scaled", **worked) if logit_scale(trace) != 1 else ""
    intro = page.words(which, word=word, token=page.token_name())
    st.markdown(page.t.prose("next_token.hand", intro=intro, reads=reads, multiplied=multiplied, **worked))


def code(page: Page, sampling: Sampling) -> None:
    """The page's own lines, and those of the logits."""
    values = {"temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p}
    elements.code(page, page.text_key, sites=("logits", "probs"), token=page.token, **values)


def numbers(page: Page, choice: ChoiceView, facts: Mapping[str, str]) -> None:
    """The most probable tokens as a table."""
    columns = ("logit", "model", "before", "after")
    headings = [page.t(f"next_token.number_{name}", n=len(choice.tokens), **facts) for name in columns]
    elements.table(page, page.text_key, choice.table(), [token.label for token in choice.tokens], headings, "choice")
