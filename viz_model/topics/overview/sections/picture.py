"""What the model expects, where it looked hardest, and the whole run in one picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st

from viz_model.app import elements, frame
from viz_model.app.drawn import Drawn
from viz_model.app.page import Page
from viz_model.drawing.writing import percent
from viz_model.measures.classes import classes
from viz_model.texts.markdown import literal
from viz_model.topics.overview import figures
from viz_model.topics.overview.claims import LOOK, NEXT, Next, Seen
from viz_model.topics.overview.numbers import Look
from viz_model.topics.overview.numbers.things_to_try import ending, is_covered
from viz_model.topics.overview.sections.run import Run


def section(run: Run) -> None:
    page, trace, view = run.page, run.page.trace, run.view
    elements.told(page, _tell, "answer", by=("token",))
    elements.see(page, "lengths")

    def drawn(page: Page) -> Drawn:
        return figures.overview(page.subject, Run(page).view)

    elements.shown(page, drawn, "picture", by=("token",), on_pick=_open)
    sites = ("embed.token", "embed.position", page.at("attn.pattern"))
    elements.source(page, *(name for name in sites if name in trace))
    if view.pool > 1:
        st.caption(page.words("pooled", pool=view.pool))
    if len(view.blocks) < view.n_layers:
        st.caption(page.words("folded", shown=len(view.blocks), n_layers=view.n_layers))


def _tell(page: Page) -> Iterator[str]:
    run, trace = Run(page), page.trace
    look, which = run.look("attn"), ending(trace)
    if which == "next" and (best := run.best):
        guess, chance = best
        yield page.verdict(NEXT, Next(chance, guess.id == trace.tokenizer.end_of_text), **run.facts)
    elif page.lm.config.classes:
        yield page.prose("finding_class", **classes(trace).facts)
    else:
        yield page.prose(f"finding_{'covered' if is_covered(trace, page.token) else which}", **run.facts)
    yield page.verdict(LOOK, Seen(page.token, look), **_seen(page, look))
    if "blocks.0.cross.pattern" in trace and (read := run.look("cross")):
        source = literal(trace.at("encoder").tokens[read.position].label)
        yield page.prose("look_source", **{**_seen(page, read), "seen": source})


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
