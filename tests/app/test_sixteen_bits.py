"""Pages of models that are kept in 16 bits: they open, their numbers are the run's and are derived."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from app_driver import PAGES, check_page, open_page, pictures, said
from tiers import turns

import viz_model as vm
from viz_model.app import runs
from viz_model.app.frame import FIRST
from viz_model.checkpoints import room
from viz_model.drawing.digits import byte_size
from viz_model.texts import LANGUAGES

NAMES = ("tiny-qwen3", "tiny-translator", "story-pre-ln", "tiny-bert")


@pytest.fixture(scope="module", autouse=True)
def _kept(family: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(room.DTYPE, "bfloat16")
        runs.look_again()
        runs.loaded.clear()
        yield
    runs.loaded.clear()


@pytest.mark.parametrize(("page", "model"), turns(PAGES, NAMES))
def test_a_page_opens_and_its_numbers_are_derived(page: str, model: str) -> None:
    lm = vm.load(model)
    assert lm.dtype == torch.bfloat16
    app = open_page(page, {"model": model, "text": "A little cat sat on the mat", "layer": "1", "token": "3"})
    assert app.query_params["model"] == model and (pictures(app) or page == FIRST)
    assert check_page(app, lm) or page not in ("embedding", "attention", "block")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_gradients_that_memory_does_not_hold_are_not_begun(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    n = sum(weight.numel() for weight in vm.load("tiny-qwen3").model.parameters())
    query = {"model": "tiny-qwen3", "text": "A little cat sat", "token": "2", "lang": lang}
    monkeypatch.setattr(room, "refusal", lambda *_: None)  # of the models that the sidebar looks at
    for free, is_shown in ((12 * n - 1, False), (12 * n, True)):
        monkeypatch.setattr(room, "available", lambda device=None, free=free: free)
        app = open_page("backward", query)
        assert bool(pictures(app).keys() - {"sidebar_heads"}) == is_shown
        assert (byte_size(12 * n) in said(app)) != is_shown
