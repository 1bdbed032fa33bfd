"""The curves of a run: they say what its reports say, they stay small, and their axes rest."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from viz_model.island.page import Plot
from viz_model.topics.training_lab import by_hand, curves
from viz_model.topics.training_lab.course import Course, Gradients
from viz_model.topics.training_lab.curves import MOST_POINTS, RunView
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
    assert (view.loss * np.diff(np.append(0, view.steps))).sum() == pytest.approx(n * (n + 1) / 2)


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


def drawn(plot: Plot) -> dict[str, Any]:
    return {line.name: line for line in plot.figure.data}


def test_a_broken_loss_leaves_the_axis_finite() -> None:
    reports = [report(0), report(1, loss=float("nan")), report(2, loss=float("inf"))]
    plot = curves.loss(RunView.of(run_of(reports)), words)
    assert np.isfinite(plot.figure.layout.yaxis.range).all()
    np.testing.assert_array_equal(drawn(plot)["train"].y, [5, np.nan, np.nan])


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
