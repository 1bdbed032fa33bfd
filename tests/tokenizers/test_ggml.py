"""Tokenizers of GGUF files: the ids that the originals give, and one line on everything else."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tokenizers import normalizers
from trained_tokenizers import CORPUS, byte_level, sentencepiece

from viz_model.checkpoints.weights import ModelError
from viz_model.tokenizers import rules
from viz_model.tokenizers.reading import SAMPLES, FastTokenizer, from_gguf
from viz_model.tokenizers.tokenizer import ByteLevel


def gguf_fields(rules: str = "smollm", **changes: Any) -> dict[str, Any]:
    trained = byte_level(rules, size=300)
    vocabulary = sorted(trained.get_vocab().items(), key=lambda entry: entry[1])
    tokens = [token for token, _ in vocabulary]
    merges = [" ".join(pair) for pair in json.loads(trained.to_str())["model"]["merges"]]
    fields = {"model": "gpt2", "pre": rules, "tokens": tokens, "merges": merges, "bos_token_id": 0, "eos_token_id": 0}
    fields["token_type"] = [3, *[1] * (len(tokens) - 1)]
    return {f"tokenizer.ggml.{key}": value for key, value in (fields | changes).items() if value is not None}


@pytest.mark.parametrize("pre", rules.PRE_TOKENIZERS)
def test_gguf_by_its_rules(pre: str) -> None:
    tokenizer = from_gguf(gguf_fields(pre), Path("a/b.gguf"), 300)
    assert isinstance(tokenizer, FastTokenizer if pre in ("qwen2", "bloom", "falcon") else ByteLevel)
    assert (tokenizer.name, tokenizer.end_of_text, list(tokenizer.controls)) == ("b", 0, [0])
    trained = byte_level(pre, size=300)
    for text in (*SAMPLES[:-1], *CORPUS):
        expected = trained.encode(text).ids
        assert tokenizer.encode(text, special=False) == expected
        assert tokenizer.encode(text) == ([0, *expected] if pre == "llama-bpe" else expected)


@pytest.mark.parametrize(
    ("pre", "same"), [("mpt", "gpt-2"), ("olmo", "gpt-2"), ("dbrx", "llama-bpe"), ("smaug-bpe", "llama-bpe")]
)
def test_gguf_by_the_rules_of_another(pre: str, same: str) -> None:
    fields = {**gguf_fields(same), "tokenizer.ggml.pre": pre}
    tokenizer, trained = from_gguf(fields, Path("a/b.gguf"), 300), byte_level(same, size=300)
    if pre in ("mpt", "olmo"):  # as transformers.GPTNeoXTokenizer does
        trained.normalizer = normalizers.NFC()
    for text in (*SAMPLES[:-1], *CORPUS, "e\u0301"):
        assert tokenizer.encode(text) == trained.encode(text).ids


def test_gguf_with_control_tokens_around() -> None:
    path = Path("x.gguf")
    tokenizer = from_gguf(gguf_fields(add_bos_token=True, add_eos_token=True), path, 300)
    assert tokenizer.encode("the") == [0, *tokenizer.encode("the", special=False), 0]
    assert tokenizer.decode(tokenizer.encode("the")) == "the"
    plain = from_gguf(gguf_fields("llama-bpe", add_bos_token=False), path, 300)
    assert plain.encode("the") == plain.encode("the", special=False)
    fields = gguf_fields()
    fields["tokenizer.ggml.tokens"] += ["[PAD300]", "[PAD301]", "<tool>"]
    fields["tokenizer.ggml.token_type"] += [5, 5, 4]
    more = from_gguf(fields, path, 310)
    assert more.token(301).text == "[unused 301]" and 302 in more.encode("a <tool> b")
    with pytest.raises(ModelError, match=r"x.gguf: 303 tokens, but the model has rows for 299"):
        from_gguf(fields, path, 299)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model": "bert"}, "model: expected gpt2 .*, got 'bert'"),
        ({"tokens": [1, 2]}, "tokens: expected a list of strings"),
        ({"tokens": ["a", "a"], "token_type": [1, 1]}, "two tokens are the same"),
        ({"merges": ["a b c"]}, "vocabulary"),
        ({"token_type": [1]}, "token_type: 1 types for 300 tokens"),
        ({"add_bos_token": True, "bos_token_id": 300}, "bos_token_id: 300 is not a token"),
    ],
)
def test_gguf_fields_that_do_not_fit(changes: Mapping[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=says) as error:
        from_gguf(gguf_fields(**changes), Path("bad.gguf"), 300)
    assert str(error.value).startswith("bad.gguf: ") and "\n" not in str(error.value)


def sentence_pieces(tmp_path: Path, *, begins: bool = True, **changes: Any) -> tuple[Any, dict[str, Any]]:
    """A SentencePiece model like Llama 2's, and its fields as llama.cpp's converter writes them."""
    asked: dict[str, Any] = {"model_type": "bpe", "vocab_size": 420, "byte_fallback": True, "add_dummy_prefix": begins}
    asked |= {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    processor = sentencepiece(tmp_path / "tokenizer.model", **asked, user_defined_symbols=["<start>"])
    ids = range(processor.get_piece_size())

    def kind(id: int) -> int:
        kinds = {"is_unknown": 2, "is_control": 3, "is_unused": 5, "is_byte": 6}
        named = 4 if processor.id_to_piece(id) == "<start>" else 1
        return next((n for name, n in kinds.items() if getattr(processor, name)(id)), named)

    fields = {
        "model": "llama",
        "pre": "default",
        "tokens": [processor.id_to_piece(id) for id in ids],
        "scores": [processor.get_score(id) for id in ids],
        "token_type": [kind(id) for id in ids],
        **{f"{name}_token_id": getattr(processor, f"{name[:3]}_id")() for name in ("bos", "eos", "unknown")},
        **{"add_space_prefix": begins, **changes},
    }
    return processor, {f"tokenizer.ggml.{key}": value for key, value in fields.items() if value is not None}


@pytest.mark.parametrize("begins", [True, False])
def test_sentence_pieces_are_those_of_the_original(tmp_path: Path, begins: bool) -> None:
    processor, fields = sentence_pieces(tmp_path, begins=begins)
    size = processor.get_piece_size()
    tokenizer = from_gguf(fields, Path("a/b.gguf"), size)
    assert isinstance(tokenizer, FastTokenizer)
    assert (tokenizer.end_of_text, tokenizer.n_vocab) == (processor.eos_id(), size)
    assert tokenizer.rule is not None and tokenizer.rule.name == "pairs"
    for text in (*SAMPLES[1:-1], *CORPUS, "a", " a", "🙂é the the"):
        ids = processor.encode(text)
        assert tokenizer.encode(text) == [processor.bos_id(), *ids] and tokenizer.encode(text, special=False) == ids
        assert tokenizer.decode(ids) == text
    (start,) = tokenizer.encode("<start>", special=False)[-1:]
    assert tokenizer.token(start).text == "<start>"
    assert tokenizer.encode("</s>", special=False) == [processor.eos_id()]
    assert processor.eos_id() not in tokenizer.encode("</s>", as_text=True)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"scores": None}, "scores: expected a number for each of"),
        ({"unknown_token_id": 10**6}, "unknown_token_id: 1000000 is not a token"),
        ({"remove_extra_whitespaces": True}, "remove_extra_whitespaces: expected false"),
        ({"tokens": ["a" * 10**6, "<s>", "</s>"], "scores": [0.0] * 3, "token_type": [1, 3, 3]}, "a piece of 1000000"),
    ],
)
def test_sentence_pieces_that_do_not_fit(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    processor, fields = sentence_pieces(tmp_path, **changes)
    began = time.monotonic()
    with pytest.raises(ModelError, match=says) as error:
        from_gguf(fields, Path("bad.gguf"), processor.get_piece_size())
    assert str(error.value).startswith("bad.gguf: ") and str(error.value).isprintable()
    assert time.monotonic() - began < 1
