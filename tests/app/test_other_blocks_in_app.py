"""Every page on blocks that are put together otherwise: side by side, a norm on the branch, norms on both ends."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

import pytest
from app_driver import check_cells, offer, open_page, run_code, run_of, said, shown_of
from tiers import turns
from tiny_models import describe, language_model, mixed, other_blocks

import viz_model as vm
from viz_model.app import health
from viz_model.app.frame import SECTIONS
from viz_model.config import ModelConfig
from viz_model.tokenizers.tokenizer import story_tokenizer

PAGES = [page for pages in SECTIONS.values() for page in pages]
WITHOUT_CODE = {"norm_placement"}
"""Of it these models have formulas alone."""


def _wide(n: int, config_: ModelConfig) -> vm.LanguageModel:
    """The same model with the whole vocabulary, so that words can be typed."""
    lm = language_model(dataclasses.replace(config_, n_vocab=story_tokenizer().n_vocab, n_context=32))
    return dataclasses.replace(lm, name=f"other-{n}-{describe(config_)}")


def _chosen() -> Mapping[str, vm.LanguageModel]:
    """The first of each way: a decoder with all its parts; of the usual blocks one with experts in its first layer.

    Those with caps, a shared norm, norms without a shift and divided penalties besides.
    """
    found: dict[str, ModelConfig] = {}
    for config_ in other_blocks():
        found.setdefault("parallel" if config_.parallel else config_.norm_at, config_)
        is_rare = config_.shared_norm or not config_.first_norm or config_.attention_sink
        is_rare |= config_.projects_embedding or config_.shared_blocks
        if config_.score_cap is not None or is_rare:
            found[str(len(found))] = config_
    found |= {f"mixed-{n}": config_ for n, config_ in enumerate(mixed())}
    return {lm.name: lm for lm in itertools.starmap(_wide, enumerate(found.values()))}


MODELS = _chosen()


@pytest.mark.parametrize(("page", "name"), turns(PAGES, list(MODELS)))
def test_a_page_opens(page: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, MODELS)
    lang = ("en", "zh")[PAGES.index(page) % 2]
    app = open_page(page, {"model": name, "text": "A cat sat", "lang": lang, "layer": "1", "token": "2"})
    assert "{{" not in said(app)
    of_it = shown_of(page, MODELS[name].config)
    has_code = of_it is not None and of_it.tabs is not None and page not in WITHOUT_CODE
    assert not has_code or "False" not in run_code(app)
    check_cells(app, run_of(app, MODELS[name]))


def told(page: str, config: ModelConfig, monkeypatch: pytest.MonkeyPatch, **query: str) -> str:
    """What a page says of the same model with the whole vocabulary, so that words can be typed."""
    tokenizer = story_tokenizer()
    start = None if config.start_id is None else tokenizer.end_of_text  # a mark that is no part of a text
    wide = dataclasses.replace(config, n_vocab=tokenizer.n_vocab, n_context=32, start_id=start)
    lm: vm.LanguageModel = dataclasses.replace(language_model(wide), name="fresh")
    assert health.check(lm).is_well
    offer(monkeypatch, {"fresh": lm})
    app = open_page(page, {"model": "fresh", "text": "A cat sat down", "target": "a cat", "lang": "en", **query})
    found = " ".join(said(app).split())
    assert "{{" not in found
    return found


def test_a_row_is_not_said_to_sum_to_1_where_softmax_counts_more_than_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for config in other_blocks():
        if config.attention_sink:
            found = told("attention", config, monkeypatch, token="2")
            assert "a logit that belongs to no key takes the rest" in found and "sums to 1." not in found
