"""What a model reads: the length of a text, the rows of its table, and its position waves."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from viz_model.tokenizers.tokenizer import cl100k_base
from viz_model.topics.mistakes.numbers import right, swaps, wrong
from viz_model.topics.mistakes.numbers.bug import Bug, Place
from viz_model.topics.mistakes.numbers.results import Reply
from viz_model.topics.mistakes.numbers.swaps import Changes, Function, call

CHINESE, CHINESE_WORDS = "我爱深度学习", 4
TUTORIAL_IDS = (627, 1383, 88861)
"""The beginning of a batch in that tutorial, printed there as ". By mastering"."""
LARGEST_ID = 100_069
"""The largest id in a well-known tutorial's corpus, cut by cl100k_base."""


# A text is as long as its tokens, not as its characters.


def _own_ids(place: Place) -> list[int]:
    """Those of the text, without control tokens around it."""
    return [id for id in place.trace.ids if id not in place.trace.tokenizer.controls]


def _n_read(place: Place) -> Tensor | None:
    run = place.trace
    return torch.tensor(len(_own_ids(place)) + run.n_dropped) if run.text is not None else None


def _facts_of_count(place: Place, n_tokens: int, n_characters: int) -> dict[str, str]:
    return {
        "n_tokens": f"{n_tokens:,}",
        "n_characters": f"{n_characters:,}",
        "chinese": CHINESE,
        "chinese_characters": str(len(CHINESE)),
        "chinese_words": str(CHINESE_WORDS),
        "chinese_tokens": str(right.count(CHINESE, cl100k_base())),
    }


# A text is more than its words: ids say which spaces and line breaks stand between them.


def _facts_of_text(place: Place, text: str, wrong_text: str) -> dict[str, str]:
    tokenizer, book = place.trace.tokenizer, cl100k_base()
    own, printed = (tuple(book.encode(made.spell(TUTORIAL_IDS, book))) for made in (right, wrong))
    return {
        "n_tokens": str(len(tokenizer.encode(text, special=False))),
        "n_wrong": str(len(tokenizer.encode(wrong_text, special=False))),
        "own": " ".join(map(str, own)),
        "printed": " ".join(map(str, printed)),
    }


# Ids count from 0: the largest id is one less than the rows that are needed.


def _given_table(place: Place) -> dict[str, Any]:
    return {"embedding": place.trace.model.embedding.weight, "ids": torch.tensor(place.trace.own_ids)}


def _rows(place: Place, value: Any) -> Reply:
    if isinstance(value, IndexError):
        return Reply(f"IndexError: {value}", True)
    return Reply(" × ".join(map(str, value.shape)), False)


def _facts_of_rows(place: Place, right: Any, wrong: Any) -> dict[str, str]:
    largest = max(place.trace.own_ids)
    return {
        "largest_id": f"{largest:,}",
        "n_rows": f"{largest + 1:,}",
        "tutorial_id": f"{LARGEST_ID:,}",
        "tutorial_rows": f"{LARGEST_ID + 1:,}",
    }


# The position vectors of Vaswani et al. 2017, section 3.5.


def _given_positions(place: Place) -> dict[str, Any]:
    config = place.trace.config
    at = torch.arange(len(place.trace), dtype=torch.float64)
    return {"positions": at, "d_model": config.d_model, "base": getattr(config.position, "base", 0.0)}


def _table(place: Place, value: Tensor) -> Tensor:
    """Position vectors [T, D]; of angles [T, D/2] a sine and a cosine of each."""
    if value.shape[-1] < place.trace.config.d_model:
        value = torch.stack((value.sin(), value.cos()), dim=-1).flatten(-2)
    return value.float()


def _with_waves(place: Place, function: Function) -> Changes:
    base = getattr(place.trace.config.position, "base", 0.0)

    def made(value: Tensor) -> Tensor:
        at = torch.arange(value.shape[-2], dtype=torch.float64)
        return _table(place, call(function, {"positions": at, "d_model": value.shape[-1], "base": base}))[None]

    return swaps.every(place.trace, ("embed.position",), made)


def _facts_of_waves(place: Place, *results: Any) -> dict[str, str]:
    one = {"positions": torch.ones(1, dtype=torch.float64), "d_model": 4, "base": 10_000.0}
    sine, wrong_sine = (call(made.angles, one)[0, 1].sin().item() for made in (right, wrong))
    half = place.trace.config.d_model // 2
    return {
        "sine": f"{sine:.7f}",
        "wrong_sine": f"{wrong_sine:.7f}".rstrip("0"),
        "half": str(half),
        "width": str(2 * half),
    }


def _waves(name: str) -> Bug:
    return Bug(
        name,
        "embed.position",
        _given_positions,
        needs=("long", "waves"),
        read=_table,
        facts=_facts_of_waves,
        changed=_with_waves,
    )


BUGS = (
    Bug(
        "count",
        "tokens.ids",
        lambda place: {"text": place.trace.text or "", "tokenizer": place.trace.tokenizer},
        needs=(),
        shown=lambda place, value: Reply(str(value), False),
        traced=_n_read,
        facts=_facts_of_count,
    ),
    Bug(
        "spell",
        "tokens.ids",
        lambda place: {"ids": _own_ids(place), "tokenizer": place.trace.tokenizer},
        needs=("long", "words"),
        shown=lambda place, value: Reply(value, False),
        traced=lambda place: None,  # of a text the run has ids alone
        facts=_facts_of_text,
    ),
    Bug(
        "look_up",
        "embed.token",
        _given_table,
        shown=_rows,
        traced=lambda place: place.trace["embed.token"] / place.trace.model.embedding_scale,
        facts=_facts_of_rows,
    ),
    _waves("angles"),
    _waves("waves"),
)
