"""Every page on variants that the package does not have: it opens, its code agrees, it speaks of no other."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
from collections.abc import Iterator, Mapping

import fresh_variants
import pytest
import torch
from app_driver import offer, open_page
from app_driver import said as words_of
from doors import all_open
from tiers import turns
from tiny_models import describe, language_model

import viz_model as vm
from viz_model import config
from viz_model.app import health
from viz_model.app.frame import SECTIONS
from viz_model.config import ModelConfig, Variant
from viz_model.texts import LANGUAGES
from viz_model.tokenizers.tokenizer import story_tokenizer

PAGES = [page for pages in SECTIONS.values() for page in pages]

N_FRESH = 25

NAMES: dict[type[Variant], str] = {
    config.LayerNorm: "LayerNorm",
    config.RMSNorm: "RMSNorm",
    config.Rope: "rotary|RoPE|旋转位置",
    config.Alibi: "ALiBi",
    config.Sinusoidal: "sinusoid|正弦",
}
"""What a page only says of a model that has it. Pages that compare variants, or a block with a book's, name others."""
COMPARING = {
    "architectures",
    "batch",
    "block",
    "norm_placement",
    "position",
    "mistakes",
    "training_lab",
    "ablations",
    "cost",
}


def speaks_of_another(text: str, lm: vm.LanguageModel) -> bool:
    """Whether a text names a variant that a model does not have; the model's own name says nothing."""
    has = (lm.config.position, *lm.config.positions, lm.config.norm)
    others = "|".join(words for variant, words in NAMES.items() if not any(isinstance(one, variant) for one in has))
    return re.search(others, text.replace(lm.name, ""), re.IGNORECASE) is not None


def wide(config_: ModelConfig) -> vm.LanguageModel:
    """The same model with the whole vocabulary, so that words can be typed."""
    tokenizer = story_tokenizer()
    start = None if config_.start_id is None else tokenizer.end_of_text  # a mark that is no part of a text
    lm = language_model(dataclasses.replace(config_, n_vocab=tokenizer.n_vocab, n_context=32, start_id=start))
    return dataclasses.replace(lm, name=f"fresh-{describe(config_)}")


@pytest.fixture(scope="module")
def fresh() -> Iterator[Mapping[str, vm.LanguageModel]]:
    with fresh_variants.installed():
        shown = [*fresh_variants.fresh_configs()[::2], *fresh_variants.sinking_configs()]
        shown += fresh_variants.looking_configs()
        yield {lm.name: lm for lm in map(wide, shown)}


@pytest.mark.parametrize(("page", "n"), turns(PAGES, range(N_FRESH)))
def test_a_page_opens_on_fresh_variants(
    page: str, n: int, fresh: Mapping[str, vm.LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(fresh) == N_FRESH
    offer(monkeypatch, fresh)
    name, lang = list(fresh)[n], list(LANGUAGES)[n % len(LANGUAGES)]
    query = {"model": name, "text": "A cat sat", "target": "a cat", "lang": lang, "layer": str(n % 2), "token": "2"}
    app = open_page(page, query)
    said = [part.value for part in (*app.markdown, *app.caption, *app.subheader, *app.info)]
    assert not [text for text in said if "{{" in text]
    if page not in COMPARING:
        assert not [text for text in said if speaks_of_another(text, fresh[name])]
    for block in app.code:
        if "import viz_model" in block.value:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), torch.no_grad():
                exec(compile(block.value, page, "exec"), {})
            assert "False" not in printed.getvalue().split(), block.value


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
    page: str, extra: dict[str, str], fresh: Mapping[str, vm.LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, fresh)
    said = {}
    for n in (0, N_FRESH - 2):  # a dense layer; a token shift without positions
        name = list(fresh)[n]
        query = {"model": name, "text": "A cat sat down", "lang": "en", "token": "3"}
        app = open_page(page, {**query, **all_open(page), **extra})
        said[n] = " ".join(words_of(app).split())
    assert not ALONE.search(said[N_FRESH - 2]) and (page == "position" or ALONE.search(said[0]))


@pytest.mark.parametrize("n", range(N_FRESH - 12, N_FRESH - 9))
def test_a_row_is_not_said_to_sum_to_1_where_softmax_counts_more_than_the_keys(
    n: int, fresh: Mapping[str, vm.LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, fresh)
    name, lm = list(fresh.items())[n]
    assert health.check(lm).is_well
    app = open_page("attention", {"model": name, "text": "A cat sat", "target": "a cat", "lang": "en", "token": "2"})
    said = words_of(app)
    assert "a logit that no key has takes the rest" in said and "sums to 1." not in said
