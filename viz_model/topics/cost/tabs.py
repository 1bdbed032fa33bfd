"""The four tabs of this page: formulas, one block by hand, code, and every number; and its question."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from viz_model.config import Latent, ModelConfig, Side
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs
from viz_model.model import sites
from viz_model.topics.cost.counted import Multiplications, count, crossings, growth, of_block
from viz_model.topics.cost.shares import FACTORS, SHARE, facts, n_source, view


def _per_table(config: ModelConfig, one: Multiplications) -> str:
    """How many times D·F a feed-forward layer takes for a token."""
    return f"{one.ffn / (config.d_model * config.d_ffn):g}"


def sizes(config: ModelConfig, side: Side, layer: int) -> dict[str, str]:
    """For the formulas: the model's sizes, and what they come to."""
    one, passes = of_block(config, side, layer), crossings(config, side)
    config = config.of_layer(side, layer)
    return {
        **{letter: _plain(size) for letter, size in sites.sizes(config).items()},
        "m": _per_table(config, one),
        "projections": _plain(one.projections),
        "ffn": _plain(one.ffn),
        "pairs": growth(config, side, "pairs", layer).latex(),
        "passes": f"{passes.ffn:,.1f}".removesuffix(".0").replace(",", "{,}"),
    }


def is_textbook(config: ModelConfig, side: Side) -> bool:
    """Whether nothing but scores and mixing is multiplied for pairs, and each block's feed-forward is as large."""
    blocks = [of_block(config, side, layer) for layer in range(config.depth(side))]
    return all(block.pairs == block.scores + block.mixing and block.ffn == blocks[0].ffn for block in blocks)


def by_hand(config: ModelConfig, side: Side, layer: int, length: int) -> dict[str, str]:
    """For prose: the scores of one block worked out factor by factor, beside the feed-forward layer."""
    one, here, twice = (of_block(config, side, layer, n) for n in (1, length, 2 * length))
    config = config.of_layer(side, layer)
    n, h, k = length, config.n_heads, config.d_head
    numbers = {
        "n": n,
        "h": h,
        "k": k,
        "d": config.d_model,
        "f": config.d_ffn,
        "cells": n * n,
        "one": n * n * k,
        "scores": n * n * k * h,
        "pairs": here.scores + here.mixing,
        "ffn": here.ffn,
        "twice": twice.scores + twice.mixing,
        "twice_ffn": twice.ffn,
    }
    return {"m": _per_table(config, one), **{name: _plain(value) for name, value in numbers.items()}}


def _plain(value: int) -> str:
    """A number in LaTeX, its thousands apart."""
    return f"{value:,}".replace(",", "{,}")


def begins(look: Look) -> Iterator[Line]:
    config, side = look.config, look.trace.stack.side
    said = sizes(config, side, look.layer)
    yield look.text("formula", **said)
    yield look.text("formula_passes" if is_textbook(config, side) else "formula_passes_own", **said)
    yield look.text("formula_written", **said)


def hand(look: Look) -> tuple[Line, Sequence[Any], dict[str, Any]]:
    return look.text("hand", **by_hand(look.config, look.trace.stack.side, look.layer, len(look))), (), {}


def counts(look: Look) -> Sequence[tuple[str, str, Mapping[str, Sequence[object]]]]:
    """A row a length, exact multiplications by part."""
    side, source = look.trace.stack.side, n_source(look)
    runs = [(len(look) * by, count(look.config, side, len(look) * by, source * by)) for by in FACTORS]
    columns: dict[str, list[object]] = {look.words("length"): [n for n, _ in runs]}
    for name in Multiplications._fields:
        if name not in ("places", "inputs") or getattr(runs[0][1], name):  # which next to no model has
            columns[look.words(name)] = [getattr(run, name) for _, run in runs]
    return [("multiplications", "", columns)]


def _attending(look: Look) -> int:
    """The selected layer, or where that makes no keys the first that does: the code is of attention."""
    makes = [n for n in look.trace.attending if look.config.source_of(look.trace.stack.side, n) is None]
    return look.layer if look.layer in makes else next(iter(makes), look.layer)


def _code(look: Look) -> tuple[str, dict[str, Any]]:
    layer = _attending(look)
    is_latent = isinstance(look.config.layer(look.trace.stack.side, layer).mixer, Latent)
    return "cost_latent" if is_latent else "cost", {"layer": layer}


APART = Tabs(
    lambda look: (),
    hand,
    lambda look: (),
    lambda look: None,
    begins=begins,
    own=_code,
    records=counts,
)


def quiz(look: Look) -> Quiz:
    """How many times the multiplications of a text twice as long."""
    side, length, source, times = look.trace.stack.side, len(look), n_source(look), (2, 3, 4)
    once, twice = (count(look.config, side, n, n_source=source) for n in (length, 2 * length))
    said = {"all": f"{twice.total / once.total:.2f}", "pairs": f"{twice.pairs / once.pairs:.2f}"}
    names = {"n": f"{length:,}", "twice": f"{2 * length:,}"}
    right = min(range(len(times)), key=lambda n: abs(times[n] - twice.total / once.total))
    options = [look.words("guess_times", n=n) for n in times]
    return Quiz(look.words("guess", **names), options, right, look.words("guess_found", **names, **said))


def to_try(look: Look) -> Iterator[Line]:
    found, passes = view(look), facts(look)["passes"]
    here = SHARE.says(look.t.language, found.share("pairs", 0), share=found.facts()["share0"], passes=passes)
    yield look.to_try("question")
    yield look.answer("answer", here=here, passes=passes)
