"""What a model writes, for the browser to show one by one: many tokens at once, with the likeliest of each place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

import viz_model as vm
from viz_model.app import components, runs
from viz_model.app.cache import cached
from viz_model.topics.walk.chapters.write import MOST_WRITTEN
from viz_model.topics.walk.writing import places

KEY = "frame_pen"
MOST = 40
"""Places of one answer."""
LONGER, WARMTH = 12, 0.75
"""Tokens by which a sentence is continued, and at which temperature."""

_NUMBERS = ("asked", "seed", "n", "temperature")


def longer(model: str, text: str) -> str:
    """A sentence with what the model writes after it; the same where the model ends it there."""
    lm = runs.model(model)
    if lm.config.kind != "decoder" or len(lm.tokenizer.encode(text)) >= runs.most_tokens(lm.config):
        return text
    return text + lm.generate(text, max_new_tokens=LONGER, temperature=WARMTH, seed=len(text)).text


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
    ids = asked.get("ids")
    size = runs.model(model).config.n_vocab
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
def _places(
    model: str, text: str, written: tuple[int, ...], temperature: float, seed: int, n: int, to: str, changes: str
) -> list[dict[str, Any]]:
    lm = runs.model(model)
    return places(lm, text, written, temperature=temperature, seed=seed, n=n, to=to or None, changes=changes)
