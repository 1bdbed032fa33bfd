"""What the page on Pre-LN and Post-LN draws is what the two traces hold and what was recorded."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import islands
import numpy as np
import pytest
from tiny_models import describe, language_model, mixed_norms, run_both, tiny_config, variants

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.drawing.scene import Items, Scene, Texts, seen
from viz_model.island.look import Look
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics.norm_placement import PAGE, decides, depth, last_norm, pull
from viz_model.topics.norm_placement import start as start_picture
from viz_model.topics.norm_placement import training as twins_training
from viz_model.topics.norm_placement import warmup as warmup_picture
from viz_model.topics.norm_placement.fresh import PLACES, THEORY, DepthGradients, power_law
from viz_model.topics.norm_placement.places import ratio
from viz_model.topics.norm_placement.pull import stream_gradients
from viz_model.topics.norm_placement.readings import readings
from viz_model.training import batches, experiments, log, loop
from viz_model.training.corpus import Corpus
from viz_model.training.recipe import NextToken, Recipe
from viz_model.training.samples import stories
from viz_model.training.sources import TEXTS

every = pytest.mark.parametrize("config_", [*variants(), *mixed_norms()], ids=describe)
TEXT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def traces() -> dict[str, vm.Trace]:
    return {side: vm.load(f"story-{side}-ln").trace(TEXT) for side in ("pre", "post")}


@pytest.fixture
def twins(traces: dict[str, vm.Trace]) -> Look:
    return dataclasses.replace(islands.look(traces["post"], PAGE, layer=1, token=3), twin=traces["pre"])


def numbers(scene: Scene, id: str) -> list[float]:
    """What is said last of each item of a mark."""
    marks = [mark for panel in scene.panels for mark in panel.marks if isinstance(mark, Items) and mark.id == id]
    return [float(str(label).split()[-1].replace("−", "-")) for mark in marks for label in mark.labels]


@every
def test_a_model_alone_is_drawn_and_said_as_itself(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_)).at(config_.sides[-1])
    look = islands.look(trace, PAGE, layer=1, token=2)
    found, shown = readings(trace), islands.pictures(PAGE, look)
    scene = shown["norm_placement.lengths"]
    np.testing.assert_allclose(numbers(scene, "points.0"), np.median(found.before, 1), atol=0.0051)
    np.testing.assert_allclose(numbers(scene, "points.1"), np.median(found.after, 1), atol=0.0051)
    for token in (0, 3):
        points = numbers(seen(depth.draw_lengths(look), {**look.place, "token": token}), "points.2")
        np.testing.assert_allclose(points, found.before[:, token], atol=0.0051)
    view = depth.view(look)
    assert view.facts(config_.norm_at)["last"] == f"{np.median(found.before[-1]):.1f}"
    assert {len(column) for column in view.table(2).values()} == {len(found.sites)}


def test_the_last_norm_is_drawn_for_the_token(twins: Look, traces: dict[str, vm.Trace]) -> None:
    scene = seen(last_norm.draw(twins), twins.place)
    for k, (side, one) in enumerate(last_norm.every(twins).items()):
        assert one.p is not None
        np.testing.assert_allclose(numbers(scene, f"bars.{k}"), one.p[:, 3], atol=6e-4)
        (texts,) = [mark for mark in scene.panels[0].marks if isinstance(mark, Texts) and mark.id == f"values.{k}"]
        assert str(texts.texts[-1]).startswith(traces[side].next_tokens(3, 1)[0][0].label)


def test_gradients_are_those_of_the_sentence(twins: Look, traces: dict[str, vm.Trace]) -> None:
    scene = pull.draw(twins)
    assert scene is not None
    for side, trace in traces.items():
        one = stream_gradients(trace)
        np.testing.assert_allclose(numbers(scene, side), one.norms, atol=6e-5)
        facts = pull.facts(one)
        assert facts["change"] == f"{ratio(one.norms[0] / one.norms[-1])}" and facts["top"] == f"{one.norms[-1]:.3f}"


def test_lengths_are_of_the_sums_before_any_norm(twins: Look, traces: dict[str, vm.Trace]) -> None:
    found, (pre, post) = decides.lengths(twins), traces.values()
    for n in range(pre.n_layers):
        at = f"blocks.{n}."
        np.testing.assert_allclose(found["pre"][1 + 2 * n], pre[f"{at}resid.mid"].norm(dim=-1), rtol=1e-5)
        added = post[f"{at}resid.in"] + post[f"{at}attn.out"], post[f"{at}resid.mid"] + post[f"{at}ffn.out"]
        for k, one in enumerate(added):
            np.testing.assert_allclose(found["post"][1 + 2 * n + k], one.norm(dim=-1), rtol=1e-4)


def test_outcomes_are_those_recorded(twins: Look) -> None:
    record = json.loads(experiments.RECORD.read_text(encoding="utf-8"))
    scene = decides.outcome(twins)
    ends = {}
    for one in record["runs"]:
        recipe, steps = one["recipe"], np.array(one["step"])
        if recipe["peak_rate"] == experiments.RATE:
            late = np.array(one["loss"])[steps >= 0.9 * steps[-1]]
            ends[recipe["config"]["norm_at"], recipe["warmup"] > 0] = late.mean()
    shown = dict(zip(decides.trained(twins).runs, scene.series[0].values, strict=True))
    assert shown == pytest.approx(ends, rel=0.02)


def words(key: str, **values: object) -> str:
    return key


@pytest.fixture
def start() -> start_picture.StartView:
    """Laws that are known: Pre-LN falls like 2/√L with a stream of length √L, Post-LN stays at 1."""
    depths = np.array([2, 4, 8])
    spread = np.array([0.9, 1 / 0.9])
    falling = 2 * depths[:, None] ** -0.5 * spread
    blocks = np.array([4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])[:, None] * spread
    return start_picture.StartView.of(
        DepthGradients(
            depths=depths,
            last={"pre": falling, "post": np.ones((3, 1)) * spread},
            lengths={"pre": depths[:, None] ** 0.5 * np.ones(2), "post": np.ones((3, 2))},
            by_block={"pre": blocks, "post": 1 / blocks},
            n_tokens=128,
        )
    )


def test_known_laws_are_said(start: start_picture.StartView) -> None:
    facts, told = start.facts(), ("pre_exponent", "post_exponent", "expected", "length_exponent", "pre_blocks")
    assert [facts[name] for name in told] == ["−0.50", "0.00", "−0.50", "−1.00", "4.0"]
    for place, wrong in (("pre", "post"), ("post", "pre")):
        theory = THEORY[place]  # type: ignore[index]
        assert start_picture.EXPONENT.of(start_picture.Law(start.fits[place], theory)).name == "agrees"  # type: ignore[index]
        other = power_law(start.found.depths, start.found.last[wrong])  # type: ignore[index]
        assert start_picture.EXPONENT.of(start_picture.Law(other, theory)).name == "differs"
    ends = {place: start.blocks(place)[[0, -1]].tolist() for place in PLACES}
    assert [start_picture.BLOCKS.of(start_picture.Across(*each)).name for each in ends.values()] == ["falls", "rises"]


@pytest.fixture(scope="module")
def warmup() -> warmup_picture.WarmupView:
    return warmup_picture.WarmupView.of(experiments.recorded(), experiments.RATE)


def test_the_four_runs_are_drawn_as_recorded(warmup: warmup_picture.WarmupView) -> None:
    assert len(warmup.runs) == 4 and warmup.rates == experiments.RATES
    for quantity, draw in {"loss": warmup_picture.draw_warmup, "gradient_norm": warmup_picture.draw_gradient}.items():
        lines = draw(warmup, words).figure.data
        assert len(lines) == 4
        for line, run in zip(lines, warmup.runs.values(), strict=True):
            np.testing.assert_array_equal(line.y, getattr(run, quantity))
            np.testing.assert_array_equal(line.x, run.steps + 1)
    sweep = warmup_picture.draw_sweep(warmup, words).figure
    assert sum(len(line.y) for line in sweep.data) == len(experiments.recipes())
    assert [shape.y0 for shape in sweep.layout.shapes] == [warmup.record.frequency_loss]


def test_the_recorded_runs_reach_the_regime_of_the_paper(warmup: warmup_picture.WarmupView) -> None:
    learned = {key: warmup.learns(run) for key, run in warmup.runs.items()}
    assert learned == {("pre", False): True, ("pre", True): True, ("post", False): False, ("post", True): True}
    assert warmup_picture.WARMUP.of(warmup_picture.Warmup(*warmup.losses("post"))).name == "rescues"
    assert warmup_picture.WARMUP.of(warmup_picture.Warmup(*warmup.losses("pre"))).name != "rescues"


def logged(norm_at: experiments.NormAt) -> list[dict[str, Any]]:
    """The log of a short run on two languages."""
    tokenizer = story_tokenizer()
    languages = {one: Corpus.of_texts(stories(one, 12), tokenizer).languages["text"] for one in ("en", "zh")}
    recipe = Recipe(
        name="short",
        config=tiny_config(norm_at, n_vocab=tokenizer.n_vocab),
        objective=NextToken(rows={"en": 1, "zh": 1}),
        steps=6,
        warmup=2,
        validate_every=2,
    )
    data = batches.build(recipe, Corpus(languages, tokenizer))
    reports = [dataclasses.asdict(report) for report in loop.train(recipe, data, half_precision=False)]
    return log.thin(reports, most=3)


@pytest.fixture(scope="module")
def logs() -> dict[str, list[dict[str, Any]]]:
    return {"pre": logged("pre"), "post": logged("post")}


def test_curves_are_the_logs_of_the_training(logs: dict[str, list[dict[str, Any]]]) -> None:
    view = twins_training.CurvesView.of(logs)
    assert view.languages == ("en", "zh") and view.blocks == ("decoder.blocks.0", "decoder.blocks.1")
    facts = view.facts()
    for side, lines in logs.items():
        curve = view.curves[side]
        assert curve.mean.tolist() == [line["loss"] for line in lines] and (curve.kept, curve.window) == (2, 2)
        assert curve.held_out["zh"][1].tolist() == [line["held_out"]["zh"]["bits_per_byte"] for line in lines]
        first, last = (lines[-1]["gradient_norms"][f"decoder.blocks.{n}"] for n in (0, 1))
        assert float(facts[f"{side}_share"]) == pytest.approx(first / last, rel=0.05)
    pre, post = (lines[-1]["held_out"]["en"]["bits_per_byte"] for lines in logs.values())
    assert view.last("en") == (pre, post) and facts["pre_en"] == f"{pre:.3f}"
    ahead = twins_training.AHEAD.of(twins_training.Bits(*view.last("en"))).name
    assert ahead == ("pre" if pre < post else "post") or abs(pre - post) < 0.0006


def test_what_was_learned_by_heart_is_drawn_source_by_source() -> None:
    files = [source.file for source in TEXTS if not source.per_line]
    pre = {file: {"held_out": 1.0 + n / 10, "seen": 1.0 + n / 20} for n, file in enumerate(files, start=1)}
    post = {file: {"held_out": 2.0, "seen": 1.5} for file in files[:-1]}
    view = twins_training.SourcesView.of({"pre": pre, "post": post})
    assert view.sources == tuple(files[:-1]), "those that both were measured on"
    assert view.facts() == {"least": "0.05", "most": "0.50", "easiest": "1.05", "hardest": "1.50"}
    bars = {one.name: one.values for one in twins_training.draw_sources(view, words).series}
    assert twins_training.BY_HEART.of(view.more).name == "costs"
    np.testing.assert_array_equal(bars["Pre-LN, sources_held_out"], view.held_out["pre"])
