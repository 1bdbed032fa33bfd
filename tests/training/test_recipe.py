"""viz_model.training.recipe: a recipe is whole and possible, or an error that names the field."""

import dataclasses
import math
import tomllib
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import tiny_config
from training_data import tiny_picture_recipe, tiny_recipe, tiny_strip_recipe

import viz_model as vm
from viz_model.config import MaskedHead, ModelConfig, NoHead
from viz_model.training import experiments, loop, publish, recipe, study
from viz_model.training.checkpoint import TrainingError
from viz_model.training.loop import new_model
from viz_model.training.recipe import Classes, MaskedToken, NextToken, Recipe, RecipeError, Transcription

NAMES = (
    *("story-pre-ln", "story-post-ln", "story-modern", "story-next", "story-alibi", "story-none", "story-moe"),
    *("story-bert", "translate-2017", "translate-t5", "digits-vit", "read-digits"),
)
TOML = """
steps = 100
warmup = 10
peak_rate = 1e-3
betas = [0.9, 0.95]

[objective]
type = "NextToken"
rows = { en = 2 }

[config]
kind = "decoder"
n_vocab = 50
n_context = 8
n_layers = 1
d_model = 8
n_heads = 2
d_ffn = 16
"""
PICTURES, STRIPS = tiny_picture_recipe(), tiny_strip_recipe()


def described(name: str) -> dict[str, Any]:
    return tomllib.loads((recipe.RECIPES / f"{name}.toml").read_text(encoding="utf-8"))


def test_the_recipes_in_the_order_they_are_shown() -> None:
    assert recipe.names() == NAMES and sorted(path.stem for path in recipe.RECIPES.glob("*")) == sorted(NAMES)
    assert sum((publish.MODELS / name / "model.safetensors").stat().st_size for name in NAMES) < 64e6
    with pytest.raises(RecipeError, match="no recipe"):
        recipe.load("../recipes/story-pre-ln")


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_builds(name: str) -> None:
    found = recipe.load(name)
    assert found.name == name
    assert found.config.n_vocab == {Classes: 0, Transcription: 25}.get(type(found.objective), 8192)
    assert found.warmup <= found.falls_at < found.steps and new_model(found).config == found.config
    # Complete files can be compared line by line: nothing is left to a default, but what changes memory alone, what
    # only experts or states have, and how a model is stored.
    missing = {field.name for field in dataclasses.fields(Recipe)} - described(name).keys()
    assert missing - {"restarts", "frozen", "balance", "stored", "aligned", "aligned_rate"} == {"name", "accumulate"}


def test_a_model_begins_from_the_weights_of_another() -> None:
    begun, kept = new_model(recipe.load("story-alibi")), vm.load("story-pre-ln").model
    for name, weight in kept.state_dict().items():
        assert torch.equal(begun.state_dict()[name], weight), name
    x = torch.arange(9)[None]
    assert not torch.allclose(begun.eval()(x), kept(x), atol=1e-2)  # the positions are others
    cut = new_model(recipe.load("story-moe"))  # into experts
    torch.testing.assert_close(cut.eval()(x), kept(x), atol=1e-3, rtol=1e-3)
    trained = [name for name, weight in cut.named_parameters() if weight.requires_grad]
    assert trained and all(".1.ffn." in name or ".3.ffn." in name for name in trained)


