"""What the overview draws and says is the run, for every model and every selection; pooling never invents a value."""

import dataclasses
from typing import Any

import islands
import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Cells, Mark, Scene, seen
from viz_model.island.look import Look
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics.overview import PAGE, tabs, to_try, whole
from viz_model.topics.overview.finding import NEXT, Next

every = pytest.mark.parametrize("config", variants(), ids=describe)


def looks(config: ModelConfig, **place: Any) -> list[Look]:
    run = run_both(language_model(config))
    return [islands.look(run.at(side), PAGE, **place) for side in config.sides]


def panels(scene: Scene, look: Look, **place: int) -> dict[str, dict[str, Mark]]:
    drawn = seen(scene, {**look.place, **place})
    return {panel.id: {mark.id: mark for mark in panel.marks if mark.present} for panel in drawn.panels}


def _cells(mark: Mark) -> np.ndarray:
    assert isinstance(mark, Cells)
    return np.asarray(mark.values)


def test_a_long_text_is_pooled_to_values_of_the_run(bundled: vm.LanguageModel) -> None:
    trace = bundled.trace("once upon a time " * 60).at("decoder")
    look = islands.look(trace, PAGE)
    view, drawn = whole.view(look), panels(whole.draw(look), look)
    embedding, recorded = _cells(drawn["strip.embedding"]["cells"]), trace["embed.token"].numpy()
    assert view.pool > 1 and len(embedding) <= whole.MOST_ROWS
    every = -(-recorded.shape[1] // embedding.shape[1])
    for row in (0, len(embedding) - 1):
        group = recorded[row * view.pool : (row + 1) * view.pool]
        largest = group[np.abs(group).argmax(0), np.arange(group.shape[1])]
        means = np.array([largest[n : n + every].mean() for n in range(0, len(largest), every)])
        np.testing.assert_allclose(embedding[row], means, atol=1e-5)
    # Nothing behind the diagonal is shown as a weight, also in the group that is not full.
    assert np.isnan(_cells(drawn["block.0"]["cells"])[np.triu_indices(len(embedding), 1)]).all()
    # Of a long run what is said is of the selected token.
    best, chance = trace.next_tokens(len(trace) - 1, 1)[0]
    said = " ".join(islands.sentences(PAGE, look))
    assert best.label in said and percent(float(np.float32(chance))) in said


def test_the_end_of_a_text_is_no_guess_to_add() -> None:
    end = story_tokenizer().end_of_text or 0
    lm = language_model(tiny_config(n_vocab=story_tokenizer().n_vocab))
    for id, size in ((end, 1), (end, 20), (5, 1), (5, 20)):
        logits = size * torch.nn.functional.one_hot(torch.tensor([id] * 3), lm.config.n_vocab).float()
        trace = lm.trace(ids=[1, 2, 3])
        trace = dataclasses.replace(trace, values={**trace.values, "logits": logits}).at("decoder")
        best, chance = trace.next_tokens(2, 1)[0]
        said = NEXT.of(Next(np.array(chance), np.array(best.id == trace.tokenizer.end_of_text))).name
        assert said == {(end, 1): "may_end", (end, 20): "ends", (5, 1): "plain", (5, 20): "expects"}[id, size]
        assert ("guess" in to_try.changes(trace, 2, best.id, "")) == (id != end)


@every
def test_the_path_of_a_number_adds_up_under_pre_ln(config: ModelConfig) -> None:
    for look in looks(config):
        trace, path = look.trace, tabs.ascent(look.trace, dimension=5)
        pairs = zip(path.sites, path.values[:, 3].tolist(), strict=True)
        value = {site.removeprefix(trace.prefix): number for site, number in pairs}
        parts = [value[name] for name in ("embed.token", "embed.segment", "embed.position") if name in value]
        if not config.embedding_norm:
            assert value["embed.out"] == pytest.approx(sum(parts), abs=1e-5)
        before = value["embed.out"]
        for layer in range(trace.n_layers if config.norm_at == "pre" else 0):
            for written, after in (("attn.out", "mid"), ("cross.out", "cross"), ("ffn.out", "out")):
                if f"blocks.{layer}.{written}" in value:
                    expected = before + value[f"blocks.{layer}.{written}"]
                    before = value[f"blocks.{layer}.resid.{after}"]
                    assert before == pytest.approx(expected, abs=1e-5)
