"""What was expected of every token of the text, against the one that stands there."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz_model.app import elements, frame, runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.measures import covering
from viz_model.texts.markdown import literal
from viz_model.topics.next_token.claims import EVEN, Surprise
from viz_model.topics.next_token.numbers.views import arrivals_view, covered_view
from viz_model.topics.next_token.pictures.arrivals import ArrivalsView, draw_arrivals
from viz_model.topics.next_token.sections.asked import Asked
from viz_model.topics.next_token.sections.covered import covered


@cached()
def _following(run: runs.RunKey) -> ArrivalsView:
    return arrivals_view(runs.trace(run).at("decoder"))


def following(asked: Asked) -> None:
    """Each token as the one before it expected it."""
    page, has_source = asked.page, len(asked.page.lm.config.sides) > 1
    if len(page.trace) == 1:
        start = frame.start(page.trace, page.t)
        st.info(page.words("one_token_target" if has_source else "one_token", start=start))
        return
    came = _following(page.run_key)
    st.subheader(page.words("arrivals_title", **came.facts()), anchor=False)
    elements.see(page, "arrivals_target" if has_source else "arrivals_text")
    _draw(asked, came, lambda page: draw_arrivals(came, _names(asked, came), page.token + 1))


def in_place(asked: Asked) -> None:
    """Each token covered alone."""
    page = asked.page
    st.info(page.words("no_drawing"), icon=":material/info:")
    if asked.how == "visible":
        return
    part, n_written = covering.part(page.trace, page.token), len(covering.written(page.trace))
    found = covered(page.run_key, part.start, part.stop)
    if not len(found.positions):
        return
    came = covered_view(page.trace, found)
    facts = {**came.facts(), "mask": asked.facts["mask"], "n_written": str(n_written)}
    st.subheader(page.words("arrivals_title", **facts), anchor=False)

    def drawn(page: Page) -> Sheet | None:
        # Another part of a long text takes as many runs again.
        if covering.part(page.trace, page.token) != part:
            return None
        return draw_arrivals(came, _names(asked, came), page.token)

    _draw(asked, came, drawn)
    if len(part) < n_written:
        elements.see(page, "part", **facts)
    if page.lm.tokenizer.mask_id in page.trace.ids[part.start : part.stop]:
        elements.see(page, "left_out", **facts)


def _names(asked: Asked, came: ArrivalsView) -> dict[str, str]:
    parts = ("probability", "bits", "rank", "guesses", *(("visible",) if came.visible is not None else ()))
    return {part: asked.page.words(f"arrivals_{part}") for part in parts}


def _draw(asked: Asked, came: ArrivalsView, drawn: Callable[[Page], Sheet | None]) -> None:
    """As a picture and as a table."""
    page, words = asked.page, asked.shared.words
    elements.figure(page, drawn, "arrivals", page.words("arrivals_alt"), by=("token",))
    surprise = Surprise(float(came.bits.mean()), page.lm.config.n_vocab)
    # A run without norms may be wrong by more than any number holds.
    even = {"even": f"{2 ** min(surprise.bits, surprise.blind):,.1f}", "n_vocab": f"{surprise.n_vocab:,}"}
    said = EVEN.says(page.t.language, surprise, **even, blind=f"{surprise.blind:.2f}")
    elements.see(page, "arrivals", hardest=literal(came.labels[came.bits.argmax()]), **came.facts(), even=said)
    with st.expander(words("arrivals_table")):
        elements.records(page, "arrivals", {words(f"column_{name}"): at for name, at in came.columns().items()})