@pytest.mark.parametrize(
    ("begin_from", "config"), [("story-none-such", {}), ("story-pre-ln", {}), ("story-modern", {"n_vocab": 8192})]
)
def test_weights_that_are_not_there_or_do_not_fit_are_refused(begin_from: str, config: dict[str, Any]) -> None:
    with pytest.raises(TrainingError, match=f"^begin_from: '{begin_from}'"):
        new_model(tiny_recipe(begin_from=begin_from, config=config))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps = 100", "steps = 100\nspeed = 3", "speed: unknown"),
        ("steps = 100", "", "steps: missing"),
        ("peak_rate = 1e-3", "peak_rate = nan", "peak_rate: .* got nan"),
        ('type = "NextToken"', 'type = "Chess"', "objective: type: .* got 'Chess'"),
        ('type = "NextToken"', 'type = "NextToken"\ncolumns = 4', "objective: .*columns"),
        ("rows = { en = 2 }", "", "objective: .*rows"),
        ("rows = { en = 2 }", "rows = { en = 0 }", "objective: expected whole numbers"),
        ("n_heads = 2", "n_tails = 2", "config: n_tails: no such field"),
        ('kind = "decoder"', 'kind = "encoder"', "objective: NextToken trains a decoder, not encoder"),
        ("steps = 100", "steps =", "recipe some: "),
    ],
)
def test_a_wrong_file_is_refused_by_its_field(old: str, new: str, message: str) -> None:
    text = TOML.replace(old, new, 1)
    assert recipe.parse("some", TOML).objective == NextToken(rows={"en": 2})
    with pytest.raises(RecipeError, match=f"^{message}"):
        recipe.parse("some", text)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"steps": 0}, "steps"),
        ({"restarts": (0,)}, "restarts"),
        ({"restarts": (10,)}, "warmup"),
        ({"restarts": (5,), "warmup": 2, "decay_steps": (4, 3)}, "decay_steps"),
        ({"restarts": (5,), "warmup": 2, "decay_steps": 3, "weight_decay": (0.1, math.nan)}, "weight_decay"),
        ({"weight_decay": (0.1, 0.5)}, "weight_decay"),
        *(({"peak_rate": wrong}, "peak_rate") for wrong in (math.nan, math.inf, -1.0, True, "1", None)),
        ({"steps": 10, "warmup": 11, "decay_steps": 0}, "warmup"),
        ({"steps": 10, "warmup": 4, "decay_steps": 7}, "decay_steps"),
        ({"clip": -0.1}, "clip"),
        ({"seed": -1}, "seed"),
        ({"optimizer": "sgd"}, "optimizer"),
        ({"betas": (0.9, 1.0)}, "betas"),
    ],
)
def test_values_out_of_range(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(RecipeError, match=f"^{field}: "):
        tiny_recipe(**changes)


@pytest.mark.parametrize(
    ("config", "objective", "message"),
    [
        (tiny_config(kind="encoder", head=MaskedHead()), NextToken(rows={"en": 1}), "NextToken trains a decoder"),
        (tiny_config(), MaskedToken(tokens=10), "MaskedToken trains a encoder"),
        (tiny_config(kind="encoder", head=NoHead()), MaskedToken(tokens=10), ""),
        (tiny_config(kind="encoder", head=MaskedHead()), MaskedToken(tokens=10, rate=1.0), "rate"),
        (PICTURES.config, Classes(source="digits", pictures=0), "pictures"),
        (PICTURES.config, Classes(source="digits", pictures=4, turn=200.0), "turn"),
        (tiny_recipe("encoder").config, PICTURES.objective, "Classes does not"),
        (tiny_recipe("decoder").config, PICTURES.objective, "Classes trains a encoder"),
        (STRIPS.config, Transcription(source="digits", pictures=4, digits=9), "digits"),
        (STRIPS.config, Transcription(source="digits", pictures=4, smallest=2.0), "smallest"),
        (PICTURES.config, STRIPS.objective, "Transcription trains a encoder_decoder"),
        (tiny_recipe("encoder_decoder").config, STRIPS.objective, "Transcription does not train what reads tokens"),
        (STRIPS.config, tiny_recipe("encoder_decoder").objective, "Translation does not train what reads patches"),
    ],
)
def test_an_objective_that_does_not_fit(config: ModelConfig, objective: recipe.Objective, message: str) -> None:
    with pytest.raises(RecipeError, match=f"^objective: .*{message}"):
        Recipe(name="wrong", config=config, objective=objective, steps=2, warmup=0)


def test_fingerprints_tell_recipes_apart() -> None:
    one = tiny_recipe()
    assert one.fingerprint == tiny_recipe().fingerprint
    for changes in ({"seed": 1}, {"config": {"d_ffn": 21}}, {"objective": NextToken(rows={"en": 1})}):
        other = tiny_recipe(**changes)
        assert other.fingerprint != one.fingerprint and other.until_decay != one.until_decay
    longer = tiny_recipe(steps=20, decay="cosine", final_share=0.5, decay_steps=2)
    assert longer.fingerprint != one.fingerprint and longer.until_decay == one.until_decay
    rounds: dict[str, Any] = {"steps": 40, "restarts": (12,), "warmup": 2}
    same, other = (tiny_recipe(**rounds, decay_steps=decays) for decays in ((4, 9), (6, 9)))
    assert same.until_decay == tiny_recipe(**rounds, decay_steps=4).until_decay != other.until_decay
    assert same.before(12).fingerprint == tiny_recipe(warmup=2, decay_steps=4).fingerprint


@pytest.mark.parametrize(("norm_at", "warmup"), [("pre", 0), ("post", experiments.WARMUP)])
def test_a_run_begins_as_it_was_recorded(norm_at: experiments.NormAt, warmup: int) -> None:
    asked, runs = (norm_at, warmup, experiments.RATE), experiments.recorded().runs
    (found,) = (run for run in runs if (run.norm_at, run.warmup, run.peak_rate) == asked)
    n = int(found.steps[0]) + 1
    steps = loop.train(experiments.recipe(norm_at, warmup), experiments.data(), half_precision=False)
    reports = list(islice(steps, n))
    steps.close()
    assert np.mean([report.loss for report in reports]) == pytest.approx(found.loss[0], rel=2e-3)
    assert np.mean([report.gradient_norm for report in reports]) == pytest.approx(found.gradient_norm[0], rel=1e-2)
    assert experiments.recorded().frequency_loss == pytest.approx(experiments.frequency_loss(), abs=1e-4)


@pytest.mark.parametrize("change", study.CHANGES)
def test_every_row_of_the_study_spends_the_same_operations(change: str) -> None:
    made = study.changed(recipe.load("story-pre-ln"), study.CHANGES[change])
    assert isinstance(made.objective, NextToken) and len(made.rounds) == 1
    tokens = made.steps * sum(made.objective.rows.values()) * made.config.n_context
    n_parameters = sum(p.numel() for p in new_model(made).parameters())
    assert 6 * n_parameters * tokens == pytest.approx(study.OPERATIONS, rel=1e-2)


def test_a_run_that_breaks_off_is_kept_to_where_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    train = loop.train

    def breaking(*given: object, **more: object) -> object:
        yield from islice(train(*given, **more), 2)  # type: ignore[arg-type]
        raise TrainingError("step 2: the loss is nan")

    monkeypatch.setattr(loop, "train", breaking)
    found = experiments.run(experiments.recipe("post", 0))
    assert found["step"] == [0, 1] and found["stopped"] == "step 2: the loss is nan"
    assert found["bits_per_byte"] is None and np.isnan(experiments._read(found).final_loss)
