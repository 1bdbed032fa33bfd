"""The curves of a run: they say what its reports say, they stay small, and their axes rest."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from viz_model.topics.training_lab.numbers import by_hand
from viz_model.topics.training_lab.numbers.course import Course, Gradients
from viz_model.topics.training_lab.numbers.curves import MOST_POINTS, RunView
from viz_model.topics.training_lab.pictures.chart import decades, ticks
from viz_model.topics.training_lab.pictures.loss import loss_chart, tuned_chart
from viz_model.topics.training_lab.pictures.norms import norms_chart
from viz_model.topics.training_lab.pictures.rate import rate_chart
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
    view = RunView.of(run_of([report(step, loss=step + 1.0) for step in range(n)]))
    assert len(view.steps) == len(view.loss) == len(view.rate) <= MOST_POINTS
    assert view.norms.shape == (len(view.parts), len(view.steps))
    assert view.done == n
    widths = np.diff(np.append(0, view.steps))
    assert (view.loss * widths).sum() == pytest.approx(n * (n + 1) / 2)


def test_a_view_repeats_the_reports_of_a_short_run() -> None:
    reports = [report(step, loss=9.0 - step, scale=0.5) for step in range(5)]
    view = RunView.of(run_of(reports, [Measured(0, 9.6, 0.0), Measured(5, 4.0, 0.25)]))
    np.testing.assert_array_equal(view.steps, range(1, 6))
    np.testing.assert_allclose(view.loss, [r.loss for r in reports])
    for part, row in zip(view.parts, view.norms, strict=True):
        np.testing.assert_allclose(row, [r.gradient_norms[part] for r in reports])


def test_what_is_spoken_of_are_these_numbers() -> None:
    reports = [report(step, loss=9.0 - step / 10, scale=0.5) for step in range(40)]
    run = run_of(reports, [Measured(0, 9.6, 0.0), Measured(30, 4.0, 0.25), Measured(40, 4.5, 0.2)])
    course, norms = Course.of(run), Gradients.of(run)
    assert (course.done, course.first, course.peak, course.peak_at) == (40, 9.0, 9.0, 1)
    assert course.last == pytest.approx(np.mean([r.loss for r in reports[-20:]]))
    assert (course.held_first, course.held_last, course.held_best, course.held_best_at) == (9.6, 4.5, 4.0, 30)
    assert course.at_best == pytest.approx(np.mean([r.loss for r in reports[10:30]]))
    assert course.facts()["held_last"] == "4.50" and course.facts()["right"] == "20%"
    assert (norms.low, norms.high, norms.top, norms.clipped, norms.began) == (0.25, 1.0, 2, 40, 1.5)
    told = norms._replace(whole=2e18, largest=float("inf"), began=0.0).facts()
    shown = [told[name] for name in ("low", "whole", "largest", "began")]
    assert shown == ["0.25", "2.00\u00a0×\u00a010¹⁸", "inf", "0"]


CHARTS = (loss_chart, rate_chart, norms_chart)


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("n", [0, 1, 30])
def test_a_frame_holds_all_lines_within_its_axes(chart: Any, n: int) -> None:
    held_out = [Measured(0, 9.5, 0.0)] if n else []
    header, numbers = chart(RunView.of(run_of([report(step, scale=0.1) for step in range(n)], held_out)), words)
    assert numbers.dtype == np.float32 and len(numbers) == 2 * sum(line["n"] for line in header["lines"])
    start = 0
    for line in header["lines"]:
        steps, values = np.split(numbers[start : start + 2 * line["n"]], 2)
        start += 2 * line["n"]
        scaled = np.log10(values) if header["y"]["log"] else values
        low, high = header["y"]["range"]
        assert (scaled >= low - 1e-6).all() and (scaled <= high + 1e-6).all() and (steps <= 600).all()
    assert header["x"]["range"] == [0, 600] and len(header["y"]["ticks"]) >= 2


def test_the_axes_rest_while_a_run_goes_on() -> None:
    reports = [report(step, loss=9 - step / 10) for step in range(60)]
    for chart in CHARTS:
        early, late = (chart(RunView.of(run_of(reports[:n])), words)[0] for n in (5, 60))
        assert early["x"] == late["x"] and early["y"] == late["y"]


def test_a_broken_loss_leaves_the_axis_finite() -> None:
    reports = [report(0), report(1, loss=float("nan")), report(2, loss=float("inf"))]
    header = loss_chart(RunView.of(run_of(reports)), words)[0]
    assert np.isfinite(header["y"]["range"]).all()


def test_a_vanished_gradient_is_drawn_on_the_logarithmic_axis() -> None:
    header, numbers = norms_chart(RunView.of(run_of([report(0, scale=0.0)])), words)
    assert (numbers > 0).all() and np.less(*header["y"]["range"])


def test_each_text_of_a_tuning_has_a_line_of_its_own() -> None:
    losses = {"own": [5.5, 0.3], "end": [6.0, 7.0], "en": [3.0, 5.0], "zh": [3.0, 4.0]}
    header, numbers = tuned_chart([0, 80], losses, 80, words)
    assert len({(line["colour"], line["dash"]) for line in header["lines"]}) == 4
    np.testing.assert_allclose(numbers.reshape(4, 2, 2)[:, 1], list(losses.values()))
    assert header["y"]["range"] == [0.0, pytest.approx(7.7)]


def test_only_the_ends_of_a_deep_model_are_named_in_the_legend() -> None:
    header, _ = norms_chart(RunView.of(run_of([report(0)])), words)
    assert [line["name"] for line in header["lines"] if line["legend"]] == ["embedding", "block 0", "block 2"]


@pytest.mark.parametrize("warmup", [True, False])
def test_the_warm_up_is_marked_where_there_is_one(warmup: bool) -> None:
    header = rate_chart(RunView.of(run_of([], warmup=warmup)), words)[0]
    assert (header["area"] or {}).get("until") == (60 if warmup else None)


@pytest.mark.parametrize(("low", "high"), [(0, 300), (0, 9.9), (0, 0.0033), (0, 1187.0), (0, 20)])
def test_ticks_are_few_and_round(low: float, high: float) -> None:
    found = [tick["at"] for tick in ticks(low, high)]
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
