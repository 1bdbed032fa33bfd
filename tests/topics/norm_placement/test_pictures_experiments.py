"""What the experiments on the place of the norm draw is what was measured and recorded."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from tiny_models import tiny_config

from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics.norm_placement import start as start_picture
from viz_model.topics.norm_placement import training as twins_training
from viz_model.topics.norm_placement import warmup as warmup_picture
from viz_model.topics.norm_placement.fresh import PLACES, THEORY, DepthGradients, power_law
from viz_model.training import batches, experiments, log, loop
from viz_model.training.corpus import Corpus
from viz_model.training.recipe import NextToken, Recipe
from viz_model.training.samples import stories
from viz_model.training.sources import TEXTS


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
    facts = start.facts()
    assert (facts["pre_exponent"], facts["post_exponent"]) == ("−0.50", "0.00")
    assert (facts["expected"], facts["length_exponent"]) == ("−0.50", "−1.00")
    assert (facts["start"], facts["gain"]) in (("0.0", "1.00"), ("-0.0", "1.00"))
    assert (facts["pre_blocks"], facts["post_blocks"]) == ("4.0", "0.25")
    assert facts["deepest"] == "8"
    for place, wrong in (("pre", "post"), ("post", "pre")):
        theory = THEORY[place]  # type: ignore[index]
        assert start_picture.EXPONENT.of(start_picture.Law(start.fits[place], theory)).name == "agrees"  # type: ignore[index]
        other = power_law(start.found.depths, start.found.last[wrong])  # type: ignore[index]
        assert start_picture.EXPONENT.of(start_picture.Law(other, theory)).name == "differs"
    ends = {place: start.blocks(place)[[0, -1]].tolist() for place in PLACES}
    assert [start_picture.BLOCKS.of(start_picture.Across(*each)).name for each in ends.values()] == ["falls", "rises"]


def test_marks_and_lines_lie_where_they_were_measured(start: start_picture.StartView) -> None:
    pre, fit, theory = start_picture.draw_start(start, words).figure.data[:3]
    np.testing.assert_array_equal(np.reshape(pre.y, (3, 2)), start.found.last["pre"])
    np.testing.assert_array_equal(np.reshape(pre.x, (3, 2))[:, 0], start.found.depths)
    np.testing.assert_allclose(fit.y, [2 * 2**-0.5, 2 * 8**-0.5])
    np.testing.assert_allclose(theory.y, fit.y)
    assert start.table().shape == (3, 4) and len(start.rows) == 3
    band, line = start_picture.draw_by_block(start, words).figure.data[:2]
    np.testing.assert_allclose(line.y, [4, 2, 1, 1, 1, 1, 1, 1])
    assert len(band.x) == 16 and max(band.y) == pytest.approx(4 / 0.9)


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


@pytest.mark.parametrize(
    ("bare", "warm", "word"),
    [(9, 1, "rescues"), (9, 9, "neither"), (2, 1, "helps"), (1, 2, "hurts"), (1, 1.05, "plain")],
)
def test_what_warm_up_does_is_judged_by_the_final_losses(
    bare: float, warm: float, word: str, warmup: warmup_picture.WarmupView
) -> None:
    runs = dict(warmup.runs)
    for warms, level in ((False, bare), (True, warm)):
        run = runs["pre", warms]
        runs["pre", warms] = run._replace(loss=np.full(len(run.steps), float(level)))
    assert warmup_picture.WARMUP.of(warmup_picture.Warmup(*warmup._replace(runs=runs).losses("pre"))).name == word


def logged(norm_at: experiments.NormAt) -> list[dict[str, Any]]:
    """The log of a short run on two languages."""
    tokenizer = story_tokenizer()
    languages = {
        language: Corpus.of_texts(stories(language, 12), tokenizer).languages["text"] for language in ("en", "zh")
    }
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
        share = [
            line["gradient_norms"]["decoder.blocks.0"] / line["gradient_norms"]["decoder.blocks.1"] for line in lines
        ]
        assert float(facts[f"{side}_share"]) == pytest.approx(share[-1], rel=0.05)
    pre, post = (lines[-1]["held_out"]["en"]["bits_per_byte"] for lines in logs.values())
    assert view.last("en") == (pre, post) and facts["pre_en"] == f"{pre:.3f}"
    ahead = twins_training.AHEAD.of(twins_training.Bits(*view.last("en"))).name
    assert ahead == ("pre" if pre < post else "post") or abs(pre - post) < 0.0006


def test_rounds_are_told_by_the_rate(logs: dict[str, list[dict[str, Any]]]) -> None:
    line = logs["pre"][0]
    rates, losses = (1e-5, 2e-3, 2e-3, 1e-3, 1e-4, 1e-5, 2e-3, 2e-3, 0.0), (9, 8, 7, 6, 5, 4, 6.5, 6, 3.5)
    told = [
        {**line, "step": 30 * n + 29, "learning_rate": rate, "loss": loss}
        for n, (rate, loss) in enumerate(zip(rates, losses, strict=True))
    ]
    view = twins_training.CurvesView.of({"pre": told, "post": told})
    assert view.curves["pre"].restarts == (180,) and view.climb == (4.0, 6.5)
    facts = view.facts()
    assert (facts["n_rounds"], facts["round"]) == ("2", "200")
    assert (facts["before_round"], facts["in_round"]) == ("4.00", "6.50")
    other = [{**line, "learning_rate": 2 * line["learning_rate"]} for line in told]
    rates = twins_training.draw_rates(twins_training.CurvesView.of({"pre": told, "post": other}), words).figure
    assert [line.name for line in rates.data] == ["Pre-LN", "Post-LN"]


def test_what_was_learned_by_heart_is_drawn_source_by_source() -> None:
    files = [source.file for source in TEXTS if not source.per_line]
    pre = {file: {"held_out": 1.0 + n / 10, "seen": 1.0 + n / 20} for n, file in enumerate(files, start=1)}
    post = {file: {"held_out": 2.0, "seen": 1.5} for file in files[:-1]}
    view = twins_training.SourcesView.of({"pre": pre, "post": post})
    assert view.sources == tuple(files[:-1]), "those that both were measured on"
    assert view.facts() == {"least": "0.05", "most": "0.50", "easiest": "1.05", "hardest": "1.50"}
    scene = twins_training.draw_sources(view, words)
    bars = {one.name: one.values for one in scene.series}
    assert (
        twins_training.BY_HEART.of(view.more).name == "costs"
        and twins_training.BY_HEART.of((-0.1, 0.2)).name == "plain"
    )
    names = [f"{place}, sources_{which}" for place in ("Pre-LN", "Post-LN") for which in ("held_out", "seen")]
    assert list(bars) == names and len(scene.series[0].at) == len(view.sources)
    np.testing.assert_array_equal(bars["Pre-LN, sources_held_out"], view.held_out["pre"])
