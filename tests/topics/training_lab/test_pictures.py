"""The curves of a run: they say what its reports say, they stay small, and their axes rest."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import scenes

from viz_model.topics.training_lab.numbers import by_hand
from viz_model.topics.training_lab.numbers.course import Course, Gradients
from viz_model.topics.training_lab.numbers.curves import MOST_POINTS, RunView
from viz_model.topics.training_lab.pictures.chart import decades, ticks
from viz_model.topics.training_lab.pictures.run import loss_chart, norms_chart, rate_chart, tuned_chart
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
WIDE = 640
"""Pixels that the pictures are laid out for."""


def number(label: str) -> float:
    """What is written at a tick."""
    raised = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
    base, power = (label[:2], label[2:]) if label[2:].strip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻") == "" and label[2:] else (label, "")
    return float(base) ** int(power.translate(raised)) if power else float(label)


def ticks_of(found: scenes.Sent, axis: str) -> dict[float, float]:
    """The pixel of each number that an axis names."""
    marks = [mark for mark in found.marks() if mark["id"].startswith(f"{axis}.") and mark["kind"] == "text"]
    return {number(mark["text"]): pixels(mark[axis]) for mark in marks}


def pixels(length: Any) -> Any:
    parts = np.asarray(length)
    return parts[..., 0] * WIDE + parts[..., 1] if parts.ndim else float(parts)


def lines_of(found: scenes.Sent, *, log: bool = False) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Every line as (steps, values): its pixels, read off at the ticks of both axes."""

    def read(axis: str, at: np.ndarray, log: bool) -> np.ndarray:
        ticks = ticks_of(found, axis)
        (a, pixel_a), *_, (b, pixel_b) = ticks.items()
        if log:
            a, b = np.log10([a, b])
        values = a + (pixels(at) - pixel_a) / (pixel_b - pixel_a) * (b - a)
        return np.asarray(10**values if log else values)

    known = [mark for mark in found.marks() if mark["id"].startswith("line.")]
    return {mark["id"]: (read("x", mark["x"], False), read("y", mark["y"], log)) for mark in known}


def axes_of(found: scenes.Sent) -> list[Any]:
    return [mark for mark in found.marks() if mark["id"].startswith(("x.", "y.", "grid.", "axis"))]


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("n", [0, 1, 30])
def test_all_lines_are_drawn_between_their_axes(chart: Any, n: int) -> None:
    held_out = [Measured(0, 9.5, 0.0)] if n else []
    view = RunView.of(run_of([report(step, scale=0.1) for step in range(n)], held_out))
    found = scenes.sent(chart(view, words))
    steps, heights = ticks_of(found, "x"), ticks_of(found, "y")
    assert set(steps) >= {0.0, 600.0} and len(heights) >= 2
    top, bottom = min(heights.values()), max(heights.values())
    tall = found.panel("chart")["height"]
    for mark in (mark for mark in found.marks() if mark["id"].startswith("line.")):
        across, down = pixels(mark["x"]), pixels(mark["y"])
        assert (across >= steps[0] - 1e-3).all() and (across <= steps[600] + 1e-3).all()
        assert (down >= min(top, 40)).all() and (down <= bottom + 0.03 * tall).all()


def test_lines_are_drawn_at_their_numbers() -> None:
    reports = [report(step, loss=9.0 - step / 10, scale=0.1) for step in range(30)]
    view = RunView.of(run_of(reports, [Measured(0, 9.5, 0.0), Measured(30, 7.0, 0.0)]))
    train, held_out = lines_of(scenes.sent(loss_chart(view, words))).values()
    np.testing.assert_allclose(train[0], view.steps, rtol=1e-3)
    np.testing.assert_allclose(train[1], view.loss, rtol=1e-3)
    np.testing.assert_allclose(np.stack(held_out), [[0.0, 30.0], [9.5, 7.0]], rtol=1e-3, atol=1e-2)
    drawn = lines_of(scenes.sent(norms_chart(view, words)), log=True).values()
    for (steps, values), row in zip(drawn, view.norms, strict=True):
        np.testing.assert_allclose(steps, view.steps, rtol=1e-3)
        np.testing.assert_allclose(values, row, rtol=1e-3)
    (told,) = [mark for mark in scenes.sent(loss_chart(view, words)).marks() if mark["id"] == "told"]
    np.testing.assert_allclose(told["values"].ravel(), view.loss, rtol=1e-6)
    assert told["names_of_columns"][4] == "step_axis 5: train 8.6, held_out 9.5"


def test_the_axes_rest_while_a_run_goes_on() -> None:
    reports = [report(step, loss=9 - step / 10) for step in range(60)]
    for chart in CHARTS:
        early, late = (axes_of(scenes.sent(chart(RunView.of(run_of(reports[:n])), words))) for n in (5, 60))
        assert early == late and len(early) > 6


def test_a_broken_loss_leaves_the_axis_finite() -> None:
    reports = [report(0), report(1, loss=float("nan")), report(2, loss=float("inf"))]
    found = scenes.sent(loss_chart(RunView.of(run_of(reports)), words))
    heights = ticks_of(found, "y")
    assert len(heights) >= 2 and np.isfinite([*heights, *heights.values()]).all()
    (steps, values) = lines_of(found)["line.0"]
    np.testing.assert_allclose([steps, values], [[1], [5]], rtol=1e-3)


def test_a_vanished_gradient_is_drawn_on_the_logarithmic_axis() -> None:
    found = scenes.sent(norms_chart(RunView.of(run_of([report(0, scale=0.0)])), words))
    assert len(ticks_of(found, "y")) >= 2
    for steps, values in lines_of(found, log=True).values():
        assert np.isfinite(steps).all() and (values > 0).all()


def test_each_text_of_a_tuning_has_a_line_of_its_own() -> None:
    losses = {"own": [5.5, 0.3], "end": [6.0, 7.0], "en": [3.0, 5.0], "zh": [3.0, 4.0]}
    found = scenes.sent(tuned_chart([0, 80], losses, 80, words))
    assert len({(found.mark(f"line.{n}")["stroke"], found.mark(f"line.{n}").get("dash")) for n in range(4)}) == 4
    for (steps, values), expected in zip(lines_of(found).values(), losses.values(), strict=True):
        np.testing.assert_allclose(steps, [0, 80], atol=1e-3)
        np.testing.assert_allclose(values, expected, rtol=1e-3)
    assert max(ticks_of(found, "y")) <= 7.7


def test_only_the_ends_of_a_deep_model_are_named_in_the_legend() -> None:
    found = scenes.sent(norms_chart(RunView.of(run_of([report(0)])), words))
    legend = [mark["text"] for mark in found.marks() if mark["id"].startswith("name.")]
    assert legend == ["embedding", "block 0", "block 2"]
    assert [found.mark(f"sample.{n}")["stroke"] for n in range(3)] == [
        found.mark(f"line.{n}")["stroke"] for n in (0, 1, 3)
    ]


@pytest.mark.parametrize("warmup", [True, False])
def test_the_warm_up_is_marked_where_there_is_one(warmup: bool) -> None:
    found = scenes.sent(rate_chart(RunView.of(run_of([], warmup=warmup)), words))
    areas = [mark for mark in found.marks() if mark["id"] == "area"]
    assert len(areas) == warmup
    for area in areas:
        steps = ticks_of(found, "x")
        share = (pixels(area["x"]) + pixels(area["width"]) - steps[0]) / (steps[600] - steps[0])
        assert pixels(area["x"]) == pytest.approx(steps[0]) and share == pytest.approx(60 / 600)


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
