"""Why a head looks there: the bars and the matrix are the terms of the score, of any key and of any two."""

from __future__ import annotations

from dataclasses import replace

import islands
import numpy as np
import pytest
from tiny_models import describe, few, language_model, run_both

import viz_model as vm
from viz_model import explain
from viz_model.drawing.scene import Cells, Items
from viz_model.explain.scores import At
from viz_model.island.why import MOST_TERMS, About
from viz_model.topics import attention, cross_attention


@pytest.mark.parametrize("config", few(), ids=describe)
def test_the_terms_sum_to_what_sets_a_key_apart(config: vm.ModelConfig) -> None:
    trace = run_both(language_model(config), length=8).at(config.sides[-1])
    kinds: tuple[At, ...] = ("attn", "cross") if trace.stack.block(0).cross is not None else ("attn",)
    for at in kinds:
        page = attention.PAGE if at == "attn" else cross_attention.PAGE
        look = replace(islands.look(trace, page, layer=1, head=2, token=3), options={"key": "1"})
        found = About(at).why(look)
        score = explain.score(trace, layer=1, head=2, query=3, key=1, attention=at)
        assert found.total == pytest.approx(score.total) and found.apart == pytest.approx(
            score.total - score.shared, abs=1e-4
        )
        than = About(at).why(replace(look, options={"key": "1", "than": "0"}))
        other = explain.score(trace, layer=1, head=2, query=3, key=0, attention=at)
        assert than.apart == pytest.approx(score.total - other.total, abs=1e-4)
        assert than.products.sum() == pytest.approx(score.products.sum() - other.products.sum(), abs=1e-5)


def test_bars_are_the_largest_pairs_and_what_is_left_and_lead_to_heads() -> None:
    trace = vm.load("story-pre-ln").trace("Tom had a cat and a dog.")
    look = islands.look(trace, attention.PAGE, layer=2, head=1, token=6)
    about = About("attn")
    found = about.why(look)
    scene = about.draw(look)
    bars = next(mark for mark in scene.panels[0].marks if isinstance(mark, Items))
    largest = sorted(found.products.ravel().tolist(), key=abs, reverse=True)[:MOST_TERMS]
    rest = found.products.sum() - sum(largest)
    np.testing.assert_allclose(scene.series[0].values, [*largest, rest], rtol=1e-4, atol=1e-5)
    picked = [one for one in bars.picks if one is not None]
    assert picked and all(set(one) == {"layer", "head"} and one["layer"] < 2 for one in picked)
    cells = next(mark for mark in about.cells(look).panels[0].marks if isinstance(mark, Cells))
    assert np.asarray(cells.values).sum() == pytest.approx(found.products.sum(), abs=1e-4)


def test_asked_without_a_key_it_is_the_one_that_is_read_most() -> None:
    trace = vm.load("story-pre-ln").trace("Tom had a cat and a dog.")
    look = islands.look(trace, attention.PAGE, layer=1, head=3, token=5)
    weights = trace["blocks.1.attn.pattern"][3, 5]
    assert About("attn").asked(look).key == int(weights.argmax())
    hidden = replace(look, options={"key": "7", "than": "99"})  # a later token, and one that there is not
    assert About("attn").asked(hidden)[1:] == (int(weights.argmax()), None)
    (said,) = islands.one(About("attn").title(look), look.place)
    assert "compared with the average key" in said
