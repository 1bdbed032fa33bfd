"""Attention between words, as the page draws it: held against sums by hand, whatever words are written."""

from __future__ import annotations

from dataclasses import replace

import islands
import numpy as np
import pytest

import viz_model as vm
from viz_model.drawing.scene import Cells, seen
from viz_model.island.look import Look
from viz_model.topics.attention import PAGE, between_words

CHINESE = "小猫坐在垫子上，看着小狗"


def look_at(text: str, words: str = "", name: str = "story-pre-ln") -> Look:
    look = islands.look(vm.load(name).trace(text), PAGE, layer=1, head=2)
    return replace(look, options={**look.options, "words": words})


def cells(look: Look) -> Cells:
    scene = between_words.draw(look)
    assert scene is not None
    return next(mark for mark in seen(scene, look.place).panels[0].marks if isinstance(mark, Cells))


def told(look: Look) -> str:
    (line,) = between_words.tell(look)
    return str(line.words)


@pytest.mark.parametrize("name", ["story-pre-ln", "story-bert"])
def test_rows_are_averaged_and_columns_summed(name: str) -> None:
    look = look_at("Grandfather unbuttoned his waistcoat", name=name)
    drawn, pattern = cells(look), look.trace["blocks.1.attn.pattern"][2].numpy()
    spans = vm.words(look.trace, "blocks.1.attn.pattern").spans
    assert len(look) > len(spans) == len(drawn.rows)
    expected = [[pattern[a:b, c:d].sum(1).mean() for c, d in spans] for a, b in spans]
    np.testing.assert_allclose(drawn.values, expected, atol=1e-6)
    np.testing.assert_allclose(np.sum(drawn.values, -1), 1, atol=1e-5)
    assert told(look) == f"{len(look)} tokens as {len(spans)} words."


def test_chinese_words_are_those_that_are_written() -> None:
    assert between_words.draw(look_at(CHINESE)) is None and "no spaces between words here" in told(look_at(CHINESE))
    look = look_at(CHINESE, "小猫 坐在 垫子上 ， 看着 小狗")
    assert [name.partition(": ")[2] for name in cells(look).rows] == ["小猫", "坐在", "垫子上", "，", "看着", "小狗"]
    other = look_at(CHINESE, "小猫 坐在 椅子上")
    assert between_words.draw(other) is None and "not the words" in told(other)
