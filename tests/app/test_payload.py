"""What is sent to the browser is bounded, whatever the length of the text."""

from __future__ import annotations

from collections.abc import Iterator
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
from viz_model.app import runs, state
from viz_model.app.frame import SECTIONS
from viz_model.app.subject import Subject
from viz_model.app.texts import Texts
from viz_model.config import NoHead
from viz_model.drawing import maps, scene
from viz_model.runs.trace import Trace
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
    drawn = grid.maps(view, "head", lambda _: "broad", str, ("from", "to"))
    sent = scene.encode(maps.scene(drawn, "grid", "title", {"masked": "masked"}))
    assert len(sent) <= MOST_GRID and view.pool > 1


def test_all_heads_of_a_deep_model_are_there_at_once_pooled_and_bounded() -> None:
    """30 × 9 heads at 256 tokens: each can be looked at by what the browser has, in either size of the maps."""
    lm = long_model(n_layers=30, n_heads=9, d_model=36, d_ffn=16)
    trace = lm.trace(text_of(lm, 256))
    subject, view = Subject(trace, 0, 0, 0, Texts("en"), "attention"), thumbnails.of(trace)
    for most in (figures.LARGE, figures.SMALL):
        drawn = figures.of_every_layer(subject, view, most)
        assert isinstance(drawn.picture, scene.Scene)
        sent = scene.encode(drawn.picture)
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
