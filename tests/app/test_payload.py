"""What is sent to the browser is bounded, whatever the length of the text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from app_driver import ISLAND, PAGES, ROOT, offer
from streamlit.testing.v1 import AppTest
from tiers import turns
from tiny_models import random_model, tiny_config

import viz_model as vm
from viz_model.app.frame import FIRST
from viz_model.app.view import ViewState
from viz_model.tokenizers.tokenizer import story_tokenizer

MOST, MOST_ISLAND = 150_000, 1_500_000
"""Bytes of a picture, and of a page that is one island, with all its sections open."""


@pytest.fixture(scope="module")
def lm() -> Iterator[vm.LanguageModel]:
    """The only model of the app: random, as wide as a small real one, with room for a long text."""
    tokenizer = story_tokenizer()
    sizes: dict[str, Any] = {"n_context": 2048, "d_model": 384, "n_heads": 12, "d_ffn": 512}
    model = random_model(tiny_config(n_vocab=tokenizer.n_vocab, **sizes))
    found = vm.LanguageModel(name="long", model=model, tokenizer=tokenizer, twin=None, folder=Path("nowhere"))
    with pytest.MonkeyPatch.context() as patch:
        offer(patch, {"long": found})
        yield found
    st.cache_resource.clear()


def text_of(lm: vm.LanguageModel, length: int) -> str:
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
    protos = [(element.type, element.proto) for element in app._tree if hasattr(element, "proto")]
    return {
        f"{n} {kind} {getattr(proto, 'component_name', '')} {getattr(proto, 'id', '')}": proto.ByteSize()
        for n, (kind, proto) in enumerate(protos)
        if hasattr(proto, "ByteSize")
    }


@pytest.mark.parametrize(
    ("page", "length"),
    [*turns(PAGES, [16, 500]), *(pytest.param(page, 2048, marks=pytest.mark.slow) for page in PAGES)],
)
def test_no_view_of_a_page_is_too_large(page: str, length: int, lm: vm.LanguageModel) -> None:
    """Neither what is sent nor, where nobody asked for all heads, what is there at once."""
    st.cache_resource.clear()
    found = sent(open_page(page, text_of(lm, length)))
    assert len(found) > (10 if page != FIRST else 2)  # the page was drawn
    large = {name: size for name, size in found.items() if size > (MOST_ISLAND if ISLAND in name else MOST)}
    assert not large
