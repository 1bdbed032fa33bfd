"""Widgets for what a visitor chooses on a page: the view has what they show, and gets what they are set to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

from viz_model.app import state
from viz_model.app.choices import Choice
from viz_model.app.page import Page

V = TypeVar("V")


def choose(page: Page, choice: Choice[V], options: Sequence[V], default: V | None = None, **more: Any) -> V:
    """One of a few options, each labelled with the page's ``name_option``.

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
    """A widget, labelled with the page's text of the choice's name and explained by its ``name_help``.

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
    state.follow(key, write(shown))

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
    is_list = bool(values) and isinstance(values[0], Sequence) and not isinstance(values[0], str)
    offered = values[0] if is_list else None
    picked = held if isinstance(held, list) else [held]
    return offered is None or all(one in offered for one in picked)
