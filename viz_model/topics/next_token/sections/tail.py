"""The whole distribution in falling order, and what each filter keeps of it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from viz_model.app import elements
from viz_model.drawing.writing import percent
from viz_model.topics.next_token.pictures.tail import TailView, draw_tail
from viz_model.topics.next_token.sections.question import Covered, Following


def section(given: Following | Covered) -> None:
    """Its texts are those of the page on the next token."""
    page = replace(given.page, text_key="next_token")
    view = TailView.of(given.choice, given.sampling)
    words, facts = page.words, view.facts()
    st.markdown(f"#### {words('tail_title' if view.cuts else 'tail_title_all', **facts)}")
    picture, see = elements.split()
    with picture:
        names = {name: words(f"tail_{name}", **facts) for name in ("model", "kept", "dropped", "p", "mass", "rank")}
        names |= {cut.name: words(f"tail_{cut.name}", n=f"{cut.n_kept:,}") for cut in view.cuts}
        elements.figure(page, draw_tail(view, names), "tail", words("tail_alt", **facts))
        elements.source(page, "probs")
    with see:
        temperature = "greedy" if view.temperature == 0 else "one" if view.temperature == 1 else "other"
        elements.see(page, f"tail_{temperature}", **facts)
        head = [words(f"tail_column_{name}") for name in ("filter", "kept", "dropped")]
        lines = [f"| {' | '.join(head)} |", "|---|---:|---:|"]
        for name, n_kept, kept, n_dropped, dropped in view.rows():
            cells = (words(name), f"{n_kept:,} · {percent(kept)}", f"{n_dropped:,} · {percent(dropped)}")
            lines.append(f"| {' | '.join(cells)} |")
        if view.cuts:
            st.markdown("\n".join(lines))
        elements.see(page, "tail_read")
