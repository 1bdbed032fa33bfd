"""The page on how a weight learns shows the run's own gradients, in every station and for every weight."""

import islands
import numpy as np
import pytest
from tiny_models import language_model, run_both, tiny_config

import viz_model as vm
from viz_model import config as choices
from viz_model.explain import gradients
from viz_model.explain.backward import derivation
from viz_model.island.look import Look
from viz_model.topics.backward import PAGE, asked, way, weight

TEXT = "Tom had a cat and a dog. The cat and the"
MODERN = tiny_config(
    norm=choices.RMSNorm(), position=choices.Rope(), ffn=choices.Gated(), n_heads=4, n_kv_heads=2, d_head=6
)


def look(model: str = "story-pre-ln", text: str = TEXT, lang: str = "en", token: int = 4, **options: str) -> Look:
    return islands.look(vm.load(model).trace(text), PAGE, lang, options, layer=1, head=2, token=token)


def tiny(config: choices.ModelConfig, **options: str) -> Look:
    return islands.look(run_both(language_model(config)), PAGE, options=options, layer=1, head=1, token=3)


@pytest.mark.parametrize("station", list(way.STATIONS))
def test_both_pictures_show_the_same_cells_of_the_value_and_of_its_gradient(station: str) -> None:
    here = tiny(MODERN, at=station)
    if station not in way.stations(here):
        assert station.startswith("attn.") or station.startswith("ffn.")
        return
    full = here.site(station)
    assert set(islands.pictures(PAGE, here)) == {f"backward.{name}" for name in ("value", "gradient", "terms", "step")}
    found, trace = gradients(here.trace, 3), here.trace
    for scene, values, prefix in (
        (way.draw_value(here), trace[full], ""),
        (way.draw_gradient(here), found.of(full), found.name("")),
    ):
        cells = islands.mark(scene, "cells")
        drawn, where = np.asarray(cells.values), cells.where
        assert where.site == prefix + full
        for row, column in ((0, 0), (drawn.shape[0] - 1, drawn.shape[1] - 1), (1, 2)):
            at = where.at(row, column)
            assert float(values[at[1]]) == pytest.approx(drawn[row, column])
            assert derivation(trace, *at).value == pytest.approx(drawn[row, column])


def test_the_target_is_what_follows_or_what_is_asked_for() -> None:
    here = look()
    ids, tokenizer = here.trace.own_ids, here.trace.tokenizer
    assert asked.target(here) == (ids[5], True)
    for word in ("#17", "dog", "nothingofthesort"):
        found = asked.target(look(word=word))
        assert found.id == {"#17": 17, "dog": tokenizer.encode(" dog", special=False)[0]}.get(word, found.id)
    last = look(token=len(ids) - 1)
    assert asked.target(last) == (int(last.trace["logits"][-1].argmax()), False)
    assert "the question is" not in islands.told(PAGE, here) and "the question is" in islands.told(
        PAGE, look(word="#17")
    )
    assert "not a token of this model" in islands.told(PAGE, look(word="#99999999"))


def test_the_gradient_of_a_weight_is_the_sum_of_its_bars() -> None:
    for matrix in weight.names(look()):
        here = look(matrix=matrix)
        full, at = weight.chosen(here)
        gradient = asked.found(here).weights[full]
        assert abs(float(gradient[at])) == float(gradient.abs().max())
        assert weight.terms(here).values.sum() == pytest.approx(float(gradient[at]), rel=1e-3, abs=1e-6)
        there = look(matrix=matrix, entry="3,5")
        assert weight.chosen(there) == (full, (3, 5))
        x, dy = weight.terms(there).values, float(asked.found(there).weights[full][3, 5])
        assert len(x) == len(here) and x.sum() == pytest.approx(dy, rel=1e-3, abs=1e-6)
    assert weight.chosen(look(entry="99999,1")) == weight.chosen(look())
