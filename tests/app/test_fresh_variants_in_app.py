"""What pages say of variants that the package does not have, where what holds of its own would be false."""

from __future__ import annotations

import dataclasses
import re

import fresh_variants
import pytest
from app_driver import offer, open_page, said
from doors import all_open
from tiny_models import language_model, tiny_config

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


FALSE = (
    r"happens to [^.]* alone\.",
    r"Everything else in the model treats",
    r"each token is alone",
    r"feed-forward layers work on each token by itself",
    r"feed-forward network,? (which )?works on each token alone",
    r"bag of tokens",
)
ALONE = re.compile("|".join(FALSE))
"""What holds where a feed-forward reads its own position alone."""


@pytest.mark.parametrize(
    ("page", "extra"), [("block", {}), ("cost", {}), ("walk", {"chapter": "ffn"}), ("position", {})]
)
def test_a_model_whose_feed_forward_looks_around_is_not_said_to_take_each_token_alone(
    page: str, extra: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {"token": "3", **all_open(page), **extra}
    assert page == "position" or ALONE.search(told(page, tiny_config(), monkeypatch, **query))
    with fresh_variants.installed():
        assert not ALONE.search(told(page, fresh_variants.looking_configs()[-1], monkeypatch, **query))


def test_a_row_is_not_said_to_sum_to_1_where_softmax_counts_more_than_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh_variants.installed():
        for config in fresh_variants.sinking_configs():
            found = told("attention", config, monkeypatch, token="2")
            assert "a logit that no key has takes the rest" in found and "sums to 1." not in found
