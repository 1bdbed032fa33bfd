"""What a model writes, for the browser to show one by one: many tokens at once, with the likeliest of each place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
import torch

import viz_model as vm
from viz_model.app import components, runs
from viz_model.app.cache import cached
from viz_model.runs import edits, generation
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.topics.walk.chapters.write import TEMPERATURES

KEY = "frame_pen"
MOST, LIKELIEST = 40, 5
"""Places of one answer; tokens of each."""
LONGER, WARMTH = 12, 0.75
"""Tokens by which a sentence is continued, and at which temperature."""
MOST_WRITTEN = 400
"""Tokens after which a page is full."""

HEATS = torch.tensor(TEMPERATURES, dtype=torch.float64)[:, None].clamp(min=1e-3)
"""What logits are divided by; at 0 the likeliest token is all, which no division says."""

_NUMBERS = ("asked", "seed", "n", "temperature")


def places(
    lm: vm.LanguageModel,
    text: str,
    written: Sequence[int],
    *,
    temperature: float,
    seed: int,
    n: int,
    to: str | None = None,
    changes: str = "",
) -> list[dict[str, Any]]:
    """Up to n + 1 places after a text and what was ``written``: the likeliest tokens of each with their probabilities
    at every temperature, and which was drawn. The last place has none drawn, unless the model ended the text there.

    Args:
        seed: of the random numbers. Each place has its own, so that the same ones are drawn however many are asked for
            at once.
        to: of a model that translates, the language.
        changes: edits, as an address writes them.
    """
    tokenizer = lm.tokenizer
    read, target = tokenizer.encode(text), None
    if lm.config.kind == "encoder_decoder":
        target = ""
        decoder = lm.decoder(read, target, to, edits.parse(changes))
        for id in written:
            decoder.append(id)
    else:
        decoder = lm.decoder([*read, *written], edits=edits.parse(changes))
    sampling = generation.Sampling(temperature=temperature)
    found: list[dict[str, Any]] = []
    while True:
        logits = decoder.logits
        probs = (logits.double() / HEATS).softmax(-1)
        probs[0] = torch.zeros_like(probs[0]).index_fill(0, logits.argmax(), 1.0)
        likeliest = logits.topk(LIKELIEST).indices.tolist()
        place = {"tokens": [_token(tokenizer, id) for id in likeliest], "p": _whole(probs[:, likeliest])}
        found.append(place)
        if len(found) > n or len(written) + len(found) > MOST_WRITTEN:
            return found
        number = generation.number(seed, len(written) + len(found))
        id = generation.draw(generation.distribution(logits, sampling), number)
        place["drawn"] = {**_token(tokenizer, id), "p": [row[0] for row in _whole(probs[:, [id]])]}
        if id == tokenizer.end_of_text:
            return found
        decoder.append(id)


def _whole(probs: torch.Tensor) -> Any:
    """In ten-thousandths, which is what is drawn."""
    return probs.mul(10_000).round().int().tolist()


def _token(tokenizer: Tokenizer, id: int) -> dict[str, Any]:
    token, ends = tokenizer.token(id), id == tokenizer.end_of_text
    label = token.label.replace("\u00a0", " ")
    return {"id": id, "label": label, "bytes": "" if ends else token.bytes.hex(), **({"ends": True} if ends else {})}


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
