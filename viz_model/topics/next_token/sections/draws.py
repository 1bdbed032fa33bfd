"""Tokens drawn one after the other, and the number that decided each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from viz_model.app import components, elements, state
from viz_model.app.page import Page
from viz_model.runs.generation import Sampling, Step
from viz_model.texts.markdown import literal
from viz_model.topics.next_token.choices import DRAWN, GREEDY, MAX_SEED, MOST_DRAWN, PICKED, SEED
from viz_model.topics.next_token.claims import CIRCLES, ENDED, FELL, REPEATS, SAME
from viz_model.topics.next_token.numbers.continued import longer
from viz_model.topics.next_token.pictures import draws, repetition
from viz_model.topics.next_token.sections.asked import Asked
from viz_model.topics.next_token.sections.drawn import drawn


def section(given: Asked) -> None:
    page, steps = given.page, given.steps
    is_target = len(page.lm.config.sides) > 1
    st.subheader(page.words("draw_title"), anchor=False)
    if not given.can_be_drawn:
        elements.see(page, "not_with_positions")
        return
    _buttons(given, is_target)
    if not steps:
        elements.see(page, "none_drawn_target" if is_target else "none_drawn")
        return
    chosen = page.chosen(PICKED)
    picked = len(steps) - 1 if chosen is None else min(chosen, len(steps) - 1)
    _ribbons(page, steps, picked)
    _fell(page, steps, picked)
    _repeated(page, steps)
    with st.expander(page.words("draws_table")):
        columns = {page.words(f"draws_{name}"): values for name, values in draws.draw_columns(steps).items()}
        elements.records(page, "draws", columns)
    if given.sampling.temperature:
        _greedy(page, steps)
    last = {"n": len(steps), "token": literal(steps[-1].token.label), "most": MOST_DRAWN}
    elements.say(page, ENDED, _has_ended(given), **last)


def _has_ended(given: Asked) -> bool:
    return bool(given.steps) and given.steps[-1].token.id == given.page.lm.tokenizer.end_of_text


def _buttons(given: Asked, is_target: bool) -> None:
    """One more token, ten more, none, as many with another seed; and the text with what was drawn."""
    page, n, ended = given.page, len(given.steps), _has_ended(given)

    def draw(count: int) -> None:
        state.update(within=None, **state.choose(page.name, (DRAWN, count), (PICKED, None)))

    def another_seed() -> None:
        following = (page.chosen(SEED) + 1) % (MAX_SEED + 1)
        state.update(within=None, **state.choose(page.name, (SEED, following), (PICKED, None)))

    def button(
        name: str, label: str, disabled: bool, press: Callable[..., None], *args: object, **values: object
    ) -> None:
        key = f"next_token.{name}"
        row.button(page.words(label), key=key, on_click=press, args=args, kwargs=values, disabled=disabled)

    row = st.container(horizontal=True, vertical_alignment="bottom")
    elements.control(page, SEED, row.number_input, 0, MAX_SEED, width=150)
    for name, more in (("one_more", 1), ("ten_more", 10)):
        button(name, name, ended or n == MOST_DRAWN, draw, min(MOST_DRAWN, n + more))
    button("start_over", "start_over", not n, draw, 0)
    button("another_seed", "another_seed", not n or given.sampling.temperature == 0, another_seed)
    kept = {"target" if is_target else "text": longer(page.trace, given.steps[: n - ended]), "token": None}
    button("keep", "keep_target" if is_target else "keep", n == ended, state.update, **kept)


def _ribbons(page: Page, steps: Sequence[Step], picked: int) -> None:
    """The drawn tokens, and what greedy decoding would have taken in their place."""

    def pick(place: int) -> None:
        state.update(within=None, **state.choose(page.name, (PICKED, place)))

    n_before, seed = len(page.trace), page.chosen(SEED)
    rows = {"drawn": draws.chips(steps, n_before), "drawn_greedy": draws.chips(steps, n_before, greedy=True)}
    for name, row in rows.items():
        st.caption(page.words(f"{name}_row", seed=seed))
        components.ribbon(row, selected=picked, label=page.words(name), key=f"next_token.{name}", on_pick=pick)


def _fell(page: Page, steps: Sequence[Step], picked: int) -> None:
    """The interval that the number of each draw fell into."""
    step = steps[picked]
    facts = {
        **draws.draw_facts(steps, picked),
        "token": literal(step.token.label),
        "greedy": literal(step.leaders[0][0].label),
        "seed": page.chosen(SEED),
    }
    st.markdown(f"#### {page.words('fell_title', **facts)}")
    picture, see = elements.split()
    with picture:
        names = {name: page.words(f"fell_{name}") for name in ("number", "interval", "rest", "axis")}
        figure = draws.draw_draws(draws.DrawsView.of(steps, picked, len(page.trace)), names)
        elements.figure(page, figure, "fell", page.words("fell_alt"))
    with see:
        elements.see(page, "fell", **facts)
        elements.say(page, FELL, step.rank + 1, **facts)
        elements.see(page, "fell_count", **facts)


def _repeated(page: Page, steps: Sequence[Step]) -> None:
    """Where the drawn text says again what stood there before, if it does."""
    view, words = repetition.RepetitionView.of(page.trace.own_ids, steps), page.words
    if not view.found.n_repeated:
        return
    facts = view.facts()
    counts = view.found.n_repeated, len(view.labels)
    st.markdown(f"#### {CIRCLES.says(page.t.language, counts, **facts)}")
    picture, see = elements.split()
    with picture:
        names = {name: words(f"repeats_{name}") for name in ("p", "draw", "time", *repetition.TIMES)}
        elements.figure(page, repetition.draw_repetition(view, names), "repeats", words("repeats_alt"))
    with see:
        elements.see(page, "repeats", **facts)
        elements.say(page, REPEATS, view.means, **facts)


def _greedy(page: Page, steps: Sequence[Step]) -> None:
    """The text that greedy decoding would have made, if the visitor wants to see it."""
    label = page.words("greedy_text")
    if not elements.control(page, GREEDY, st.toggle, label=label, help=None):
        return
    taken, n_before = drawn(page.run_key, Sampling(temperature=0), 0, len(steps)), len(page.trace)
    row, key = draws.chips(taken, n_before), "next_token.greedy_text"
    components.ribbon(row, selected=None, label=label, key=key, on_pick=lambda _: None)
    same = next((n for n, (a, b) in enumerate(zip(steps, taken, strict=False)) if a.token != b.token), len(taken))
    elements.say(page, SAME, (same, len(taken)), same=same, n=len(taken))
    by_both = [repetition.RepetitionView.of(page.trace.own_ids, each).found.n_repeated for each in (taken, steps)]
    elements.see(page, "greedy_repeats", greedy=by_both[0], drawn=by_both[1], n=len(taken))
