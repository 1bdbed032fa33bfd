"""The line of changes: each is told in both languages, and its pair of models differs in just that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import islands
import pytest

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.drawing.theme import PALETTES
from viz_model.island.look import Look
from viz_model.topics.architectures import PAGE
from viz_model.topics.architectures.lineage import CHANGES, Change

DIFFERS: dict[str, Callable[[ModelConfig], Any]] = {
    "decoder": lambda c: c.kind,
    "encoder": lambda c: c.kind,
    "pre_ln": lambda c: c.norm_at,
    "t5": lambda c: type(c.position).__name__,
    "rmsnorm": lambda c: type(c.norm).__name__,
    "glu": lambda c: type(c.ffn).__name__,
    "rope": lambda c: type(c.position).__name__,
    "alibi": lambda c: type(c.position).__name__,
    "experts": lambda c: {type(ffn).__name__ for ffn in c.ffns},
    "gqa": lambda c: c.n_heads // c.n_kv_heads,
    "nope": lambda c: type(c.position).__name__,
    "qk_norm": lambda c: c.qk_norm,
    "delta": lambda c: c.has_states,
}


def config(name: str) -> ModelConfig:
    return vm.load(name).config


def look(change: str, lang: str = "en", **options: str) -> Look:
    trace = vm.load("story-pre-ln").trace("Tom had a cat")
    return replace(islands.look(trace, PAGE, lang), options={"step": change, **options})


@pytest.mark.parametrize("change", [one for one in CHANGES if one.other], ids=lambda one: one.name)
def test_the_pair_differs_in_what_is_told(change: Change) -> None:
    read = DIFFERS[change.name]
    assert read(config(change.model)) != read(config(change.other))


def test_every_change_is_told_and_in_order() -> None:
    years = [one.year for one in CHANGES]
    assert years == sorted(years) and len({one.name for one in CHANGES}) == len(CHANGES)
    assert {one.role for one in CHANGES} <= PALETTES["dark"].keys(), "a dot of no role is black on black"
    for lang, signs in (
        ("en", ("**Why:**", "**Who:**", "**Cost:**")),
        ("zh", ("**为什么**：", "**出处**：", "**代价**：")),
    ):
        for one in CHANGES:
            text = str(look(one.name, lang).text(f"lineage_{one.name}").words)
            assert [text.count(sign) for sign in signs] == [1, 1, 1], (lang, one.name)
