"""What is sent to the browser is bounded, whatever the length of the text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenes
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest
from tiers import crossed
from tiny_models import random_model, tiny_config

import viz_model as vm
from viz_model.app import ahead, drawn, pictures, runs, state
from viz_model.app.frame import SECTIONS
from viz_model.app.page import Page
from viz_model.app.subject import Subject
from viz_model.config import NoHead
from viz_model.drawing import maps, scene
from viz_model.runs.trace import Trace
from viz_model.texts import Texts
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics.attention import figures
from viz_model.topics.attention.numbers import thumbnails, views
from viz_model.topics.attention.pictures import grid

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page for pages in SECTIONS.values() for page in pages]
MOST, MOST_GRID = 150_000, 300_000
"""Bytes of a view, and of the grid of all heads of a layer."""

LENGTHS = [16, 500]


def long_model(**changes: Any) -> vm.LanguageModel:
    """A random model as wide as a small real one, with room for a long text."""
    tokenizer = story_tokenizer()
    sizes = {"n_vocab": tokenizer.n_vocab, "n_context": 2048, "d_model": 384, "n_heads": 12, "d_ffn": 512}
    model = random_model(tiny_config(**{**sizes, **changes}))
    return vm.LanguageModel(name="long", model=model, tokenizer=tokenizer, twin=None, folder=Path("nowhere"))


@pytest.fixture(scope="module")
def lm() -> Iterator[vm.LanguageModel]:
    """The only model of the app."""
    found = long_model()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "configs", lambda: {"long": found.config})
        patch.setattr(vm, "load", {"long": found}.__getitem__)
        st.cache_resource.clear()
        yield found
    st.cache_resource.clear()


def text_of(lm: vm.LanguageModel, length: int) -> str:
    """A text of so many tokens, few of them alike."""
    words = " ".join(f"{n} cats and {n * n} dogs, 小猫 {n}" for n in range(length))
    return lm.tokenizer.decode(lm.tokenizer.encode(words)[:length])


def open_page(page: str, text: str) -> AppTest:
    """A page with a text that is too long for an address."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=300)
    app.query_params["lang"] = "en"
    app.session_state["view"] = state.ViewState(model="long", text=text, layer=1, head=1)
    app.session_state["view.url"] = {"lang": "en"}
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception, app.exception[0].message
    return app


def sent(app: AppTest) -> dict[str, int]:
    """The bytes of every element of a page, by what it is and where."""
    found: dict[str, int] = {}

    def walk(block: Any, path: str) -> None:
        for n, child in block.children.items():
            if hasattr(child, "children"):
                walk(child, f"{path}.{n}")
            else:
                name = f"{getattr(child.proto, 'component_name', '')} {getattr(child.proto, 'id', '')}"
                found[f"{child.type} {name} {path}.{n}"] = child.proto.ByteSize()

    walk(app._tree, "")
    return found


class Asked:
    """The names of the values of T×V, and T×T of all heads, that were derived at once for texts that are long."""

    LONG = 300

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        derive = Trace._derive

        def watched(trace: Trace, full: str, head: int | None = None, rows: slice = slice(None)) -> torch.Tensor:
            found = derive(trace, full, head, rows)
            n, config = len(trace), trace.config
            if n >= self.LONG and found.numel() >= n * min(config.n_vocab, n * config.n_heads):
                self.names.append(full)
            return found

        patch.setattr(Trace, "_derive", watched)

    def check(self) -> None:
        """Of the patterns those of one layer may be there, of the logits a few rows."""
        assert "logits" not in self.names and "probs" not in self.names
        assert len({name.rpartition(".attn.")[0] for name in self.names}) <= 1


