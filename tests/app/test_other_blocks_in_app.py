"""Every page on blocks that are put together otherwise: side by side, a norm on the branch, norms on both ends."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

import pytest
from app_driver import PAGES, check_page, offer, open_page, said
from tiers import turns
from tiny_models import describe, language_model, mixed, other_blocks

import viz_model as vm
from viz_model.app import health
from viz_model.config import ModelConfig
from viz_model.tokenizers.tokenizer import story_tokenizer


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
    check_page(app, MODELS[name])


@pytest.mark.parametrize("config", [config for config in other_blocks() if config.attention_sink], ids=describe)
def test_a_row_is_not_said_to_sum_to_1_where_softmax_counts_more_than_the_keys(
    config: ModelConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = _wide(0, config)
    assert health.check(lm).is_well
    offer(monkeypatch, {lm.name: lm})
    found = " ".join(said(open_page("attention", {"model": lm.name, "text": "A cat sat", "lang": "en"})).split())
    assert "a logit that belongs to no key takes the rest" in found and "sums to 1." not in found
