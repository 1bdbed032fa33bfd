"""Sections of the page on cost: what was counted, what was measured here, and the questions that this answers."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import streamlit as st
import torch

from viz_model.app import controls, frame, runs
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.config import ModelConfig, Side
from viz_model.drawing.writing import big, small
from viz_model.topics.architectures.pictures.common import byte_size
from viz_model.topics.attention.numbers import heads
from viz_model.topics.cost import numbers as counting
from viz_model.topics.cost.numbers import Part, Reading
from viz_model.topics.cost.pictures.by_length import CurvesView, draw_curves
from viz_model.topics.cost.pictures.common import SHARES
from viz_model.topics.cost.pictures.generated import GeneratedView, draw_generated
from viz_model.topics.cost.pictures.kinds import KindsView, draw_kinds
from viz_model.topics.cost.pictures.shares import SharesView, draw_shares
from viz_model.topics.cost.pictures.times import TimesView, draw_memory, draw_recurrent, draw_times

MOST_WORK = 2_000_000_000
"""Multiplications that are run unasked when words are shuffled."""
TARGETS = tuple(2**power for power in range(14))

_READINGS = "cost.readings"
# One measurement at a time for the whole server: two would measure each other.
MEASURING = threading.Lock()


def n_source(stage: Stage) -> int:
    """How many vectors cross-attention reads; 0 where there is none."""
    crosses = len(stage.lm.config.sides) > 1 and stage.trace.stack.side == "decoder"
    return len(stage.trace.ids) if crosses else 0


def names(stage: Stage, *keys: str) -> dict[str, str]:
    """The page's labels of what is drawn."""
    return {key: stage.words(key) for key in keys}


def table(headings: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> None:
    """A small table of our own words and numbers."""
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)], *([name, *values] for name, values in rows)]
    st.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def counted(stage: Stage) -> None:
    """Shares of the parts at the text's length, 10 and 100 times it; curves over all lengths."""
    config, side = stage.lm.config, stage.trace.stack.side
    length, source = len(stage.trace), n_source(stage)
    view = SharesView.of(config, side, length, source)
    curves = CurvesView.of(config, side, length, source)
    passes = counting.crossings(config)
    said = view.facts() | {"passes": f"{passes.ffn:,.0f}", "block": f"{passes.block:,.0f}"}
    words = names(stage, *SHARES, "visible", "tokens", "share", "length", "multiplications", "here")
    st.markdown(f"#### {stage.words('counted_title', **said)}")
    picture, see = stage.split()
    with picture:
        stage.figure(draw_shares(view, words), "shares", stage.words("shares_alt"))
        st.markdown(f"#### {stage.words('curves_title', **said)}")
        stage.figure(draw_curves(curves, words), "curves", stage.words("curves_alt"))
        headings = [stage.words("multiplications"), *(f"n\u00a0=\u00a0{n:,}" for n in view.lengths)]
        table(headings, [(stage.words(name), values) for name, values in view.rows()])
    with see:
        stage.see(**said, model=literal(stage.view.model), blocks=config.depth(side))
        stage.see("counted", **said, context=f"{config.n_context:,}", pairs=_share_of_pairs(stage, length))
        windows = sorted({config.window(side, layer) for layer in range(config.depth(side))} - {0})
        if windows:
            stage.see("windows", windows=", ".join(map(str, windows)), n=view.facts()["n2"], saved=_saved(stage, view))


def _share_of_pairs(stage: Stage, length: int) -> str:
    config, side = stage.lm.config, stage.trace.stack.side
    return f"{counting.visible(config, side, length) / counting.count(config, side, length).pairs:.0%}"


def _saved(stage: Stage, view: SharesView) -> str:
    """Of the pairs of the longest text, the share that is left by the masks."""
    return _share_of_pairs(stage, view.lengths[-1])


# Measured


def _key(stage: Stage) -> tuple[str, str, int]:
    return stage.view.model, stage.trace.stack.side, stage.view.layer


def readings(stage: Stage) -> list[Reading]:
    """What was measured of this very layer in this session; nothing where another one was measured."""
    found: list[Reading] = st.session_state.get(_READINGS, {}).get(_key(stage), [])
    return found


@st.fragment
def measured(stage: Stage) -> None:
    """A button, the measurement while it runs, and what came out."""
    words = stage.words
    st.subheader(words("measured_title"), anchor=False)
    stage.see("measured", layer=stage.view.layer, model=literal(stage.view.model), threads=torch.get_num_threads())
    again = "measure_again" if readings(stage) else "measure"
    if st.button(words(again), key="cost.measure", icon=":material/timer:", type="primary"):
        if MEASURING.acquire(blocking=False):
            try:
                _take(stage)
            finally:
                MEASURING.release()
            st.rerun()  # the whole page: its last tab lists the readings
        st.info(words("busy"), icon=":material/hourglass_top:")
    if found := readings(stage):
        _results(stage, found)
    elif others := st.session_state.get(_READINGS):
        listed = (words("measured_of", model=literal(name), layer=layer) for name, _, layer in others)
        st.caption(words("measured_others", others=", ".join(listed)))