@pytest.mark.parametrize(
    ("page", "length"),
    [*crossed(PAGES, LENGTHS), *(pytest.param(page, 2048, marks=pytest.mark.slow) for page in PAGES)],
)
def test_no_view_of_a_page_is_too_large(
    page: str, length: int, lm: vm.LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what is sent nor, where nobody asked for all heads, what is there at once."""
    asked = Asked(monkeypatch)
    st.cache_resource.clear()
    found = sent(open_page(page, text_of(lm, length)))
    assert len(found) > 10  # the page was drawn
    large = {name: size for name, size in found.items() if size > (MOST_GRID if ".grid" in name else MOST)}
    assert not large
    if page != "attention":  # whose care for weights looks at all heads, of a text that is not too long for it
        asked.check()


def test_of_a_long_text_attention_waits_before_it_looks_at_all_heads(
    lm: vm.LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viz_model.topics.attention.sections.caveats.MOST_WORK", 0)
    asked = Asked(monkeypatch)
    st.cache_resource.clear()
    open_page("attention", text_of(lm, Asked.LONG))
    asked.check()


def test_the_grid_is_bounded_whatever_the_number_of_heads() -> None:
    lm = long_model(n_layers=1, n_heads=64, d_model=128, d_ffn=32, head=NoHead(), kind="encoder")
    trace = lm.trace(ids=list(range(200))).at("encoder")
    view = views.grid_view(trace, 0)
    every = grid.maps(view, "head", lambda _: "broad", str, ("from", "to"))
    sent = scene.encode(maps.scene(every, "grid", "title", {"masked": "masked"}))
    assert len(sent) <= MOST_GRID and view.pool > 1


def test_all_heads_of_a_deep_model_are_there_at_once_pooled_and_bounded() -> None:
    """30 × 9 heads at 256 tokens: each can be looked at by what the browser has, in either size of the maps."""
    lm = long_model(n_layers=30, n_heads=9, d_model=36, d_ffn=16)
    trace = lm.trace(text_of(lm, 256))
    subject, view = Subject(trace, 0, 0, 0, Texts("en"), "attention"), thumbnails.of(trace)
    for most in (figures.LARGE, figures.SMALL):
        made = figures.of_every_layer(subject, view, most)
        assert isinstance(made.picture, scene.Scene)
        sent = scene.encode(made.picture)
        assert len(sent) <= MOST_GRID
    marks = [mark for mark in scenes.read(sent).marks() if mark["kind"] == "cells"]
    chosen = [(mark["act"]["select"]["layer"], mark["act"]["select"]["head"]) for mark in marks]
    assert chosen == [(layer, head) for layer in range(30) for head in range(9)]
    named = [mark["label"].partition(":")[0] for mark in marks]
    assert named == [f"Layer {layer} · head {head}" for layer, head in chosen]
    # What is sent of a head is its largest weights, each of a square of the pattern.
    pattern, (layer, head) = trace.head("blocks.7.attn.pattern", 4).numpy(), chosen[7 * 9 + 4]
    shown = marks[7 * 9 + 4]["values"]
    assert (layer, head) == (7, 4) and len(trace) == 256 and shown.shape[0] < 48
    pool = -(-256 // shown.shape[0])
    squares = np.pad(pattern, (0, pool * shown.shape[0] - 256)).reshape(shown.shape[0], pool, -1, pool).max((1, 3))
    seen = np.isfinite(shown)
    assert np.array_equal(seen, np.tril(np.ones_like(seen)))
    np.testing.assert_allclose(shown[seen], squares[seen], atol=pattern.max() / 127)


def deep(monkeypatch: pytest.MonkeyPatch) -> Page:
    """30 layers of 9 heads over 256 tokens, looked at in the middle, where drawing takes no time."""
    monkeypatch.setattr(st, "session_state", {})
    for most in ("MOST_SECONDS", "MOST_SECONDS_OF_PAGE"):
        monkeypatch.setattr(ahead, most, 600.0)
    lm = long_model(n_layers=30, n_heads=9, d_model=36, d_ffn=16)
    trace = lm.trace(text_of(lm, 256)).at("decoder")
    view = state.Shown(model="long", text="", layer=15, head=4, token=255)
    st.session_state[state._SESSION] = view
    ahead.begin()
    return Page("attention", "attention", view, lm, trace, Texts("en"), 255, {})


def rested(page: Page, draw: Callable[[Page], scene.Scene | None], by: tuple[ahead.Dimension, ...]) -> scenes.Sent:
    ahead.ask()
    ahead.begin()
    data = pictures.of(page, draw, "picture", by)
    assert len(data) <= (MOST_GRID if by == ("layer",) else MOST)
    return scenes.read(data)


def maps_of(page: Page) -> scene.Scene:
    made = figures.of_layer(page.subject).picture
    assert isinstance(made, scene.Scene)
    return made


def test_every_layer_of_a_deep_model_is_a_click_away_and_exact_once_the_server_has_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = deep(monkeypatch)
    sent = rested(page, maps_of, ("layer",))
    assert sent.cases.keys() == {(layer,) for layer in range(30)}
    notes = {layer: sent.field("note", case) for (layer,), case in sent.cases.items()}
    for (layer,), case in sent.cases.items():
        for head in (0, 8):
            values = sent.mark("cells", case, f"head.{head}")["values"]
            pool, side = -(-256 // values.shape[0]), values.shape[0]
            assert notes[layer] == page.words("pooled", pool=pool), "the note is of what is shown"
            pattern = page.trace.head(f"blocks.{layer}.attn.pattern", head).numpy()
            squares = pattern.reshape(side, pool, side, pool).max((1, 3))
            seen = seen_by(side)
            np.testing.assert_array_equal(np.isfinite(values), seen)
            step = 0.0 if layer == 15 else squares.max() / 127
            np.testing.assert_allclose(values[seen], squares[seen], atol=0.51 * step + 1e-6)
    assert notes[15] != notes[0]
    # A click on a far one: at once what the browser has, and once the visitor rests the server's answer.
    ahead.begin()
    assert pictures.of(at(page, 0), maps_of, "picture", ("layer",)) and ahead.end()
    answered(at(page, 0))
    monkeypatch.setattr(ahead, "MOST_SECONDS_OF_PAGE", 0.0)
    answered(at(page, 29))


def answered(page: Page) -> None:
    """The maps of the page's layer are exact, and the note under them says so, once the visitor has rested."""
    layer, sent = page.view.layer, rested(page, maps_of, ("layer",))
    case, seen = sent.cases[(layer,)], seen_by(64)
    exact = page.trace.head(f"blocks.{layer}.attn.pattern", 4).numpy().reshape(64, 4, 64, 4).max((1, 3))
    np.testing.assert_allclose(sent.mark("cells", case, "head.4")["values"][seen], exact[seen], atol=1e-6)
    assert sent.field("note", case) == page.words("pooled", pool=4)


def at(page: Page, layer: int) -> Page:
    return dataclasses.replace(page, view=dataclasses.replace(page.view, layer=layer))


def seen_by(side: int) -> np.ndarray:
    return np.tril(np.ones((side, side), bool))


def test_the_steps_of_every_neighbour_in_a_deep_model_have_room_and_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    page = deep(monkeypatch)
    by: tuple[ahead.Dimension, ...] = ("layer", "head", "token")

    def draw(page: Page) -> scene.Scene:
        made = figures.of_query(page.subject)
        return drawn.scene(page.subject, made.picture, "steps", made.alt)

    sent = rested(page, draw, by)
    assert sent.cases.keys() == {(15, 4, 255), *ahead.neighbours(page, by, (15, 4, 255))} and len(sent.cases) > 80
    assert {header["type"] for header in sent.header["arrays"]} == {"f4"}
