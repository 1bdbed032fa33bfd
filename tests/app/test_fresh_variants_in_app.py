"""What pages say of variants that the package does not have, where what holds of its own would be false."""

from __future__ import annotations

import dataclasses

import fresh_variants
import pytest
from app_driver import offer, open_page, said
from tiny_models import language_model

import viz_model as vm
from viz_model.app import health
from viz_model.config import ModelConfig
from viz_model.tokenizers.tokenizer import story_tokenizer


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
    with fresh_variants.installed():
        for config in fresh_variants.sinking_configs():
            found = told("attention", config, monkeypatch, token="2")
            assert "a logit that no key has takes the rest" in found and "sums to 1." not in found
