"""How tokens are drawn: the whole distribution with its cuts, and every draw with the number that decided it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from viz_model.app import components, runs, state
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.drawing.writing import percent
from viz_model.runs.generation import Sampling, Step
from viz_model.topics.next_token.pictures import sampling as figures
from viz_model.topics.next_token.pictures.next_token import ChoiceView, chips

_PICKED = "next_token.picked"


def tail(stage: Stage, choice: ChoiceView, sampling: Sampling) -> None:
    """All of the vocabulary in falling order, and what each filter keeps of it."""
    view = figures.TailView.of(choice, sampling)
    said = view.facts()

    def words(key: str, **values: object) -> str:
        return stage.t(f"next_token.{key}", **values)

    st.markdown(f"#### {words('tail_title' if view.cuts else 'tail_title_all', **said)}")
    picture, see = stage.split()
    with picture:
        names = {name: words(f"tail_{name}", **said) for name in ("model", "kept", "dropped", "p", "mass", "rank")}
        names |= {cut.name: words(f"tail_{cut.name}", n=f"{cut.n_kept:,}") for cut in view.cuts}
        stage.figure(figures.draw_tail(view, names), "tail", words("tail_alt", **said))
        stage.source("probs")
    with see:
        temperature = "greedy" if view.temperature == 0 else "one" if view.temperature == 1 else "other"
        st.markdown(stage.t.prose(f"next_token.tail_{temperature}", **said))
        head = [words(f"tail_column_{name}") for name in ("filter", "kept", "dropped")]
        lines = [f"| {' | '.join(head)} |", "|---|---:|---:|"]
        for name, n_kept, kept, n_dropped, dropped in view.rows():
            cells = (words(name), f"{n_kept:,} · {percent(kept)}", f"{n_dropped:,} · {percent(dropped)}")
            lines.append(f"| {' | '.join(cells)} |")
        if view.cuts:
            st.markdown("\n".join(lines))
        st.markdown(stage.t.prose("next_token.tail_read"))


def another_seed(count: int, place: Callable[[int], tuple[Any, ...]], seed: int) -> None:
    """Callback: as many tokens again, drawn with the next seed."""
    following = (seed + 1) % (state.MAX_SEED + 1)
    st.session_state["next_token.count"] = (place(following), count)
    state.update(seed=following)


def show(stage: Stage, steps: Sequence[Step], seed: int, sampling: Sampling) -> None:
    """The drawn tokens, what greedy decoding would have taken in their place, and the numbers that decided."""
    words, trace = stage.words, stage.trace
    at, picked = st.session_state.get(_PICKED, (None, 0))
    place = (stage.asked, sampling, seed, len(steps))
    picked = picked if at == place and picked < len(steps) else len(steps) - 1

    def pick(position: int) -> None:
        st.session_state[_PICKED] = (place, position)

    rows = {"drawn": chips(steps, len(trace)), "drawn_greedy": figures.greedy_chips(steps, len(trace))}
    for name, row in rows.items():
        st.caption(words(f"{name}_row", seed=seed))
        components.ribbon(row, selected=picked, label=words(name), key=f"next_token.{name}", on_pick=pick)
    step = steps[picked]
    said = {
        **figures.draw_facts(steps, picked),
        "token": literal(step.token.label),
        "greedy": literal(step.leaders[0][0].label),
        "seed": seed,
    }
    st.markdown(f"#### {words('fell_title', **said)}")
    picture, see = stage.split()
    with picture:
        names = {name: words(f"fell_{name}") for name in ("number", "interval", "rest", "axis")}
        drawn = figures.draw_draws(figures.DrawsView.of(steps, picked, len(trace)), names)
        stage.figure(drawn, "fell", words("fell_alt"))
    with see:
        stage.see("fell", **said)
        stage.see("fell_greedy" if step.rank == 0 else "fell_other", **said)
        stage.see("fell_count", **said)
    _repeated(stage, steps)
    with st.expander(words("draws_table")):
        columns = {words(f"draws_{name}"): values for name, values in figures.draw_columns(steps).items()}
        stage.records("draws", columns)
    if sampling.temperature and st.toggle(words("greedy_text"), key="next_token.greedy", persist_state="session"):
        taken = runs.drawn(stage.asked, Sampling(temperature=0), 0, len(steps))
        components.ribbon(
            chips(taken, len(trace)),
            selected=None,
            label=words("greedy_text"),
            key="next_token.greedy_text",
            on_pick=lambda _: None,
        )
        same = next((n for n, (a, b) in enumerate(zip(steps, taken, strict=False)) if a.token != b.token), len(taken))
        stage.see("greedy_text", same=same, n=len(taken))
        by_both = [figures.RepetitionView.of(trace.own_ids, each).facts()["n_repeated"] for each in (taken, steps)]
        stage.see("greedy_repeats", greedy=by_both[0], drawn=by_both[1], n=len(taken))


def _repeated(stage: Stage, steps: Sequence[Step]) -> None:
    """Where the drawn text says again what stood there before, if it does."""
    view, words = figures.RepetitionView.of(stage.trace.own_ids, steps), stage.words
    if not view.found.n_repeated:
        return
    said = view.facts()
    st.markdown(f"#### {words('repeats_title', **said)}")
    picture, see = stage.split()
    with picture:
        names = {name: words(f"repeats_{name}") for name in ("p", "draw", "time", *figures.TIMES)}
        stage.figure(figures.draw_repetition(view, names), "repeats", words("repeats_alt"))
    with see:
        stage.see("repeats", **said)
        stage.see("repeats_rise" if view.rises else "repeats_fall", **said)
