"""The recorded runs are what the training loop does with the recipes that stand in the code."""

from __future__ import annotations

import json
from itertools import islice

import numpy as np
import pytest

from viz_model.config import ModelConfig
from viz_model.training import experiments, loop
from viz_model.training.checkpoint import TrainingError


def test_every_recipe_was_recorded_as_it_stands() -> None:
    recorded = json.loads(experiments.RECORD.read_text(encoding="utf-8"))["runs"]
    recipes = experiments.recipes()
    assert len(recorded) == len(recipes) == 2 * 2 * len(experiments.RATES)
    for found, recipe in zip(recorded, recipes, strict=True):
        described = found["recipe"]
        assert ModelConfig.from_dict(described.pop("config")) == recipe.config
        now = json.loads(recipe.fingerprint)
        assert described == {name: now[name] for name in described}
        assert len(found["step"]) == len(found["loss"]) == len(found["gradient_norm"]) <= experiments.MOST_POINTS
        assert found["step"][-1] == recipe.steps - 1 or found["stopped"]


def test_the_record_is_small() -> None:
    assert experiments.RECORD.stat().st_size < 200_000


@pytest.mark.parametrize("norm_at", ["pre", "post"])
@pytest.mark.parametrize("warmup", [0, experiments.WARMUP])
def test_a_run_begins_as_it_was_recorded(norm_at: experiments.NormAt, warmup: int) -> None:
    (found,) = [
        run
        for run in experiments.recorded().runs
        if (run.norm_at, run.warmup, run.peak_rate) == (norm_at, warmup, experiments.RATE)
    ]
    n = int(found.steps[0]) + 1
    steps = loop.train(experiments.recipe(norm_at, warmup), experiments.data(), half_precision=False)
    reports = list(islice(steps, n))
    steps.close()
    assert np.mean([report.loss for report in reports]) == pytest.approx(found.loss[0], rel=2e-3)
    assert np.mean([report.gradient_norm for report in reports]) == pytest.approx(found.gradient_norm[0], rel=1e-2)


@pytest.mark.parametrize(("warmup", "first"), [(0, 1.0), (experiments.WARMUP, 1 / experiments.WARMUP)])
def test_the_rate_begins_at_its_peak_or_climbs_to_it_and_stays(warmup: int, first: float) -> None:
    recipe = experiments.recipe("pre", warmup, peak_rate=1e-2)
    rates = [recipe.rate(step) for step in range(recipe.steps)]
    assert rates[0] == pytest.approx(1e-2 * first)
    assert rates[max(0, warmup - 1) :] == pytest.approx([1e-2] * (recipe.steps - max(0, warmup - 1)))


def test_the_text_is_read_less_than_once() -> None:
    train = experiments.corpus().languages["text"].train.ids
    assert experiments.data().step(0).n_asked * experiments.STEPS < len(train)


def test_the_loss_of_frequencies_is_their_entropy() -> None:
    train = experiments.corpus().languages["text"].train.ids
    _, counts = np.unique(train, return_counts=True)
    assert experiments.frequency_loss() == pytest.approx(np.repeat(-np.log(counts / len(train)), counts).mean())
    assert experiments.recorded().frequency_loss == pytest.approx(experiments.frequency_loss(), abs=1e-4)


def test_a_run_that_breaks_off_is_kept_to_where_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    train = loop.train

    def breaking(*given: object, **more: object) -> object:
        yield from islice(train(*given, **more), 2)  # type: ignore[arg-type]
        raise TrainingError("step 2: the loss is nan")

    monkeypatch.setattr(loop, "train", breaking)
    found = experiments.run(experiments.recipe("post", 0))
    assert found["step"] == [0, 1] and found["stopped"] == "step 2: the loss is nan"
    assert found["bits_per_byte"] is None
    assert np.isnan(experiments._read(found).final_loss)
