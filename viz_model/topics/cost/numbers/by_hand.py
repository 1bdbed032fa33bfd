"""Sizes and counts worked out for formulas, prose and a table."""

from __future__ import annotations

from viz_model.config import Gated, ModelConfig, Side
from viz_model.topics.architectures.numbers import parameters
from viz_model.topics.cost import numbers as cost
from viz_model.topics.cost.numbers import Multiplications
from viz_model.topics.cost.pictures.common import FACTORS, Words


def count_columns(config: ModelConfig, side: Side, length: int, n_source: int, words: Words) -> dict[str, list[object]]:
    """For a table: a row a length, exact multiplications by part. ``words`` names the parts and "length"."""
    runs = [(length * by, cost.count(config, side, length * by, n_source * by)) for by in FACTORS]
    columns: dict[str, list[object]] = {words["length"]: [n for n, _ in runs]}
    for name in Multiplications._fields:
        columns[words[name]] = [getattr(run, name) for _, run in runs]
    return columns


def sizes(config: ModelConfig) -> dict[str, str]:
    """For the formulas: the model's sizes, and what they come to."""
    passes = cost.crossings(config)
    return {
        **{letter: f"{size:,}".replace(",", "{,}") for letter, size in parameters.sizes(config).items()},
        "m": "3" if isinstance(config.ffn, Gated) else "2",
        "projections": f"{cost.of_projections(config):,}".replace(",", "{,}"),
        "ffn": f"{cost.of_ffn(config):,}".replace(",", "{,}"),
        "pair": f"{cost.of_pair(config):,}".replace(",", "{,}"),
        "passes": f"{passes.ffn:,.1f}".removesuffix(".0").replace(",", "{,}"),
    }


def by_hand(config: ModelConfig, length: int) -> dict[str, str]:
    """For prose: the scores of one block worked out factor by factor, beside the feed-forward layer."""
    n, h, k = length, config.n_heads, config.d_head
    numbers = {
        "n": n,
        "h": h,
        "k": k,
        "d": config.d_model,
        "f": config.d_ffn,
        "m": 3 if isinstance(config.ffn, Gated) else 2,
        "cells": n * n,
        "one": n * n * k,
        "scores": n * n * k * h,
        "pairs": n * n * cost.of_pair(config),
        "ffn": n * cost.of_ffn(config),
        "twice": 4 * n * n * cost.of_pair(config),
        "twice_ffn": 2 * n * cost.of_ffn(config),
    }
    return {name: f"{value:,}".replace(",", "{,}") for name, value in numbers.items()}
