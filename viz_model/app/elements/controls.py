"""Widgets for what a visitor chooses on a page; and tabs and folds, of which only what is open is drawn."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

from viz_model.app import state
from viz_model.app.choices import TAB, Choice
from viz_model.app.page import Page

V = TypeVar("V")


def choose(page: Page, choice: Choice[V], options: Sequence[V], default: V | None = None, **more: Any) -> V:
    """One of a few options, each labeled with the page's ``name_option``.

    Args:
        options: those that this run has.
        default: as in :func:`on_offer`.
    """
    shown = on_offer(page, choice, options, default)
    if shown != page.chosen(choice) and page.chosen(choice) != choice.default and state.from_address():
        st.warning(page.t("common.unknown_beside", name=choice.name, asked=str(page.chosen(choice))))
    named: dict[str, Any] = {"format_func": lambda option: page.words(f"{choice.name}_{option}"), **more}
    return control(page, choice, st.segmented_control, options, value=shown, required=True, wrap=True, **named)


def on_offer(page: Page, choice: Choice[V], options: Sequence[V], default: V | None = None) -> V:
    """What is chosen, where this run has it; else the choice's own default, or ``default``, or the first."""
    usual = default if default is not None else choice.default if choice.default in options else options[0]
    return page.chosen(choice) if page.chosen(choice) in options else usual


def control(
    page: Page,
    choice: Choice[V],
    widget: Callable[..., Any],
    *values: Any,
    value: V | None = None,
    read: Callable[[Any], V] = lambda held: held,
    write: Callable[[V], Any] = lambda value: value,
    change: Callable[[V], dict[str, Any]] | None = None,
    **options: Any,
) -> V:
    """A widget, labeled with the page's text of the choice's name and explained by its ``name_help``.

    Args:
        values: of the widget, after its label.
        value: what it shows, where that is not what is chosen: this run may have no such thing.
        read: makes of what the widget holds what is chosen, and ``write`` the other way round.
        change: of the view, where it is not that of the choice alone.
        options: of the widget, and another ``label`` or ``help``.
    """
    key, within, shown = f"{page.text_key}.{choice.name}", state.inside(), page.chosen(choice)
    if value is not None:
        shown = value
    labels = map(options.get("format_func", str), values[0]) if _is_list(values) else values
    state.follow(key, write(shown), offers=tuple(labels))

    def changed() -> None:
        held = st.session_state[key]
        if held is not None and _is_on_offer(held, values) and not state.is_late(key):
            # Sliders hand back sums of their steps, such as 0.15000000000000002.
            picked = read(round(held, 6) if isinstance(held, float) else held)
            state.update(within=within, **(change(picked) if change else state.choose(page.name, (choice, picked))))

    label = options.pop("label", None) or page.words(choice.name)
    options = options if "help" in options else {"help": page.words(f"{choice.name}_help"), **options}
    widget(label, *values, key=key, on_change=changed, **options)
    return shown


def _is_on_offer(held: Any, values: Sequence[Any]) -> bool:
    """Whether a widget of options holds some of them.

    The browser names an option by its label. Where labels hold numbers of a run and another run has begun, none
    of the options has that label, and Streamlit hands on the label itself.
    """
    picked = held if isinstance(held, list) else [held]
    return not _is_list(values) or all(one in values[0] for one in picked)


def _is_list(values: Sequence[Any]) -> bool:
    """Whether a widget offers several things to pick from."""
    return bool(values) and isinstance(values[0], Sequence) and not isinstance(values[0], str)


Draw = Callable[[], None]


def four_tabs(page: Page, formula: Draw, hand: Draw, code: Draw, numbers: Draw) -> None:
    """Formula, By hand, Code, Numbers: in a fragment, so that another tab draws itself and nothing else."""
    draw = {"formula": formula, "hand": hand, "code": code, "numbers": numbers}
    labels = {name: page.t(f"common.tab_{name}") for name in draw}
    key = f"{page.text_key}.{TAB.name}s"
    names = {label: name for name, label in labels.items()}

    def changed() -> None:
        if not state.is_late(key):
            state.put(**state.choose(page.name, (TAB, names[st.session_state[key]])))
            state.run_alone(key)

    def draw_open() -> None:
        state.follow(key, labels.get(page.chosen(TAB), next(iter(labels.values()))))
        places = st.tabs(list(names), key=key, on_change=changed)
        for place, name in zip(places, names.values(), strict=True):
            if place.open or not state.has_browser():
                with place, state.fragment(key):
                    draw[name]()

    st.fragment(draw_open, key=key)()


def fold(page: Page, choice: Choice[bool], draw: Draw) -> None:
    """A part of a section that is drawn when it is opened, labeled with the page's text of the choice's name."""
    _folded(page, choice, page.words(choice.name), draw, is_alone=True)


def door(page: Page, choice: Choice[bool], label: str, draw: Draw, *, is_alone: bool = False) -> None:
    """Sections that are drawn when they are opened, and without a browser in any case.

    Args:
        is_alone: whether what is chosen behind it shows nowhere else.
    """
    _folded(page, choice, label, draw, is_alone=is_alone, is_door=True)


def _folded(page: Page, choice: Choice[bool], label: str, draw: Draw, *, is_alone: bool, is_door: bool = False) -> None:
    key = f"{page.text_key}.{choice.name}"
    part, always = f"{key}.part", is_door and not state.has_browser()

    def changed() -> None:
        # Also what may have been said before Back was heard of: refused, what a visitor has just opened would stay open
        # in the browser, which is only told what differs from what it was told before.
        state.put(**state.choose(page.name, (choice, bool(st.session_state[key]))))
        # What is below a page does not run for another sentence while it is closed: what is opened is drawn anew.
        state.run_alone(state.BELOW if is_door else part)

    def draw_open() -> None:
        # Written each time: with a label in another language it is another widget, which begins closed.
        st.session_state[key] = page.chosen(choice)
        place = st.expander(label, key=key, on_change=changed)
        if always or page.chosen(choice):
            with place, state.fragment(part) if is_alone else contextlib.nullcontext():
                draw()

    st.fragment(draw_open, key=part)()
