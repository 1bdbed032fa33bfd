"""One distribution, what sampling keeps of it, and one logit of it in the four tabs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import streamlit as st
from torch.distributions import Categorical

from viz_model.app import elements
from viz_model.app.drawn import Drawn
from viz_model.app.elements import Answer, Guess, Said, title
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import percent
from viz_model.texts.markdown import literal
from viz_model.topics.next_token import figures
from viz_model.topics.next_token.choices import MAX_TEMPERATURE, MAX_TOP_K, MIN_TOP_P, TEMPERATURE, TOP_K, TOP_P
from viz_model.topics.next_token.claims import COVERED, KEPT
from viz_model.topics.next_token.numbers import by_hand
from viz_model.topics.next_token.numbers.output import logit_scale, read_site, read_sites
from viz_model.topics.next_token.pictures.guesses import draw_guesses
from viz_model.topics.next_token.pictures.mass import draw_mass
from viz_model.topics.next_token.sections.asked import Asked

GUESSES_SEEN = 5
_OFF = 0


def section(asked: Asked) -> None:
    """The distribution after the chosen position, or in its place."""
    page = asked.page
    if asked.how == "following" and page.view.stack(page.lm.config) != "decoder":
        st.caption(page.words("from_the_encoder", token=page.token_name()))
    _sliders(asked)
    elements.told(page, _title, "title", by=("token",))
    picture, see = elements.split()
    with picture:
        _picture(asked)
    with see:
        elements.told(page, _tell, "see", by=("token",))
        if asked.how == "covered":
            _beside(page)


def _title(page: Page) -> Iterator[Said]:
    asked = Asked.at(page)
    choice, facts = asked.choice, asked.facts
    if asked.how == "covered" and choice.marked is not None:
        yield title(page.verdict(COVERED, choice.marked + 1, **facts))
    else:
        yield title(page.words(f"title_{asked.how}", **facts))


def _tell(page: Page) -> Iterator[str]:
    asked = Asked.at(page)
    choice, facts = asked.choice, asked.facts
    yield page.prose(f"see_{asked.how}", **facts)
    yield page.verdict(KEPT, choice.counts, **facts)
    yield asked.shared.prose("open", **facts)
    if asked.how == "covered":
        own_id = page.trace.ids[page.token]
        share = percent(float(page.trace.row("logits", page.token).softmax(-1)[own_id]))
        yield page.prose("beside", share=share, **facts)


def _sliders(asked: Asked) -> None:
    """Temperature, top-k and top-p, side by side."""
    page = asked.shared
    left, middle, right = st.columns(3, gap="large")
    elements.control(page, TEMPERATURE, left.slider, 0.0, MAX_TEMPERATURE, step=0.05)
    look: dict[str, Any] = {"read": lambda k: k or None, "write": lambda k: k or _OFF}
    look["format_func"] = lambda k: page.words("off") if k == _OFF else str(k)
    elements.control(page, TOP_K, middle.select_slider, [*range(1, MAX_TOP_K + 1), _OFF], **look)
    elements.control(page, TOP_P, right.slider, MIN_TOP_P, 1.0, step=0.05)


def _picture(asked: Asked) -> None:
    """The first twenty tokens, and all of the probability in one bar."""
    page = asked.page
    own = asked.how != "covered"  # else the choice is of another run than the page's
    elements.shown(page, _choice, "choice", own=own, by=("token",))
    elements.figure(
        page,
        lambda page: draw_mass((asked := Asked.at(page)).choice, _names(asked)),
        "mass",
        lambda page: (asked := Asked.at(page)).shared.words("mass_alt", **asked.facts),
        by=("token",),
    )
    elements.source(page, "logits", "probs")


def _choice(page: Page) -> Drawn:
    asked = Asked.at(page)
    return figures.choice(asked.page.subject, asked.choice, asked.sampling, covered=asked.how == "covered")


def _names(asked: Asked) -> dict[str, str]:
    """The words of both pictures."""
    return figures.names(asked.page.subject, asked.choice, covered=asked.how == "covered")


def _beside(page: Page) -> None:
    """What the model says in the same place while it can see the token."""

    def drawn(page: Page) -> Sheet:
        return draw_guesses(page.trace.next_tokens(page.token, GUESSES_SEEN), page.trace.ids[page.token])

    def alt(page: Page) -> str:
        return page.words("visible_alt", **Asked.at(page).facts)

    elements.figure(page, drawn, "visible", alt, by=("token",))


def question(asked: Asked) -> None:
    if asked.how == "visible":
        elements.question(asked.page, "question_visible", "answer_visible", guess=_guess)
    elif asked.how == "following":
        elements.question(asked.page, guess=_guess, in_this_run=_here, **asked.facts)
    else:
        elements.question(asked.page, guess=_guess, **asked.facts)


def _here(page: Page) -> str:
    """How open the choice is at two temperatures."""
    asked = Asked.at(page)
    logits = asked.trace.row("logits", asked.page.token)
    entropies = {t: float(Categorical(logits=logits / t).entropy()) for t in (1, 2)}
    open_ = {f"open_{t}": f"{math.exp(entropy):,.1f}" for t, entropy in entropies.items()}
    return page.prose("here", **asked.facts, **open_)


_COUNTS = (1, 4, 20)
"""Numbers of tokens that end the ranges to guess among; the last range is open."""


def _guess(page: Page) -> Guess:
    """How many tokens share the most probable half."""
    asked = Asked.at(page)
    chances = asked.trace.row("logits", asked.page.token).softmax(-1).sort(descending=True).values
    n = 1 + int((chances.cumsum(-1) < 0.5).sum())
    words = asked.shared.words
    ends = (*_COUNTS, len(chances))
    named = {str(end): words("guess_range", low=low + 1, high=end) for low, end in itertools.pairwise(ends)}
    labels = {"1": "1", **named, str(ends[-1]): words("guess_more", n=_COUNTS[-1])}
    said = words("guess_found", n=f"{n:,}", all=f"{len(chances):,}", **asked.facts)
    return Guess(words("guess", **asked.facts), labels, lambda: Answer(str(next(e for e in ends if n <= e)), said))


def formula(asked: Asked) -> None:
    """From the last vectors to probabilities, and what sampling makes of them."""
    if asked.how != "following":
        elements.see(asked.page, "formula")
    elements.formula(asked.page, *read_sites(asked.page.trace), "logits", "probs")
    elements.see(asked.shared, "formula")


def hand(asked: Asked) -> None:
    """One logit and its softmax."""
    page, words = asked.page, asked.shared.words
    worked = by_hand.by_hand(asked.trace, asked.choice)
    _, token = by_hand.hand_token(asked.choice)
    word = literal(token.label)
    where = {"head": "head", "final": "norm"}.get(read_site(asked.trace).split(".")[0], "block")
    multiplied = words("reads_scaled", **worked) if logit_scale(asked.trace) != 1 else ""
    intro = page.words(f"hand_{asked.how}", word=word, token=page.token_name())
    elements.see(asked.shared, "hand", intro=intro)
    logit = elements.Worked((f"{asked.shared.text_key}.hand_logit",), "logits", (asked.choice.position, token.id))
    facts = {"reads": words(f"reads_{where}"), "multiplied": multiplied, "d_model": worked["d_model"]}
    elements.worked(replace(page, trace=asked.trace), [logit], **facts)
    elements.see(asked.shared, "hand_share", **worked)


def code(asked: Asked) -> None:
    """The page's own lines, and those of the logits."""
    page, sampling = asked.page, asked.sampling
    values = {"temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p}
    elements.code(page, page.text_key, sites=("logits", "probs"), token=page.token, **values)


def numbers(asked: Asked) -> None:
    """The most probable tokens as a table."""
    page, choice = asked.page, asked.choice
    columns = ("logit", "model", "before", "after")
    headings = [asked.shared.words(f"number_{name}", n=len(choice.tokens), **asked.facts) for name in columns]
    elements.table(page, page.text_key, choice.table(), [token.label for token in choice.tokens], headings, "choice")
