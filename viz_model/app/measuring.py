"""One measurement at a time for the whole server: two would measure each other. And what is measured of one block."""

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import streamlit as st
import torch

from viz_model.app import elements, run_lock
from viz_model.app.page import Page
from viz_model.drawing.digits import byte_size
from viz_model.texts.markdown import literal, table
from viz_model.topics.cost import measured
from viz_model.topics.cost.counted import crossings
from viz_model.topics.cost.measured import PARTS, Part, Reading
from viz_model.topics.cost.shares import SharesView
from viz_model.topics.cost.times import BYTES, POWER, Bytes, TimesView, draw_memory, draw_recurrent, draw_times

R = TypeVar("R")

MEASURING = threading.Lock()


def readings(page: Page, going: Iterator[R], most: int, at: Callable[[R], str]) -> list[R] | None:
    """All readings of a measurement, with a bar; None, and a line that says why, where another one is under way.

    Between two readings other visitors run their models, and this one may leave.

    Args:
        most: readings that there will be at the most.
        at: what the bar says after a reading.
    """
    if not MEASURING.acquire(blocking=False):
        st.info(page.words("busy"), icon=":material/hourglass_top:")
        return None
    found: list[R] = []
    try:
        bar = st.progress(0.0, text=page.words("warming"))
        while True:
            with run_lock.RUNNING:
                reading = next(going, None)
            if reading is None:
                break
            found.append(reading)
            bar.progress(len(found) / most, text=at(reading))
        bar.empty()
    finally:
        MEASURING.release()
    return found


READINGS = "cost.readings"


def products(page: Page) -> None:
    """The multiplications themselves."""
    side, source = page.trace.stack.side, len(page.trace.ids)
    crosses = len(page.lm.config.sides) > 1 and side == "decoder"
    view = SharesView.of(page.lm.config, side, len(page.trace), source if crosses else 0)
    headings = [page.words("multiplications"), *(f"T\u00a0=\u00a0{n:,}" for n in view.lengths)]
    st.markdown(table(headings, ([page.words(name), *values] for name, values in view.rows())))


def section(page: Page) -> None:
    """A button, the measurement while it runs, and what came out of the selected layer."""
    words, layer, model = page.words, page.view.layer, literal(page.view.model)
    st.subheader(words("measured_title"), anchor=False)
    elements.see(page, "measured", layer=layer, model=model, threads=torch.get_num_threads())
    kept: dict[tuple[str, str, int], list[Reading]] = st.session_state.setdefault(READINGS, {})
    key = (page.view.model, page.trace.stack.side, layer)
    if st.button(words("measure_again" if key in kept else "measure"), key="cost.measure", icon=":material/timer:"):
        going = measured.measure(page.trace, layer)
        total = len(measured.lengths(page.lm.config)) * len(PARTS)
        if taken := readings(page, going, total, lambda reading: _at(page, reading)):
            kept[key] = taken
    if key in kept:
        _results(page, TimesView.of(kept[key], page.lm.config))
    elif kept:
        listed = (words("measured_of", model=literal(name), layer=layer) for name, _, layer in kept)
        st.caption(words("measured_others", others=page.listed(listed)))


def _at(page: Page, reading: Reading) -> str:
    return page.words("measuring", n=f"{reading.length:,}", part=page.words(reading.part))


def _results(page: Page, view: TimesView) -> None:
    words, facts = page.words, view.facts()
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"#### {words('times_title', **facts)}")
        elements.plot(page, draw_times(view, words))
        crossed = {f"{part}_crossing": _crossing(page, view, part) for part in ("textbook", "fused")}
        passes = crossings(page.lm.config, page.trace.stack.side)
        elements.see(page, "times", **facts, **crossed, passes=f"{passes.ffn:,.0f}")
        elements.say(page, POWER, view.exponents["textbook"])
    with right:
        sizes = {part: byte_size(float(view.created[part][-1])) for part in view.created}
        st.markdown(f"#### {words('memory_title', **facts, **sizes)}")
        elements.plot(page, draw_memory(view, words))
        matrix = byte_size(float(view.matrix[-1]))
        elements.see(page, "memory", **facts, **sizes, matrix=matrix, h=page.lm.config.n_heads)
        created = Bytes(*(float(view.created[part][-1]) for part in ("textbook", "fused")))
        times = f"{created.textbook / created.fused:,.0f}"
        elements.say(page, BYTES, created, **sizes, times=times, n=facts["n"])
    st.markdown(f"#### {words('recurrent_title', **facts)}")
    picture, see = elements.split()
    with picture:
        elements.plot(page, draw_recurrent(view, words))
    with see:
        fastest = view.fastest()
        elements.see(
            page, "recurrent", **facts, fastest=words(fastest if fastest == "recurrent" else f"layer_{fastest}")
        )
    elements.see(page, "fit", least=view.runs[0], most=view.runs[1])
    for part in PARTS:
        name, formula = st.columns([2, 5], vertical_alignment="center")
        name.markdown(f"**{words(part)}**  \n$p = {facts[f'{part}_p']}$")
        formula.latex(rf"t(T) \approx {view.formula(part)}")
    st.caption(words("readings"))
    elements.records(page, "readings", view.columns(words))


def _crossing(page: Page, view: TimesView, part: Part) -> str:
    at = view.crossing(part)
    return page.words("never", n=f"{view.lengths[-1]:,}") if at is None else f"n ≈ {at:,.0f}"
