"""What is done when a visitor clicks on something that is not there in the page's tables: a change of the view."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

import viz_model as vm
from viz_model.app import frame, island, runs, state, writing
from viz_model.island.look import Look
from viz_model.island.page import Page


def picked(text: str | None, of: str, value: Any) -> None:
    """A token of the other stack was clicked, another sentence, model or place, or the heading of a stage."""
    if of == "keep" and text:
        state.update(text=writing.longer(state.current().model, text))
    elif of in ("encoder", "decoder") and isinstance(value, int):
        state.update(side=of, token=value)
    elif isinstance(value, Mapping) and value.get("page") in ONWARD:
        place = {name: value[name] for name in ("layer", "head") if isinstance(value.get(name), int)}
        frame.go(value["page"], **place, **({"text": text} if of == "way" else {}))
    elif isinstance(value, Mapping) and of == "view":
        changes = {name: one for name, one in value.items() if name in _CHANGES and _CHANGES[name](one)}
        if isinstance(asked := value.get("edits"), str):
            with contextlib.suppress(ValueError):
                changes["edits"] = vm.edits.parse(asked)
        state.update(**changes)
    elif isinstance(value, Mapping) and of == "press":
        st.session_state[_PRESSED] = value


def press(shown: Page, look: Look, name: str) -> None:
    """Do what a visitor has pressed, at the place where that was; it takes runs, and so is done here."""
    pressed: Mapping[str, Any] = st.session_state.pop(_PRESSED, {})
    if pressed.get("name") not in shown.presses:
        return
    place = look.place | {
        axis: n for axis, size in look.sizes.items() if isinstance(n := pressed.get(axis), int) and 0 <= n < size
    }
    there = replace(look, layer=place["layer"], head=place["head"], token=place["token"])
    changes = dict(shown.presses[pressed["name"]](there))
    choices = island.options_of(shown)
    chosen = ((choices[option], said) for option, said in changes.pop("options", {}).items())
    state.put(**changes, **state.choose(name, *chosen))
    st.rerun()


_PRESSED = "clicks.pressed"


def _is_text(said: object) -> bool:
    return said is None or isinstance(said, str)


def _is_place(said: object) -> bool:
    return said is None or (isinstance(said, int) and said >= 0)


_CHANGES: dict[str, Callable[[Any], bool]] = {
    "text": _is_text,
    "target": _is_text,
    "to": _is_text,
    "side": lambda said: said in ("encoder", "decoder"),
    "model": lambda said: said in runs.names(),
    "token": _is_place,
}
"""What of the view a button on a page may change, and to what."""
ONWARD = (*(name for names in frame.SECTIONS.values() for name in names), frame.MODELS)
"""Pages that a picture, a button or a story leads to."""
