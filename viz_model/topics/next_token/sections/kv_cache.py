"""The KV cache while tokens are drawn: what lies in it, what it spares, and the times both ways."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
import torch

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.texts.markdown import literal
from viz_model.topics.architectures.pictures.common import byte_size
from viz_model.topics.cost.sections import measuring
from viz_model.topics.next_token.choices import SEED
from viz_model.topics.next_token.claims import SPARED, TIMES
from viz_model.topics.next_token.numbers import kv_cache
from viz_model.topics.next_token.numbers.kv_cache import Reading
from viz_model.topics.next_token.pictures.cache import FRAME, CacheView, draw_cache, draw_source
from viz_model.topics.next_token.pictures.times import TimesView, draw_times
from viz_model.topics.next_token.pictures.work import WorkView, draw_work
from viz_model.topics.next_token.sections.asked import Asked
from viz_model.topics.next_token.sections.drawn import held

_READINGS = "kv_cache.readings"
_DRAWN = ("key", "value", "layer", "token", "source_token", "length", "bytes", "source")


def section(given: Asked) -> None:
    """The part of the page under its own heading, for the tokens drawn so far; its texts are a file of their own."""
    page, steps = replace(given.page, text_key="kv_cache"), given.steps
    trace, config = page.trace, page.lm.config
    keeps = not any(edit.reads_whole_text for edit in trace.edits)
    kept = held(page.run_key, given.sampling, page.chosen(SEED), len(steps))
    reads = kv_cache.reads(config.n_context, len(trace), len(steps), keeps=keeps)
    labels = [token.label for token in (*trace.tokens, *(step.token for step in steps))]
    source = trace.at("encoder").tokens if len(config.sides) > 1 else ()
    view = CacheView.of(config, kept, labels, [token.label for token in source], reads, len(steps))
    st.subheader(page.words("title", size=byte_size(view.held.n_bytes), **view.facts()), anchor=False)
    _filling(page, view, keeps=keeps, forgets=reads[-1].first > 0)
    _spared(page, len(steps), keeps=keeps)
    _measured(page)


def _filling(page: Page, view: CacheView, *, keeps: bool, forgets: bool) -> None:
    """Keys and values by layer and token, and what they come to in bytes."""
    words, config, facts = page.words, page.lm.config, view.facts()
    names = {name: words(name) for name in _DRAWN}
    picture, see = elements.split()
    with picture:
        elements.figure(page, draw_cache(view, names, byte_size), "cache", words("cache_alt"))
        if view.source_labels:
            st.markdown(f"**{words('source_title', size=byte_size(view.held.n_source_bytes), **facts)}**")
            elements.figure(page, draw_source(view, names), "source", words("source_alt"))
    with see:
        elements.see(page, "filling", **facts, a_token_size=byte_size(view.a_token), full=byte_size(view.full))
        if config.n_kv_heads < config.n_heads:
            elements.see(page, "shared", **facts)
        if view.source_labels:
            elements.see(page, "source", **facts)
        windows = sorted({config.window("decoder", layer) for layer in range(config.n_layers)} - {0})
        if windows:
            elements.see(page, "windows", windows=page.listed(map(str, windows)))
        if forgets:
            elements.see(page, "full", **facts)
        elements.see(page, "why" if keeps else "not_kept")


def _spared(page: Page, n_drawn: int, *, keeps: bool) -> None:
    """Which positions every step computes, with the cache and without."""
    words, length = page.words, len(page.trace)
    shown = n_drawn if n_drawn > 1 else FRAME
    view = WorkView.of(kv_cache.reads(page.lm.config.n_context, length, shown, keeps=keeps), length)
    facts = view.facts()
    st.markdown(f"#### {SPARED.says(page.t.language, (view.with_cache, view.without_cache), **facts)}")
    picture, see = elements.split()
    with picture:
        names = {name: words(name) for name in ("with_cache", "without_cache", "step", "position")}
        elements.figure(page, draw_work(view, names), "work", words("work_alt"))
    with see:
        elements.see(page, "work" if n_drawn > 1 else "work_to_come", **facts)


@st.fragment
def _measured(page: Page) -> None:
    """A button, the measurement while it runs, and what came out."""
    words, trace = page.words, page.trace
    st.markdown(f"#### {words('measured_title')}")
    wanted = kv_cache.marks(trace)
    if not wanted:
        st.info(words("no_room", context=page.lm.config.n_context))
        return
    found: list[Reading] = st.session_state.get(_READINGS, {}).get(page.run_key, [])
    elements.see(
        page,
        "measured",
        most=wanted[-1],
        seconds=f"{kv_cache.BUDGET:.0f}",
        threads=torch.get_num_threads(),
        n=len(trace),
    )
    if trace.changes:
        st.caption(words("without_edits"))
    again = "measure_again" if found else "measure"
    if st.button(words(again), key="kv_cache.measure", icon=":material/timer:"):
        going = kv_cache.measure(trace)
        if taken := measuring.readings(page, going, len(wanted), lambda at: words("measuring", n=f"{at.length:,}")):
            found = st.session_state.setdefault(_READINGS, {})[page.run_key] = taken
    if not found:
        return
    view = TimesView.of(found)
    facts = view.facts() | {"model": literal(page.view.model)}
    picture, see = elements.split()
    with picture:
        seconds = float(view.cached[-1]), float(view.fresh[-1])
        st.markdown(f"**{TIMES.says(page.t.language, seconds, **facts)}**")
        names = {name: words(name) for name in ("with_cache", "without_cache", "text_length", "time")}
        elements.figure(page, draw_times(view, names), "times", words("times_alt"))
    with see:
        elements.see(page, "times", **facts)
