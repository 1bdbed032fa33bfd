"""What is sent to the browser is bounded, whatever the length of the text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
import torch
from app_driver import ISLAND, PAGES
from streamlit.testing.v1 import AppTest
from tiers import turns
from tiny_models import random_model, tiny_config

import viz_model as vm
from viz_model.app import runs
from viz_model.app.frame import FIRST
from viz_model.app.view import ViewState
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import story_tokenizer

ROOT = Path(__file__).resolve().parents[2]
MOST, MOST_ISLAND = 150_000, 1_500_000
"""Bytes of a picture, and of a page that is one island, with all its sections open."""

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
    app.session_state["view"] = ViewState(model="long", text=text, layer=1, head=1)
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
    ("page", "length"), [*turns(PAGES, LENGTHS), *(pytest.param(page, 2048, marks=pytest.mark.slow) for page in PAGES)]
)
def test_no_view_of_a_page_is_too_large(page: str, length: int, lm: vm.LanguageModel) -> None:
    """Neither what is sent nor, where nobody asked for all heads, what is there at once."""
    st.cache_resource.clear()
    found = sent(open_page(page, text_of(lm, length)))
    assert len(found) > (10 if page != FIRST else 2)  # the page was drawn
    large = {name: size for name, size in found.items() if size > (MOST_ISLAND if ISLAND in name else MOST)}
    assert not large


def test_of_a_long_text_attention_waits_before_it_looks_at_all_layers(
    lm: vm.LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viz_model.topics.attention.brings.MOST_WORK", 0)
    asked = Asked(monkeypatch)
    st.cache_resource.clear()
    open_page("attention", text_of(lm, Asked.LONG))
    asked.check()
