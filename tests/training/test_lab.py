"""The training lab and fine-tuning without their pages: what they refuse, what they keep of a run, sample texts."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import viz_model as vm
from viz_model.training import lab, samples, tuning
from viz_model.training.checkpoint import TrainingError
from viz_model.training.lab import Experiment, LabError, Settings, check

TEXT = " ".join(samples.stories("en", 4))


TINY = Settings(n_layers=1, d_model=32, n_heads=2, steps=20, source="own", text=TEXT, peak_rate=0.01)


@pytest.fixture(scope="module")
def finished() -> Experiment:
    """A run of a tiny model with everything switched on, to its end."""
    run = Experiment(check(dataclasses.replace(TINY, n_layers=2, dropout=0.1, label_smoothing=0.1)))
    for _ in run.steps():
        pass
    return run


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_layers", 0),
        ("steps", 19),
        ("peak_rate", 0.0),
        ("peak_rate", float("nan")),
        ("dropout", -0.1),
        ("n_heads", 3),
        ("norm_at", "middle"),
        ("text", ""),
        ("text", "cat"),
        ("text", "x" * (lab.MOST_CHARACTERS + 1)),
    ],
)
def test_what_is_beyond_the_limits_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(LabError, match=f"^{field}: ") as caught:
        check(dataclasses.replace(TINY, **{field: value}))
    assert caught.value.field == field and len(str(caught.value)) < 300


@pytest.mark.parametrize("text", ["One two three four five. " * 4, "\ud800 " * 40, "词 " * 30, TEXT])
def test_a_short_text_is_read_in_shorter_windows(text: str) -> None:
    plan = check(dataclasses.replace(TINY, text=text))
    batch = plan.data.step(7)
    assert batch.ids.shape == batch.answers.shape and 2 <= batch.ids.shape[1] <= lab.WINDOW
    assert plan.prompt and Experiment(plan).frequencies >= 0


def test_a_run_reports_every_step_and_learns(finished: Experiment) -> None:
    assert [report.step for report in finished.reports] == list(range(20))
    assert [report.learning_rate for report in finished.reports] == pytest.approx(list(finished.plan.rates))
    assert finished.held_out[0].steps == 0 and finished.held_out[-1].steps == 20
    assert finished.held_out[-1].loss < finished.held_out[0].loss - 1
    assert [sample.steps for sample in finished.samples] == [0, 10, 20]
    assert {"embedding", "decoder.blocks.0", "decoder.blocks.1"} <= finished.reports[0].gradient_norms.keys()


def test_held_out_loss_is_that_of_the_plain_target(finished: Experiment) -> None:
    model, losses, n = finished.language_model("own").model, 0.0, 0
    for batch in finished.plan.data.held_out("text"):
        logits = model(batch.ids)
        losses += F.cross_entropy(logits.flatten(0, 1), batch.answers.flatten(), reduction="sum").item()
        n += batch.answers.numel()
    assert finished.held_out[-1].loss == pytest.approx(losses / n, rel=1e-4)


def test_the_kept_update_is_adamws(finished: Experiment) -> None:
    update = finished.update
    assert update is not None and update.t == 20
    # Its own weights are in single precision.
    np.testing.assert_allclose(update.computed(), update.after, rtol=0, atol=1e-7)
    assert np.abs(update.after - update.before).max() > 1e-6
    row = dict(finished.model.named_parameters())[lab.WATCHED].detach()[0].double().numpy()
    np.testing.assert_array_equal(update.after, row)


def test_the_moments_are_those_that_pytorchs_adamw_would_have() -> None:
    run = Experiment(check(TINY))
    mirror = torch.nn.Parameter(dict(run.before.named_parameters())[lab.WATCHED].detach()[:1].clone())
    recipe = run.plan.recipe
    reference = torch.optim.AdamW([mirror], lr=1.0, betas=recipe.betas, weight_decay=recipe.rounds[0].weight_decay)
    for report, _ in zip(run.steps(), range(6), strict=False):
        assert run.update is not None
        mirror.grad = torch.from_numpy(run.update.gradient).float()[None]
        reference.param_groups[0]["lr"] = report.learning_rate
        reference.step()
        state = reference.state[mirror]
        np.testing.assert_allclose(state["exp_avg"][0], run.update.m, rtol=1e-4, atol=1e-9)
        np.testing.assert_allclose(state["exp_avg_sq"][0], run.update.v, rtol=1e-4, atol=1e-12)
        np.testing.assert_allclose(mirror.detach()[0], run.update.after, rtol=0, atol=1e-6)


def test_a_run_that_breaks_says_so_and_keeps_what_was() -> None:
    run = Experiment(check(TINY))
    going = run.steps()
    next(going)
    with torch.no_grad():
        run.model.embedding.weight.fill_(float("nan"))
    with pytest.raises(TrainingError, match="step 1: the loss is nan"):
        next(going)
    assert len(run.reports) == 1 and run.update is not None and run.update.t == 1


# The sample text


@pytest.mark.parametrize("language", samples.GRAMMARS)
def test_stories_are_repeatable_different_and_complete(language: str) -> None:
    told = samples.stories(language, lab.N_STORIES)
    assert told == samples.stories(language, lab.N_STORIES) != samples.stories(language, lab.N_STORIES, seed=1)
    assert len(set(told)) == lab.N_STORIES
    assert told[:5] == samples.stories(language, 5)
    assert not [story for story in told if "{" in story or "}" in story]
    assert 60_000 < len("\n".join(told).encode()) < 100_000


TUNED_ON = " ".join(samples.stories("en", 2))


def test_a_tuning_that_is_stopped_has_looked_at_what_it_reached() -> None:
    lm = vm.load("story-pre-ln")
    going = tuning.Tuning(lm, TUNED_ON, 30)
    steps = going.steps()
    for _ in range(2):
        next(steps)
    steps.close()
    assert [each.steps for each in going.losses] == [0, 2] and len(going.spoken) == 2
    assert going.losses[1].own < going.losses[0].own
    assert not torch.equal(going.model.embedding.weight, lm.model.embedding.weight)
    assert going.prompt + going.truth == going.tokenizer.encode(TUNED_ON)[: tuning.PROMPT + lab.SAMPLE_TOKENS]
    assert going.n_tokens.keys() == {*tuning.TEXTS} and going.n_tokens["end"] > 0


def test_only_small_decoders_of_the_stories_are_trained_on() -> None:
    assert {name for name in ("story-modern", "story-bert", "translate-2017") if tuning.can_tune(vm.load(name))} == {
        "story-modern"
    }
    with pytest.raises(lab.LabError, match=r"^text: "):
        tuning.Tuning(vm.load("story-pre-ln"), "cat", 30)