def _take(stage: Stage) -> None:
    """Measure part by part; between two parts other visitors run their models, and this one may leave."""
    found: list[Reading] = []
    total = len(counting.lengths(stage.lm.config)) * len(counting.PARTS)
    bar = st.progress(0.0, text=stage.words("warming"))
    going = counting.measure(stage.trace, stage.view.layer)
    while True:
        with runs.alone():
            reading = next(going, None)
        if reading is None:
            break
        found.append(reading)
        at = stage.words("measuring", n=f"{reading.length:,}", part=stage.words(reading.part))
        bar.progress(len(found) / total, text=at)
    bar.empty()
    st.session_state.setdefault(_READINGS, {})[_key(stage)] = found


def _results(stage: Stage, found: list[Reading]) -> None:
    words = stage.words
    view = TimesView.of(found, stage.lm.config)
    facts, drawn = view.facts(), names(stage, *counting.PARTS, "length", "time", "bytes", "computed")
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"#### {words('times_title', **facts)}")
        stage.figure(draw_times(view, drawn), "times", words("times_alt"))
        crossed = {f"{part}_crossing": _crossing(stage, view, part) for part in ("textbook", "fused")}
        passes = counting.crossings(stage.lm.config)
        stage.see("times", **facts, **crossed, passes=f"{passes.ffn:,.0f}")
    with right:
        sizes = {part: byte_size(float(view.created[part][-1])) for part in view.created}
        st.markdown(f"#### {words('memory_title', **facts, **sizes)}")
        stage.figure(draw_memory(view, drawn, byte_size), "memory", words("memory_alt"))
        stage.see("memory", **facts, **sizes, matrix=byte_size(float(view.matrix[-1])), h=stage.lm.config.n_heads)
    st.markdown(f"#### {words('recurrent_title', **facts)}")
    picture, see = stage.split()
    with picture:
        layered = drawn | {name: words(f"layer_{name}") for name in ("textbook", "fused")}
        stage.figure(draw_recurrent(view, layered), "recurrent", words("recurrent_alt"))
    with see:
        fastest = layered[view.fastest()]
        stage.see("recurrent", **facts, fastest=fastest)


def _crossing(stage: Stage, view: TimesView, part: Part) -> str:
    at = view.crossing(part)
    return stage.words("never", n=f"{view.lengths[-1]:,}") if at is None else f"n ≈ {at:,.0f}"


def fits(stage: Stage) -> None:
    """The fitted formulas, under Formula."""
    if not (found := readings(stage)):
        stage.see("fit_none")
        return
    view = TimesView.of(found, stage.lm.config)
    stage.see("fit", least=view.runs[0], most=view.runs[1])
    for part in counting.PARTS:
        left, right = st.columns([2, 5], vertical_alignment="center")
        left.markdown(f"**{stage.words(part)}**  \n$p = {view.facts()[f'{part}_p']}$")
        right.latex(rf"t(n) \approx {view.formula(part)}")


# Questions


def waiting(stage: Stage) -> None:
    """Why no recurrence: steps that wait for each other, and how far news travels."""
    config, length = stage.lm.config, len(stage.trace)
    st.subheader(stage.words("waiting_title", n=length), anchor=False)
    window = config.window(stage.trace.stack.side, stage.view.layer)
    hops = counting.hops(length, window)
    rows = [
        ("waits", [str(length), "1"]),
        ("path", [str(length - 1), stage.words("unreachable") if hops is None else str(hops)]),
        ("layer_cost", [big(n) for n in (counting.recurrent(config, length), _layer(stage, length))]),
    ]
    left, right = st.columns([3, 2], gap="large")
    with left:
        table(
            [f"n = {length:,}", stage.words("recurrent"), stage.words("attention")],
            [(stage.words(name), values) for name, values in rows],
        )
    with right:
        stage.see("waiting", n=length, depth=config.depth(stage.trace.stack.side))


def _layer(stage: Stage, length: int) -> int:
    """Multiplications of one attention layer."""
    config = stage.lm.config
    return length * counting.of_projections(config) + length**2 * counting.of_pair(config)


@st.cache_resource(show_spinner=False, max_entries=64)
def _shuffled(asked: runs.RunKey, side: Side) -> counting.Shuffled | None:
    run = runs.trace(asked).at(side)
    with runs.alone():
        return counting.shuffled(run)


@st.cache_resource(show_spinner=False, max_entries=64)
def _kinds(asked: runs.RunKey, side: Side) -> tuple[tuple[heads.HeadSummary, ...], ...]:
    run = runs.trace(asked).at(side)
    with runs.alone():
        return counting.kinds(run)


