"""The training lab and fine-tuning without their pages: what they refuse, what they keep of a run, sample texts."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

import viz_model as vm
from viz_model.training import lab, loop, samples, tuning
from viz_model.training.checkpoint import TrainingError
from viz_model.training.lab import Experiment, LabError, Settings, check

TEXT = " ".join(samples.stories("en", 4))
TINY = Settings(n_layers=1, d_model=32, n_heads=2, steps=20, source="own", text=TEXT, peak_rate=0.01)
TUNED_ON = " ".join(samples.stories("en", 2))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_layers", 0),
        ("steps", 19),
        *(("peak_rate", wrong) for wrong in (0.0, float("nan"))),
        ("dropout", -0.1),
        ("n_heads", 3),
        ("norm_at", "middle"),
        *(("text", wrong) for wrong in ("", "cat", "x" * (lab.MOST_CHARACTERS + 1))),
    ],
)
def test_what_is_beyond_the_limits_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(LabError, match=f"^{field}: ") as caught:
        check(dataclasses.replace(TINY, **{field: value}))
    assert caught.value.field == field and len(str(caught.value)) < 300


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
    can = {name: tuning.can_tune(vm.load(name)) for name in ("story-modern", "story-bert", "translate-2017")}
    assert [name for name, found in can.items() if found] == ["story-modern"]
    with pytest.raises(lab.LabError, match=r"^text: "):
        tuning.Tuning(vm.load("story-pre-ln"), "cat", 30)


def test_a_run_that_breaks_says_so_and_a_kept_model_is_a_copy_in_use() -> None:
    run = Experiment(check(TINY))
    going = run.steps()
    next(going)
    trained, before = run.language_model("a"), run.language_model("b", trained=False)
    assert not trained.model.training and trained.generate("Once upon", max_new_tokens=3).text
    fresh = loop.new_model(run.plan.recipe)
    assert all(torch.equal(*pair) for pair in zip(before.model.parameters(), fresh.parameters(), strict=True))
    for own, other in zip(trained.model.parameters(), run.model.parameters(), strict=True):
        assert torch.equal(own, other) and own.data_ptr() != other.data_ptr()
    with torch.no_grad():
        run.model.embedding.weight.fill_(float("nan"))
    with pytest.raises(TrainingError, match="step 1: the loss is nan"):
        next(going)
    assert len(run.reports) == 1 and run.update is not None and run.update.t == 1
