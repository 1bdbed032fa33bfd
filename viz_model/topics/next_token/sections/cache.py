"""The KV cache while tokens are drawn: what lies in it, what it spares, and the times both ways."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
import torch

from viz_model.app import runs
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.runs.generation import Sampling
from viz_model.runs.trace import Trace
from viz_model.topics.architectures.pictures.common import byte_size
from viz_model.topics.cost.sections.measured import MEASURING
from viz_model.topics.next_token.numbers import kv_cache
from viz_model.topics.next_token.numbers.kv_cache import Reading
from viz_model.topics.next_token.pictures import kv_cache as figures

_READINGS = "kv_cache.readings"
_DRAWN = ("key", "value", "layer", "token", "source_token", "length", "bytes", "source")


def section(stage: Stage, sampling: Sampling) -> None:
    """The part of the page under its own heading, for the tokens drawn so far; its texts are a file of their own."""
    place = (stage.asked, sampling, stage.view.seed)
    at, count = st.session_state.get("next_token.count", (place, 0))
    steps = runs.drawn(*place, count) if at == place and count else ()
    stage = replace(stage, text_key="kv_cache")
    trace, config = stage.trace, stage.lm.config
    keeps = not any(edit.reads_whole_text for edit in trace.edits)
    held = runs.held(*place, len(steps)) if steps else _held_after(stage.asked, trace)
    reads = kv_cache.reads(config.n_context, len(trace), len(steps), keeps=keeps)
    labels = [token.label for token in (*trace.tokens, *(step.token for step in steps))]
    source = trace.at("encoder").tokens if len(config.sides) > 1 else ()
    view = figures.CacheView.of(config, held, labels, [token.label for token in source], reads, len(steps))
    st.subheader(stage.words("title", size=byte_size(view.n_bytes), **view.facts()), anchor=False)
    _filling(stage, view, keeps=keeps, forgets=reads[-1].first > 0)
    _spared(stage, len(steps), keeps=keeps)
    _measured(stage)


@st.cache_resource(show_spinner=False, max_entries=64)
def _held_after(asked: runs.RunKey, _trace: Trace) -> kv_cache.Held:
    with runs.alone():
        return kv_cache.held_after(_trace)


def _filling(stage: Stage, view: figures.CacheView, *, keeps: bool, forgets: bool) -> None:
    """Keys and values by layer and token, and what they come to in bytes."""
    words, config, said = stage.words, stage.lm.config, view.facts()
    names = {name: words(name) for name in _DRAWN}
    picture, see = stage.split()
    with picture:
        stage.figure(figures.draw_cache(view, names, byte_size), "cache", words("cache_alt"))
        if view.source_labels:
            st.markdown(f"**{words('source_title', size=byte_size(view.n_source_bytes), **said)}**")
            stage.figure(figures.draw_source(view, names), "source", words("source_alt"))
    with see:
        stage.see("filling", **said, a_token_size=byte_size(view.a_token), full=byte_size(view.full))
        if view.n_kv_heads < view.n_heads:
            stage.see("shared", **said)
        if view.source_labels:
            stage.see("source", **said)
        windows = sorted({config.window("decoder", layer) for layer in range(config.n_layers)} - {0})
        if windows:
            stage.see("windows", windows=", ".join(map(str, windows)))
        if forgets:
            stage.see("full", **said)
        stage.see("why" if keeps else "not_kept")


def _spared(stage: Stage, n_drawn: int, *, keeps: bool) -> None:
    """Which positions every step computes, with the cache and without."""
    words, length = stage.words, len(stage.trace)
    shown = n_drawn if n_drawn > 1 else figures.FRAME
    view = figures.WorkView.of(kv_cache.reads(stage.lm.config.n_context, length, shown, keeps=keeps), length)
    said = view.facts()
    st.markdown(f"#### {words('work_title' if view.with_cache < view.without_cache else 'work_none', **said)}")
    picture, see = stage.split()
    with picture:
        names = {name: words(name) for name in ("with_cache", "without_cache", "step", "position")}
        stage.figure(figures.draw_work(view, names), "work", words("work_alt"))
    with see:
        stage.see("work" if n_drawn > 1 else "work_to_come", **said)


def _key(stage: Stage) -> tuple[object, ...]:
    return stage.asked, stage.trace.side


@st.fragment
def _measured(stage: Stage) -> None:
    """A button, the measurement while it runs, and what came out."""
    words, trace = stage.words, stage.trace
    st.markdown(f"#### {words('measured_title')}")
    wanted = kv_cache.marks(trace)
    if not wanted:
        st.info(words("no_room", context=stage.lm.config.n_context))
        return
    found: list[Reading] = st.session_state.get(_READINGS, {}).get(_key(stage), [])
    stage.see(
        "measured", most=wanted[-1], seconds=f"{kv_cache.BUDGET:.0f}", threads=torch.get_num_threads(), n=len(trace)
    )
    if trace.changes:
        st.caption(words("without_edits"))
    again = "measure_again" if found else "measure"
    if st.button(words(again), key="kv_cache.measure", icon=":material/timer:"):
        if MEASURING.acquire(blocking=False):
            try:
                found = _take(stage, len(wanted))
            finally:
                MEASURING.release()
        else:
            st.info(words("busy"), icon=":material/hourglass_top:")
    if not found:
        return
    view = figures.TimesView.of(found)
    said = view.facts() | {"model": literal(stage.view.model)}
    picture, see = stage.split()
    with picture:
        st.markdown(f"**{words('times_title' if view.ratio > 1 else 'times_none', **said)}**")
        names = {name: words(name) for name in ("with_cache", "without_cache", "text_length", "time")}
        stage.figure(figures.draw_times(view, names), "times", words("times_alt"))
    with see:
        stage.see("times", **said)


def _take(stage: Stage, most: int) -> list[Reading]:
    """Measure length by length; between two of them other visitors run their models, and this one may leave."""
    found: list[Reading] = []
    bar = st.progress(0.0, text=stage.words("warming"))
    going = kv_cache.measure(stage.trace)
    while True:
        with runs.alone():
            reading = next(going, None)
        if reading is None:
            break
        found.append(reading)
        bar.progress(len(found) / most, text=stage.words("measuring", n=f"{reading.length:,}"))
    bar.empty()
    st.session_state.setdefault(_READINGS, {})[_key(stage)] = found
    return found
