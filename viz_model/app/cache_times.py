"""Below the page on the next token: how long a step takes with the KV cache and without, measured here."""

from dataclasses import replace

import streamlit as st
import torch

from viz_model.app import elements, measuring
from viz_model.app.expander import Door
from viz_model.app.page import Page
from viz_model.measures import kv_cache
from viz_model.measures.kv_cache import Reading
from viz_model.texts.markdown import literal
from viz_model.topics.next_token.times import TIMES, TimesView, draw_times

READINGS = "kv_cache.readings"


def section(given: Page) -> None:
    """A button, the measurement while it runs, and what came out."""
    page = replace(given, text_key="kv_cache", trace=given.trace.at("decoder"))
    words, trace = page.words, page.trace
    wanted = kv_cache.marks(trace)
    if not wanted:
        st.info(words("no_room", context=page.lm.config.n_context))
        return
    found: list[Reading] = st.session_state.get(READINGS, {}).get(page.run_key, [])
    known = {"seconds": f"{kv_cache.BUDGET:.0f}", "threads": torch.get_num_threads(), "n": len(trace)}
    elements.see(page, "measured", most=wanted[-1], **known)
    if trace.changes:
        st.caption(words("without_edits"))
    again = "measure_again" if found else "measure"
    if st.button(words(again), key="kv_cache.measure", icon=":material/timer:"):
        going = kv_cache.measure(trace)
        if taken := measuring.readings(page, going, len(wanted), lambda at: words("measuring", n=f"{at.length:,}")):
            found = st.session_state.setdefault(READINGS, {})[page.run_key] = taken
    if not found:
        return
    view = TimesView.of(found)
    facts = view.facts() | {"model": literal(page.view.model)}
    picture, see = elements.split()
    with picture:
        seconds = float(view.cached[-1]), float(view.fresh[-1])
        st.markdown(f"**{TIMES.says(page.t.language, seconds, **facts)}**")
        elements.picture(page, draw_times(view, page.t), own=False)
    with see:
        elements.see(page, "times", **facts)


DOOR = Door("times", (section,), is_alone=True)
