"""Every rule, taken apart step by step, comes to what the tokenizer's own library makes of the text."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_model.checkpoints import registry
from viz_model.tokenizers.fast import build
from viz_model.tokenizers.files import Settings
from viz_model.tokenizers.reading import FastTokenizer
from viz_model.tokenizers.tokenizer import Tokenizer, cl100k_base, story_tokenizer
from viz_model.topics.tokens import odd, splitting

TEXTS = ["unbelievable", " tokenization 2026!", "我爱 🙂 ÄÖ", "aab abab", "  x", "zzz"]
LETTERS = st.text(alphabet="ab cde", min_size=1, max_size=24)


def described(model: Mapping[str, Any], **parts: Any) -> FastTokenizer:
    """A tokenizer that the library runs, of a few pieces."""
    plain: dict[str, Any] = dict.fromkeys(("normalizer", "pre_tokenizer", "decoder"))
    plain |= {"version": "1.0", "added_tokens": [], "model": dict(model), **parts}
    settings = Settings.of(Path("nowhere"))
    found = build("tiny", Path("tokenizer.json"), plain, settings, len(model["vocab"]))
    assert isinstance(found, FastTokenizer)
    return found


@pytest.fixture(scope="module")
def wordpiece() -> Tokenizer:
    pieces = ["[UNK]", "a", "b", "##a", "##b", "ab", "##ab", "aab", "##bc", "c", "##c", "##d", "d"]
    vocabulary = {piece: id for id, piece in enumerate(pieces)}
    unknown = {"id": 0, "content": "[UNK]", "special": True, "single_word": False}
    ends = {"lstrip": False, "rstrip": False, "normalized": False}
    model = {"type": "WordPiece", "vocab": vocabulary, "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    return described(
        {**model, "max_input_chars_per_word": 100},
        added_tokens=[unknown | ends],
        pre_tokenizer={"type": "BertPreTokenizer"},
    )


@pytest.fixture(scope="module")
def unigram() -> Tokenizer:
    scores = {"<unk>": 0.0, "▁": -3.0, "a": -4.0, "b": -4.5, "ab": -5.25}
    scores |= {"▁a": -5.5, "ba": -6.0, "abab": -9.0, "c": -7.0}
    entries = [[piece, score] for piece, score in scores.items()]
    model = {"type": "Unigram", "unk_id": 0, "vocab": entries, "byte_fallback": False}
    return described(model, pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})


@pytest.fixture(scope="module")
def pairs() -> Tokenizer:
    vocabulary = {piece: id for id, piece in enumerate(["▁", *"abcde", "ab", "▁ab", "cd", "abab"])}
    merges = [["c", "d"], ["a", "b"], ["▁", "ab"], ["ab", "ab"]]
    model = {"type": "BPE", "vocab": vocabulary, "merges": merges, "unk_token": None}
    return described(model, pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("tokenizer", [story_tokenizer(), cl100k_base()], ids=["story-8k", "cl100k_base"])
def test_byte_pairs_come_to_the_tokenizer_s_ids(tokenizer: Tokenizer, text: str) -> None:
    found = splitting.splits(tokenizer, text)
    assert [id for split in found for id in split.ids] == tokenizer.encode(text)
    assert "".join(split.word for split in found) == text and all(split.holds for split in found)
    for split in found:
        for step, join in enumerate(split.joins):
            can = [pair.rank for pair in split.pairs(step) if pair.rank is not None]
            assert join.rank == min(can) == split.pairs(step)[join.at].rank
        assert all(pair.rank is None for pair in split.pairs(len(split.joins)))
        assert tuple(token.bytes for token in tokenizer.tokens(split.ids)) == split.parts()


@pytest.mark.parametrize("name", ["wordpiece", "unigram", "pairs"])
def test_other_rules_come_to_the_library_s_ids(name: str, request: pytest.FixtureRequest) -> None:
    tokenizer: Tokenizer = request.getfixturevalue(name)
    expected = {"wordpiece": "longest", "unigram": "unigram", "pairs": "pairs"}[name]

    @given(LETTERS)
    def same(text: str) -> None:
        found = splitting.splits(tokenizer, text)
        assert all(split.rule == expected for split in found)
        ids = [id for split in found for id in split.ids]
        given_ids = tokenizer.encode(text, special=False)
        assert all(split.holds for split in found) and ids == given_ids[: len(ids)]
        assert len(tokenizer.words(text)) > splitting.MOST_WORDS or ids == given_ids

    same()


def test_the_longest_entry_is_taken_and_what_was_tried_is_no_entry(wordpiece: Tokenizer) -> None:
    (split,) = splitting.splits(wordpiece, "aabc")
    assert [step.entry for step in split.taken] == ["aab", "##c"]
    assert split.taken[0].tried == ("aabc",)
    (lost,) = splitting.splits(wordpiece, "abe")  # no entry for the e: the whole word is unknown
    assert lost.taken[-1].entry is None and lost.ids == (wordpiece.unknown_id,)


def test_the_ways_are_the_most_probable_ones(unigram: Tokenizer) -> None:
    (split,) = splitting.splits(unigram, "abab")
    totals = [way.total for way in split.ways]
    assert totals == sorted(totals, reverse=True) and len(set(split.ways)) == len(totals)
    for way in split.ways:
        assert "".join(piece for piece, _ in way.pieces) == "▁abab"
        assert way.total == pytest.approx(sum(score for _, score in way.pieces))
    assert totals[0] == -3.0 - 9.0  # ▁ abab, before ▁ ab ab
    assert sum(splitting.shares(split.ways)) == pytest.approx(1)


def test_a_survey_counts_every_text_once() -> None:
    story = story_tokenizer()
    words = odd.common_words(story)
    assert len(words) == odd.MOST_SURVEYED
    found = odd.survey(story, words[:40])
    sizes = {"numbers": len(odd.NUMBERS), "faces": len(odd.FACES), "chinese": len(odd.CHARACTERS)}
    assert {kind: counts.sum() for kind, counts in found.items()} == {**dict.fromkeys(odd.FORMS, 40), **sizes}
    assert found["space"].tolist() == [40, 0, 0, 0, 0]
    assert found["numbers"][0] == sum(len(story.encode(str(number))) == 1 for number in odd.NUMBERS)
    assert found["bare"][0] == sum(len(story.encode(word)) == 1 for word in words[:40])
    assert found["bare"][3] == sum(len(story.encode(word)) >= 4 for word in words[:40])


def test_a_model_s_tokenizer_comes_without_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> SimpleNamespace:
        raise AssertionError("weights were read")

    for reading in ("fill", "_load_path"):
        monkeypatch.setattr(registry, reading, refuse)
    assert registry.vocabulary_of("story-pre-ln") == "story-8k"
    assert registry.tokenizer_of("translate-t5").languages
