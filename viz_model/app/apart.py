"""The four tabs that take a page apart: Streamlit's own, of the layer, head and token that are selected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.drawing.scene import seen
from viz_model.drawing.tables import Among, Phrase, pick
from viz_model.island.look import Look
from viz_model.island.page import Apart
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal


def draw(page: Page, look: Look, tabs: Apart) -> None:
    """Formula, by hand, code, numbers; the one that is open is drawn."""
    if tabs.side is not None:
        page = replace(page, trace=page.trace.at(tabs.side(look)))
    elements.four_tabs(
        page,
        lambda: _formulas(page, look, tabs),
        lambda: _hand(page, look, tabs),
        lambda: _code(page, look, tabs),
        lambda: _numbers(page, look, tabs),
    )


def _formulas(page: Page, look: Look, tabs: Apart) -> None:
    _say(look, tabs.begins)
    elements.formula(page, *tabs.formulas(look))
    _say(look, tabs.said)


def _say(look: Look, said: Callable[[Look], Iterable[Line]] | None) -> None:
    for line in said(look) if said else ():
        st.markdown(_markdown(line, look))


def _markdown(line: Line, look: Look) -> str:
    """A line for the selection; names that stand there to the letter are code."""
    words = line.words
    if isinstance(words, Phrase):
        values = {name: _as_code(value) if isinstance(value, Among) else value for name, value in words.values.items()}
        words = words._replace(values=values)
    return str(pick(words, look.place))


def _as_code(names: Among) -> Among:
    return names._replace(names=[literal(str(name)) for name in names.names]) if names.is_code else names


def _hand(page: Page, look: Look, tabs: Apart) -> None:
    said, numbers, values = tabs.hand(look)
    if said is not None:
        st.markdown(_markdown(said, look))
    elements.worked(page, numbers, **values)
    _say(look, tabs.ends)
    if (scene := tabs.picture(look) if tabs.picture else None) is not None:
        drawn = seen(scene, look.place)
        elements.picture(page, drawn)


def _code(page: Page, look: Look, tabs: Apart) -> None:
    name, values = tabs.own(look) if tabs.own else (None, {})
    elements.code(page, name, sites=tuple(tabs.code(look)), **values)


def _numbers(page: Page, look: Look, tabs: Apart) -> None:
    more = tabs.tables(look) if tabs.tables else ()
    for n, (site, values, rows, columns) in enumerate(filter(None, [tabs.numbers(look), *more])):
        elements.table(page, site, values, list(rows), list(columns), f"numbers{n or ''}")
    for name, said, named in tabs.records(look) if tabs.records else ():
        if said:
            st.markdown(said)
        elements.records(page, f"{page.text_key}.{name}", named)
