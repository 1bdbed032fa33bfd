"""The curves of a run: they say what its reports say, they stay small, and their axes rest."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from viz_model.topics.training_lab.numbers import by_hand
from viz_model.topics.training_lab.numbers.views import run_view
from viz_model.topics.training_lab.pictures.chart import decades, ticks
from viz_model.topics.training_lab.pictures.loss import loss_chart
from viz_model.topics.training_lab.pictures.norms import norms_chart
from viz_model.topics.training_lab.pictures.rate import rate_chart
from viz_model.topics.training_lab.pictures.run import MOST_POINTS
from viz_model.training import lab, samples
from viz_model.training.lab import Experiment, Measured, Settings
from viz_model.training.loop import StepReport

SETTINGS = Settings(
    n_layers=3, d_model=32, n_heads=2, steps=600, source="own", text=" ".join(samples.stories("en", 12))
)


def words(key: str, /, **values: object) -> str:
    return " ".join([key, *map(str, values.values())])


def report(step: int, loss: float = 5.0, scale: float = 1.0, **more: Any) -> StepReport:
    norms = {"embedding": 2.0, **{f"decoder.blocks.{n}": scale ** (2 - n) for n in range(3)}}
    return StepReport(step, loss, 0.001, 1.5, norms, 1000.0, **more)


def run_of(reports: list[StepReport], held_out: list[Measured] | None = None, **changes: Any) -> Experiment:
    """A run that was not trained: with reports of the test's own."""
    run = Experiment(lab.check(dataclasses.replace(SETTINGS, **changes)))
    run.reports, run.held_out = reports, held_out or []
    return run


@pytest.mark.parametrize("n", [0, 1, 2, MOST_POINTS, MOST_POINTS + 1, 600])
def test_points_are_bounded_and_their_mean_is_the_mean(n: int) -> None:
    view = run_view(run_of([report(step, loss=step + 1.0) for step in range(n)]))
    assert len(view.steps) == len(view.loss) == len(view.rate) <= MOST_POINTS
    assert view.norms.shape == (len(view.parts), len(view.steps))
    assert view.done == n
    widths = np.diff(np.append(0, view.steps))
    assert (view.loss * widths).sum() == pytest.approx(n * (n + 1) / 2)


def test_a_view_repeats_the_reports_of_a_short_run() -> None:
    reports = [report(step, loss=9.0 - step, scale=0.5) for step in range(5)]
    view = run_view(run_of(reports, [Measured(0, 9.6, 0.0), Measured(5, 4.0, 0.25)]))
    np.testing.assert_array_equal(view.steps, range(1, 6))
    np.testing.assert_allclose(view.loss, [r.loss for r in reports])
    for part, row in zip(view.parts, view.norms, strict=True):
        np.testing.assert_allclose(row, [r.gradient_norms[part] for r in reports])
    assert [view.parts[n] for n in view.blocks] == [f"decoder.blocks.{n}" for n in range(3)]
    assert view.ratio == pytest.approx(0.25) and view.n_clipped == 5
    facts = view.facts()
    assert (facts["loss_first"], facts["held_last"], facts["accuracy"], facts["last_block"]) == (
        "9.00",
        "4.00",
        "25%",
        "2",
    )


@pytest.mark.parametrize(
    ("scale", "verdict"), [(0.1, "vanishing"), (1.0, "steady"), (3.0, "steady"), (4.0, "exploding")]
)
def test_the_verdict_on_gradients(scale: float, verdict: str) -> None:
    assert run_view(run_of([report(0, scale=scale)])).verdict() == verdict


def test_the_verdict_on_learning() -> None:
    level = run_of([]).stuck_at
    reports = [report(step) for step in range(400)]
    assert run_view(run_of(reports, [Measured(400, 0.5 * level, 0.5)])).outcome() == "learns"
    assert run_view(run_of(reports, [Measured(400, level, 0.1)])).outcome() == "stuck"
    assert run_view(run_of(reports[:20], [Measured(20, level, 0.1)])).outcome() == "early"
    assert run_view(run_of(reports, [Measured(400, float("nan"), 0.1)])).outcome() == "stuck"


def test_overfitting_is_seen() -> None:
    measured = [Measured(0, 9.0, 0.0), Measured(10, 2.0, 0.5), Measured(20, 2.5, 0.5)]
    assert run_view(run_of([report(0)], measured)).overfits()
    assert not run_view(run_of([report(0)], measured[:2])).overfits()


