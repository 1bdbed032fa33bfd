"""The vocabularies that the server's models have, and what they make of common words."""

from __future__ import annotations

import contextlib

import viz_model as vm
from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.checkpoints import registry
from viz_model.tokenizers.tokenizer import Tokenizer, cl100k_base
from viz_model.topics.tokens.choices import CL100K
from viz_model.topics.tokens.numbers import splitting

BYTES_OF_AN_ENTRY = 200
"""What an entry of a vocabulary takes, about: its bytes, its name, and two places in tables."""


@cached(beside=True)
def vocabularies() -> dict[str, str]:
    """The vocabularies of the server's models: of each one a model that has it, by what the vocabulary is called."""
    found: dict[str, str] = {}
    for name, config in runs.configs().items():
        if config.reads_pictures:
            continue
        with contextlib.suppress(vm.ModelError):
            found.setdefault(registry.vocabulary_of(name), name)
    return found


@cached(beside=True, size=lambda tokenizer: BYTES_OF_AN_ENTRY * tokenizer.n_vocab)
def vocabulary(name: str) -> Tokenizer:
    """``cl100k_base``, or the tokenizer of a model of the server, without its weights.

    Raises:
        ModelError: its files are damaged.
    """
    return cl100k_base() if name == CL100K else registry.tokenizer_of(name)


@cached(beside=True)
def surveys(model: str, other: str) -> tuple[splitting.Surveyed, ...]:
    """How a model's vocabulary, and then the ``other``, spell the common words of the first, and more."""
    pair = runs.model(model).tokenizer, vocabulary(other)
    words = splitting.common_words(pair[0])
    return tuple(splitting.Surveyed(one.name, splitting.survey(one, words)) for one in pair)