def order(stage: Stage) -> None:
    """Why position: the same tokens in another order, with positions and without."""
    words, trace = stage.words, stage.trace
    st.subheader(words("order_title"), anchor=False)
    if len(trace) < 2:
        st.info(words("order_one"))
        return
    wait = counting.work_of_shuffling(trace) > MOST_WORK
    if wait and not st.toggle(words("order_run"), key="cost.order", help=words("order_help")):
        return
    found = _shuffled(stage.asked, trace.stack.side)
    if found is None:
        return
    same = {name: getattr(found, name) < counting.SAME for name in ("bare", "own")}
    said = {name: small(getattr(found, name)) for name in ("bare", "own", "bare_masked", "own_masked")}
    labels = [token.label for token in trace.tokens]
    said |= {
        "before": literal(" ".join(labels[: len(found.order)])),
        "after": literal(" ".join(labels[i] for i in found.order)),
    }
    left, right = st.columns([3, 2], gap="large")
    with left:
        headings = [words("order_change"), words("order_all"), words("order_past")]
        rows = [(words(f"order_{row}"), [said[row], said[f"{row}_masked"]]) for row in ("bare", "own")]
        table(headings, rows)
        st.caption(words("order_note"))
    with right:
        stage.see(f"order_{'same' if same['own'] else 'differs'}", **said)


def many(stage: Stage) -> None:
    """Why many heads: what each of them does in this run."""
    words, trace, config = stage.words, stage.trace, stage.lm.config
    view = KindsView.of(_kinds(stage.asked, trace.stack.side))
    labels: dict[str, str] = {kind: stage.t(f"attention.kind_{kind}") for kind in heads.KINDS}
    counts = view.total()
    n_heads, said = trace.n_layers * config.n_heads, {"kinds": len(counts), "h": config.n_heads, "k": config.d_head}
    st.subheader(words("many_title", n=n_heads, **said), anchor=False)
    picture, see = stage.split()
    with picture:
        drawn = {"layer": stage.t("common.axis_layer"), "heads": words("heads"), "entropy": words("entropy")}
        stage.figure(draw_kinds(view, labels, drawn), "kinds", words("kinds_alt"))
    with see:
        listed = " · ".join(f"{labels[kind]} {count}" for kind, count in counts.most_common())
        stage.see("many", **said, n=n_heads, listed=listed, d=config.d_model, product=config.n_heads * config.d_head)
        st.button(words("many_go"), key="cost.go", icon=":material/grid_view:", on_click=frame.go, args=("attention",))


def generated(stage: Stage) -> None:
    """What a KV cache saves."""
    words, config = stage.words, stage.lm.config
    length, source = len(stage.trace), n_source(stage)
    st.subheader(words("generated_title"), anchor=False)
    if config.kind == "encoder":
        stage.see("generated_none")
        return
    view = GeneratedView.of(config, length, source or (len(stage.trace.ids) if len(config.sides) > 1 else 0))
    picture, see = stage.split()
    with picture:
        drawn = names(stage, "cached", "uncached", "length", "multiplications", "here")
        stage.figure(draw_generated(view, drawn), "generated", words("generated_alt"))
    with see:
        long = int(view.lengths[-1])
        stage.see(
            "generated",
            n=f"{length:,}",
            long=f"{long:,}",
            saved=f"{_ratio(config, length, source):,.1f}",
            saved_long=f"{view.uncached[-1] / view.cached[-1]:,.0f}",
        )


def _ratio(config: ModelConfig, length: int, source: int) -> float:
    found = counting.generating(config, length, source)
    return found.uncached / found.cached


def stacks(stage: Stage) -> None:
    """Decoder-only or encoder–decoder: the same two texts in one stack or in two."""
    words, trace = stage.words, stage.trace
    source = len(trace.ids)
    target = len(trace.target_tokens) or source
    st.subheader(words("stacks_title"), anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with left:
        nearest = min(TARGETS, key=lambda n: abs(n - target))
        m = controls.setting(stage, st.select_slider, "target", TARGETS, nearest, format_func="{:,}".format)
        found = counting.arrangements(stage.lm.config, source, m)
        one, two = found["decoder"], found["encoder_decoder"]
        columns = [words("stacks_decoder", n=f"{source + m:,}"), words("stacks_both", n=f"{source:,}", m=f"{m:,}")]
        rows = [
            (words(f"stacks_{name}"), [big(getattr(each, name)) for each in (one, two)])
            for name in ("linear", "pairs", "total", "seen", "weights")
        ]
        table([words("multiplications"), *columns], rows)
    with right:
        stage.see(
            "stacks",
            n=f"{source:,}",
            m=f"{m:,}",
            work=f"{two.total / one.total:.2f}",
            weights=f"{two.weights / one.weights:.2f}",
            depth=stage.lm.config.n_layers,
        )