CHARTS = (loss_chart, rate_chart, norms_chart)


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("n", [0, 1, 30])
def test_a_frame_holds_all_lines_within_its_axes(chart: Any, n: int) -> None:
    held_out = [Measured(0, 9.5, 0.0)] if n else []
    found = chart(run_view(run_of([report(step, scale=0.1) for step in range(n)], held_out)), words)
    header, numbers = found.header(), found.numbers()
    assert numbers.dtype == np.float32 and len(numbers) == 2 * sum(line["n"] for line in header["lines"])
    start = 0
    for line, drawn in zip(header["lines"], found.lines, strict=True):
        steps, values = np.split(numbers[start : start + 2 * line["n"]], 2)
        start += 2 * line["n"]
        np.testing.assert_allclose(values, drawn.values, rtol=1e-6)
        scaled = np.log10(values) if header["y"]["log"] else values
        low, high = header["y"]["range"]
        assert (scaled >= low - 1e-6).all() and (scaled <= high + 1e-6).all() and (steps <= 600).all()
    assert header["x"]["range"] == [0, 600] and len(header["y"]["ticks"]) >= 2


def test_the_axes_rest_while_a_run_goes_on() -> None:
    reports = [report(step, loss=9 - step / 10) for step in range(60)]
    for chart in CHARTS:
        early, late = (chart(run_view(run_of(reports[:n])), words).header() for n in (5, 60))
        assert early["x"] == late["x"] and early["y"] == late["y"]


def test_a_broken_loss_leaves_the_axis_finite() -> None:
    reports = [report(0), report(1, loss=float("nan")), report(2, loss=float("inf"))]
    header = loss_chart(run_view(run_of(reports)), words).header()
    assert np.isfinite(header["y"]["range"]).all()


def test_a_vanished_gradient_is_drawn_on_the_logarithmic_axis() -> None:
    found = norms_chart(run_view(run_of([report(0, scale=0.0)])), words)
    assert all((line.values > 0).all() for line in found.lines) and found.low < found.high


def test_only_the_ends_of_a_deep_model_are_named_in_the_legend() -> None:
    found = norms_chart(run_view(run_of([report(0)])), words)
    assert [line.name for line in found.lines if line.legend] == ["embedding", "block 0", "block 2"]


@pytest.mark.parametrize("warmup", [True, False])
def test_the_warm_up_is_marked_where_there_is_one(warmup: bool) -> None:
    header = rate_chart(run_view(run_of([], warmup=warmup)), words).header()
    assert (header["area"] or {}).get("until") == (60 if warmup else None)


@pytest.mark.parametrize(("low", "high"), [(0, 300), (0, 9.9), (0, 0.0033), (0, 1187.0), (0, 20)])
def test_ticks_are_few_and_round(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 3 <= len(found) <= 8 and found[0] == 0 and found[-1] <= high
    assert np.ptp(np.diff(found)) < 1e-9 * high


@pytest.mark.parametrize("low", [-2.0, -12.0])
def test_decades_are_powers_of_ten(low: float) -> None:
    found = decades(low, 1.0)
    assert 2 <= len(found) <= 7
    assert decades(-3.0, 1.0)[0] == {"at": 1e-3, "label": "10⁻³"}


@pytest.mark.parametrize(
    ("number", "written"),
    [(0.0, "0"), (0.00312, "0.00312"), (-1.5, "-1.5"), (1.25e-5, r"1.250\times 10^{-5}"), (2e7, r"2.000\times 10^{7}")],
)
def test_numbers_in_formulas(number: float, written: str) -> None:
    assert by_hand.latex(number, 3) == written


def test_a_step_by_hand_is_the_step_that_was_taken() -> None:
    run = Experiment(lab.check(dataclasses.replace(SETTINGS, n_layers=1, steps=20)))
    for _ in zip(run.steps(), range(3), strict=False):
        pass
    assert run.update is not None
    for column in (0, 31):
        said = by_hand.by_hand(run.update, column)
        assert said["t"] == str(run.update.t) and "{" not in said["column"]
        assert said["computed"][:8] == said["after"][:8]
        assert (said["g_b"][0] == "(") == (run.update.gradient[column] < 0)


def test_the_table_has_a_row_for_each_step() -> None:
    reports = [report(step) for step in range(4)]
    found = by_hand.columns(reports, [Measured(0, 9.0, 0.0), Measured(4, 5.0, 0.1)], words)
    assert {len(column) for column in found.values()} == {4}
    assert found["held_out"] == [None, None, None, 5.0] and found["step_axis"] == [1, 2, 3, 4]
    assert "‖g‖ decoder.blocks.2" in found
