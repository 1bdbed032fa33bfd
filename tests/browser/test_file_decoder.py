"""The decoder of a saved walk: it reads as the tokenizer does, says what the model says, and draws the same tokens."""

from collections.abc import Iterator
from typing import Any

import bundled_models
import file_decoder
import numpy as np
import pytest
import torch

import viz_model as vm
from viz_model.island import local_model
from viz_model.topics.walk import writing
from viz_model.topics.walk.chapters import write

pytestmark = pytest.mark.browser
TEXTS = (
    *("A", "The cat sat on the mat", '"Let\'s go," said Lily.', "they'd, but we're sure it'll", "1234567", " "),
    *("  two  spaces  ", "A line\nand another\r\n\r\n\tend\n", "WHY ARE YOU SHOUTING?!", "naïve Ærøskøbing; œuvre"),
    *("e\u0301 e\u0302", "a" * 200, "... --- ???", "小猫坐在垫子上。", "妈妈说：“不要碰火！”", "龘龘靐齉", "「谁？」"),
    *("二〇二四年", "全角　空格", "I love 北京 and 上海!", "第3个 costs $5.99", "Tom 说：“Let's go!”"),
    *("👩‍👩‍👧 family 🎉🎉", "\ufeffBOM first", "next\u0085line\u2028and\u00a0more\u3000end", "مرحبا"),
    *("नमस्ते १२३ ٣٤٥", "[MASK] <|endoftext|> <|fr|>", "don’t ‘quote’", "日本語、カタカナ", "I" + " see" * 600),
)
NAMES = ("story-pre-ln", "story-post-ln", "story-modern", "story-next", "story-alibi", "story-none", "story-moe")
NEAR = 1e-5
"""Of probabilities: the weights are the same, and sums are rounded in another order."""


@pytest.fixture(scope="module", params=NAMES)
def both(request: Any, chromium: Any) -> Iterator[tuple[vm.LanguageModel, Any]]:
    page, lm = chromium.new_page(), vm.load(request.param)
    file_decoder.load(page, lm)
    yield lm, page
    page.close()


def test_every_text_is_read_and_answered_as_here(both: tuple[vm.LanguageModel, Any]) -> None:
    lm, page = both
    ids = page.evaluate("texts => texts.map(text => model.encode(text))", TEXTS)
    assert ids == [lm.tokenizer.encode(text) for text in TEXTS]
    for text, own in zip(TEXTS, ids, strict=True):
        there = torch.tensor(page.evaluate("ids => Array.from(model.read(ids))", own), dtype=torch.float64).softmax(-1)
        here = lm.decoder(own).logits.double().softmax(-1)
        assert float((there - here).abs().max()) < NEAR, text


WRITE = """asked => {
  const places = []
  while (places.length <= asked.n && !places.at(-1)?.drawn?.ends) {
    places.pop() // the last one of an answer has nothing drawn
    const ids = places.map(place => place.drawn.id)
    places.push(...model.places({ ...asked, ids, n: Math.min(2, asked.n - ids.length) }))
  }
  return places
}"""
HOW = {"temperatures": write.TEMPERATURES, "likeliest": write.LIKELIEST, "most": write.MOST_WRITTEN}


@pytest.mark.parametrize("changes", ["", "no-position", "no-mask", "head-off.1.2.decoder", "no-scale"])
def test_it_writes_what_is_written_here(both: tuple[vm.LanguageModel, Any], changes: str) -> None:
    lm, page = both
    if not lm.config.attends:  # in whose first layers no head has weights
        changes = changes.replace("head-off.1", f"head-off.{lm.config.n_layers - 1}")
    asked: dict[str, Any] = {"temperature": writing.WARM, "seed": 3, "n": 20}
    here = writing.places(lm, "小猫 and the dog", (), cut=changes, **asked)
    there = page.evaluate(WRITE, {"text": "小猫 and the dog", "edits": changes, **asked, **HOW})
    assert [place.get("drawn", {}).get("id") for place in there] == [place.get("drawn", {}).get("id") for place in here]
    for one, other in zip(there, here, strict=True):
        assert [token["bytes"] for token in one["tokens"]] == [token["bytes"] for token in other["tokens"]]
        np.testing.assert_allclose(one["p"], other["p"], atol=1)  # ten-thousandths, rounded


def test_its_dice_are_those_of_pytorch(both: tuple[vm.LanguageModel, Any]) -> None:
    """Of a hot distribution, where another number would draw another token."""
    lm, page = both
    how: dict[str, Any] = {"temperature": 2.0, "n": 1}
    for seed in (1, 7, 4_000_000_007):
        for written in ((), (5, 300)):
            here = writing.places(lm, "A dog", written, seed=seed, **how)
            asked = {"text": "A dog", "ids": written, "edits": "", "seed": seed, **how, **HOW}
            there = page.evaluate("asked => model.places(asked)", asked)
            assert there[0]["drawn"]["id"] == here[0]["drawn"]["id"]


def test_other_models_are_not_put_into_a_file() -> None:
    decoders = [name for name in bundled_models.NAMES if local_model.runs(vm.load(name))]
    assert decoders == list(NAMES)
