"""The whole distribution in falling order, and what each filter keeps of it."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.app.texts import row
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import percent
from viz_model.topics.next_token.claims import KEPT
from viz_model.topics.next_token.pictures.tail import TailView, draw_tail
from viz_model.topics.next_token.sections.asked import Asked


def _view(asked: Asked) -> TailView:
    return TailView.of(asked.choice, asked.sampling)


def _facts(asked: Asked, view: TailView) -> dict[str, str]:
    return {**asked.facts, **view.facts()}


def _drawn(asked: Asked) -> Sheet:
    view, words = _view(asked), asked.shared.words
    facts = _facts(asked, view)
    names = {name: words(f"tail_{name}", **facts) for name in ("model", "kept", "dropped", "p", "mass", "rank")}
    names |= {cut.name: words(f"tail_{cut.name}", n=f"{cut.n_kept:,}") for cut in view.cuts}
    return draw_tail(view, names)


def section(asked: Asked) -> None:
    page, view = asked.shared, _view(asked)
    words, facts = page.words, _facts(asked, view)
    st.subheader(KEPT.label(page.t.language, asked.choice.counts, **facts), anchor=False)
    picture, see = elements.split()
    with picture:

        def alt(page: Page) -> str:
            asked = Asked.at(page)
            return asked.shared.words("tail_alt", **_facts(asked, _view(asked)))

        elements.figure(page, lambda page: _drawn(Asked.at(page)), "tail", alt, by=("token",))
        elements.source(page, "probs")
    with see:
        temperature = "greedy" if view.temperature == 0 else "one" if view.temperature == 1 else "other"
        elements.see(page, f"tail_{temperature}", **facts)
        lines = [row(words(f"tail_column_{name}") for name in ("filter", "kept", "dropped")), "|---|---:|---:|"]
        for name, n_kept, kept, n_dropped, dropped in view.rows():
            lines.append(row((words(name), f"{n_kept:,} · {percent(kept)}", f"{n_dropped:,} · {percent(dropped)}")))
        if view.cuts:
            st.markdown("\n".join(lines))
        elements.see(page, "tail_read")
