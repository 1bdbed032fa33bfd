"""What the model expects, where it looked hardest, and the whole run in one picture."""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz_model.app import elements, frame
from viz_model.app.drawn import Drawn
from viz_model.app.page import Page
from viz_model.app.texts import literal
from viz_model.drawing.writing import percent
from viz_model.topics.next_token.numbers.classes import classes
from viz_model.topics.overview import figures
from viz_model.topics.overview.claims import LOOK, NEXT, Next, Seen
from viz_model.topics.overview.numbers import Look
from viz_model.topics.overview.numbers.things_to_try import ending, is_covered
from viz_model.topics.overview.sections.run import Run


def section(run: Run) -> None:
    _tell(run)
    page, trace, view = run.page, run.page.trace, run.view

    def drawn(page: Page) -> Drawn:
        return figures.overview(page.subject, Run.of(page).view)

    elements.shown(page, drawn, "picture", by=("token",), on_pick=_open)
    sites = ("embed.token", "embed.position", page.at("attn.pattern"))
    elements.source(page, *(name for name in sites if name in trace))
    if view.pool > 1:
        st.caption(page.words("pooled", pool=view.pool))
    if len(view.blocks) < view.n_layers:
        st.caption(page.words("folded", shown=len(view.blocks), n_layers=view.n_layers))


def _tell(run: Run) -> None:
    page, trace, look, read = run.page, run.page.trace, run.view.look, run.view.read
    which = ending(trace)
    if which == "next":
        guess = Next(run.view.next_tokens[0][1], run.view.next_ids[0] == trace.tokenizer.end_of_text)
        elements.say(page, NEXT, guess, **run.facts)
    elif page.lm.config.classes:
        elements.see(page, "finding_class", **classes(trace).facts)
    else:
        elements.see(page, f"finding_{'covered' if is_covered(trace, page.token) else which}", **run.facts)
    elements.say(page, LOOK, Seen(page.token, look), **_seen(page, look))
    if read:
        source = literal(trace.at("encoder").tokens[read.position].label)
        elements.see(page, "look_source", **{**_seen(page, read), "seen": source})
    elements.see(page, "lengths")


def _seen(page: Page, look: Look | None) -> dict[str, object]:
    """For prose: of a look which token, how much, and in which head."""
    if look is None:
        return {}
    return {"weight": percent(look.weight), "layer": look.layer, "head": look.head} | (
        {"seen": page.token_name(look.position)} if look.position < len(page.trace) else {}
    )


def _open(place: dict[str, Any]) -> None:
    """A click on a heading opens its stage, on the head that stands there."""
    frame.go(place.pop("page"), **place)
