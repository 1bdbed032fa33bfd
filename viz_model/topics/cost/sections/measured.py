"""A button, the measurement while it runs, and what came out."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st
import torch

from viz_model.app import elements, measuring
from viz_model.app.page import Page
from viz_model.drawing.digits import byte_size
from viz_model.texts.markdown import literal
from viz_model.topics.cost.claims import BYTES, POWER, Bytes
from viz_model.topics.cost.numbers import measured
from viz_model.topics.cost.numbers.counted import crossings
from viz_model.topics.cost.numbers.measured import PARTS, Part, Reading
from viz_model.topics.cost.pictures.times import TimesView, draw_memory, draw_recurrent, draw_times
from viz_model.topics.cost.sections.common import names

_READINGS = "cost.readings"


def _key(page: Page) -> tuple[str, str, int]:
    return page.view.model, page.trace.stack.side, page.view.layer


def readings(page: Page) -> list[Reading]:
    """What was measured of this very layer in this session; nothing where another one was measured."""
    found: list[Reading] = st.session_state.get(_READINGS, {}).get(_key(page), [])
    return found


@st.fragment
def section(page: Page) -> None:
    words = page.words
    st.subheader(words("measured_title"), anchor=False)
    elements.told(page, _tell, "measured", by=("layer",))
    again = "measure_again" if readings(page) else "measure"
    if st.button(words(again), key="cost.measure", icon=":material/timer:", type="primary"):
        going = measured.measure(page.trace, page.view.layer)
        total = len(measured.lengths(page.lm.config)) * len(PARTS)
        if taken := measuring.readings(page, going, total, lambda reading: _at(page, reading)):
            st.session_state.setdefault(_READINGS, {})[_key(page)] = taken
            st.rerun()  # the whole page: its last tab lists the readings
    if found := readings(page):
        _results(page, found)
    elif others := st.session_state.get(_READINGS):
        listed = (words("measured_of", model=literal(name), layer=layer) for name, _, layer in others)
        st.caption(words("measured_others", others=page.listed(listed)))


def _tell(page: Page) -> Iterator[str]:
    model, threads = literal(page.view.model), torch.get_num_threads()
    yield page.prose("measured", layer=page.view.layer, model=model, threads=threads)


def _at(page: Page, reading: Reading) -> str:
    return page.words("measuring", n=f"{reading.length:,}", part=page.words(reading.part))


def _results(page: Page, found: list[Reading]) -> None:
    words = page.words
    view = TimesView.of(found, page.lm.config)
    facts, drawn = view.facts(), names(page, *PARTS, "length", "time", "bytes", "computed")
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"#### {words('times_title', **facts)}")
        elements.figure(page, draw_times(view, drawn), "times", words("times_alt"))
        crossed = {f"{part}_crossing": _crossing(page, view, part) for part in ("textbook", "fused")}
        passes = crossings(page.lm.config, page.trace.stack.side)
        elements.see(page, "times", **facts, **crossed, passes=f"{passes.ffn:,.0f}")
        elements.say(page, POWER, view.exponents["textbook"])
    with right:
        sizes = {part: byte_size(float(view.created[part][-1])) for part in view.created}
        st.markdown(f"#### {words('memory_title', **facts, **sizes)}")
        elements.figure(page, draw_memory(view, drawn, byte_size), "memory", words("memory_alt"))
        elements.see(
            page, "memory", **facts, **sizes, matrix=byte_size(float(view.matrix[-1])), h=page.lm.config.n_heads
        )
        created = Bytes(*(float(view.created[part][-1]) for part in ("textbook", "fused")))
        times = f"{created.textbook / created.fused:,.0f}"
        elements.say(page, BYTES, created, **sizes, times=times, n=facts["n"])
    st.markdown(f"#### {words('recurrent_title', **facts)}")
    picture, see = elements.split()
    with picture:
        layered = drawn | {name: words(f"layer_{name}") for name in ("textbook", "fused")}
        elements.figure(page, draw_recurrent(view, layered), "recurrent", words("recurrent_alt"))
    with see:
        fastest = layered[view.fastest()]
        elements.see(page, "recurrent", **facts, fastest=fastest)


def _crossing(page: Page, view: TimesView, part: Part) -> str:
    at = view.crossing(part)
    return page.words("never", n=f"{view.lengths[-1]:,}") if at is None else f"n ≈ {at:,.0f}"
