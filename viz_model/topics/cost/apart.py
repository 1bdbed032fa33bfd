"""Sizes and counts worked out for formulas, prose and a table."""

from __future__ import annotations

from viz_model.config import ModelConfig, Side
from viz_model.model import sites
from viz_model.topics.cost.numbers.counted import Multiplications, count, crossings, growth, of_block
from viz_model.topics.cost.pictures.common import FACTORS, Words


def count_columns(config: ModelConfig, side: Side, length: int, n_source: int, words: Words) -> dict[str, list[object]]:
    """For a table: a row a length, exact multiplications by part. ``words`` names the parts and "length"."""
    runs = [(length * by, count(config, side, length * by, n_source * by)) for by in FACTORS]
    columns: dict[str, list[object]] = {words["length"]: [n for n, _ in runs]}
    for name in Multiplications._fields:
        if name != "places" or runs[0][1].places:  # which next to no model has
            columns[words[name]] = [getattr(run, name) for _, run in runs]
    return columns


def _per_table(config: ModelConfig, one: Multiplications) -> str:
    """How many times D·F a feed-forward layer takes for a token."""
    return f"{one.ffn / (config.d_model * config.d_ffn):g}"


def sizes(config: ModelConfig, side: Side, layer: int) -> dict[str, str]:
    """For the formulas: the model's sizes, and what they come to."""
    one, passes = of_block(config, side, layer), crossings(config, side)
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
