"""What a model writes, for the browser to show one by one: many tokens at once, with the likeliest of each place."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

import viz_model as vm
from viz_model.app import components, runs
from viz_model.app.cache import cached
from viz_model.topics.walk.chapters.write import MOST_WRITTEN
from viz_model.topics.walk.writing import places

KEY, MOST = "frame_pen", 40
"""Of what is asked; places of one answer."""
_NUMBERS = ("asked", "seed", "n", "temperature")


@st.fragment
def pen(model: str) -> None:
    """Answer what a page asks to be written, apart from the page, which is then neither made nor sent again."""
    told = st.session_state.get(KEY)
    asked = getattr(told, "asked", None)
    answer: dict[str, Any] = {"asked": 0, "places": []}
    if isinstance(asked, Mapping) and all(isinstance(asked.get(name), int | float) for name in _NUMBERS):
        answer = {"asked": asked["asked"], "places": _answer(model, asked)}
    components.pen(answer, key=KEY)


def _answer(model: str, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    ids, size = asked.get("ids"), runs.model(model).config.n_vocab
    written = tuple(id for id in (ids if isinstance(ids, list) else []) if isinstance(id, int) and 0 <= id < size)
    text, to, changes = (str(asked.get(name) or "") for name in ("text", "to", "edits"))
    heat, n = min(max(float(asked["temperature"]), 0.0), 2.0), min(max(int(asked["n"]), 0), MOST)
    if not text or len(written) > MOST_WRITTEN:
        return []
    try:
        return _places(model, runs.readable(text)[0], written, heat, int(asked["seed"]), n, to, changes)
    except (ValueError, vm.TextError):
        return []


@cached()
def _places(model: str, *asked: Any) -> list[dict[str, Any]]:
    return places(runs.model(model), *asked)
