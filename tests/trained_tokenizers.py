"""Small tokenizers, trained on a few lines."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import tokenizers as library
from tokenizers import Regex, decoders, models, pre_tokenizers, trainers

from viz_model.tokenizers import rules

CORPUS = [
    "Once upon a time there was a little girl who lived by the sea. It's 1234, isn't it?",
    "the little cat sat on the mat, and the other cat was walking, talking and singing",
    "我爱深度学习。很久很久以前，有一只小猫住在海边。",
    "def walk(x):\n    return x + 1\n\n\n    done  \t twice",
    "naïve café — “quoted” … Ünïcödé",
] * 3


def byte_level(pre: str, *, special: str = "<|endoftext|>", size: int = 420) -> Any:
    trained = library.Tokenizer(models.BPE())
    trained.pre_tokenizer = {
        "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False),
        "smollm": pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        ),
        "llama-bpe": split_by(rules._LLAMA3),
        "qwen2": split_by(rules._QWEN2),
        "bloom": split_by(" ?[^(\\s|[.,!?…。，、।۔،])]+"),
        "falcon": pre_tokenizers.Sequence(
            [
                pre_tokenizers.Punctuation("contiguous"),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
                pre_tokenizers.Digits(individual_digits=False),
                pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated"),
            ]
        ),
    }[pre]
    trained.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, special_tokens=[special], show_progress=False
    )
    trained.train_from_iterator(CORPUS, trainer)
    return trained


def split_by(pattern: str) -> Any:
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), plain])


def sentencepiece(path: Path, **options: Any) -> Any:
    found = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    defaults: dict[str, Any] = {"vocab_size": 180, "hard_vocab_limit": False, "minloglevel": 2}
    found.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=model, **defaults | options)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(model.getvalue())
    return found.SentencePieceProcessor(model_proto=model.getvalue())
