"""Small recorded runs with warm-up and without: their curves, and where they end by peak rate."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.claims import Claim, Verdict
from viz_model.drawing.digits import written
from viz_model.drawing.plotted import axes, curve, level
from viz_model.island.page import Plot, Words
from viz_model.topics.norm_placement.fresh import PLACES
from viz_model.topics.norm_placement.places import COLORS, NAMES, SYMBOLS
from viz_model.training import experiments
from viz_model.training.experiments import Record, Recorded


class WarmupView(NamedTuple):
    """The recorded runs, and those at one peak rate, keyed by place of the norm and whether they warm up."""

    record: Record
    rate: float
    runs: Mapping[tuple[str, bool], Recorded]

    @classmethod
    def of(cls, record: Record, rate: float) -> "WarmupView":
        """The runs with this peak rate.

        Raises:
            ValueError: there is no run with this rate.
        """
        runs: dict[tuple[str, bool], Recorded] = {
            (run.norm_at, run.warmup > 0): run for run in record.runs if run.peak_rate == rate
        }
        if not runs:
            raise ValueError(f"no run was recorded at {rate:g}")
        return cls(record, rate, runs)

    @property
    def rates(self) -> tuple[float, ...]:
        """The peak rates that were tried, rising."""
        return tuple(sorted({run.peak_rate for run in self.record.runs}))

    def sweep(self, place: str, warms: bool) -> list[Recorded]:
        """The runs of all rates, rising."""
        found = [run for run in self.record.runs if (run.norm_at, run.warmup > 0) == (place, warms)]
        return sorted(found, key=lambda run: run.peak_rate)

    def losses(self, place: str) -> tuple[float, float, float]:
        """Where the run without warm-up ends, where the one with it does, and mere frequencies."""
        bare, warm = (self.runs[place, warms].final_loss for warms in (False, True))
        return bare, warm, self.record.frequency_loss

    def learns(self, run: Recorded) -> bool:
        """Whether a run ends better than knowing the tokens' frequencies alone: by a tenth of a nat at least."""
        return run.final_loss < self.record.frequency_loss - 0.1

    def facts(self) -> dict[str, str]:
        """For prose."""
        some = next(iter(self.runs.values()))
        said = {
            "rate": written(self.rate, "g3"),
            "steps": str(some.steps[-1] + 1),
            "window": str(some.steps[0] + 1),
            "warmup": str(max(run.warmup for run in self.runs.values())),
            "layers": str(experiments.CONFIG["n_layers"]),
            "width": str(experiments.CONFIG["d_model"]),
            "frequency": f"{self.record.frequency_loss:.2f}",
        }
        for (place, warms), run in self.runs.items():
            key = f"{place}_{'with' if warms else 'without'}"
            said |= {
                key: f"{run.final_loss:.2f}",
                f"{key}_gradient": f"{run.gradient_norm[:3].max():.1f}",
                f"{key}_gradient_end": f"{run.gradient_norm[run.steps >= 0.9 * run.steps[-1]].mean():.1f}",
            }
        for place in PLACES:
            for key, warms in (("with", True), ("without", False)):
                learned = [run.peak_rate for run in self.sweep(place, warms) if self.learns(run)]
                said[f"{place}_highest_{key}"] = written(max(learned), "g3") if learned else "–"
        return said

    def table(self) -> dict[str, Sequence[object]]:
        """Every recorded run, a row each, by column."""
        runs = self.record.runs
        return {
            "norm": [NAMES[run.norm_at] for run in runs],
            "warmup": [run.warmup for run in runs],
            "peak_rate": [run.peak_rate for run in runs],
            "final_loss": [round(run.final_loss, 4) for run in runs],
            "bits_per_byte": [run.bits_per_byte for run in runs],
        }


def draw_warmup(view: WarmupView, words: Words) -> Plot:
    """The loss of the four runs by step, and that of mere frequencies."""
    figure = axes(words("step"), words("loss"), rangemode="tozero")
    for (place, warms), run in view.runs.items():
        _line(figure, run.steps + 1, run.loss, place, warms, words)
    _plateau(figure, view, words)
    return Plot("norm_placement.warmup", figure, words("warmup_alt"), view, own=False)


def draw_gradient(view: WarmupView, words: Words) -> Plot:
    """The gradient's norm of the four runs by step."""
    figure = axes(words("step"), words("all_gradient"), rangemode="tozero")
    for (place, warms), run in view.runs.items():
        _line(figure, run.steps + 1, run.gradient_norm, place, warms, words)
    return Plot("norm_placement.warmup_gradient", figure, words("warmup_gradient_alt"), view, own=False)


def draw_sweep(view: WarmupView, words: Words) -> Plot:
    """The loss that each run ends at, by its peak learning rate."""
    ends = np.log10([view.rates[0] / 1.2, view.rates[-1] * 1.2]).tolist()
    figure = axes(words("rate"), words("loss"), level={"type": "log", "range": ends}, rangemode="tozero")
    for place, warms in view.runs:
        runs = view.sweep(place, warms)
        symbol = SYMBOLS[place] if warms else f"{SYMBOLS[place]}-open"
        rates, losses = [run.peak_rate for run in runs], [run.final_loss for run in runs]
        _line(figure, rates, losses, place, warms, words, symbol)
    _plateau(figure, view, words)
    return Plot("norm_placement.sweep", figure, words("sweep_alt"), view, own=False)


def _line(
    figure: go.Figure,
    x: Sequence[float] | np.ndarray,
    y: Sequence[float] | np.ndarray,
    place: str,
    warms: bool,
    words: Words,
    symbol: str = "",
) -> None:
    """A place of the norm, full with warm-up and dotted without."""
    name = f"{NAMES[place]}, {words('with_warmup' if warms else 'without_warmup')}"
    dash = "solid" if warms else "dot"
    curve(figure, x, y, name, COLORS[place], dash=dash, symbol=symbol, written=partial(written, how="3"))


def _plateau(figure: go.Figure, view: WarmupView, words: Words) -> None:
    loss = view.record.frequency_loss
    level(figure, loss, f"{words('plateau')}: {loss:.2f}", x=0, xanchor="left", yanchor="top")


A_TENTH = 0.1
"""Nats by which a run has to end below another, or below mere frequencies, to be told apart from it."""


class Warmup(NamedTuple):
    """Where a run ends without warm-up, with it, and knowing nothing but how often each token occurs."""

    bare: float
    warm: float
    frequencies: float

    def learns(self, loss: float) -> bool:
        """Whether a run ends clearly below mere frequencies; one that broke off, at no number, does not."""
        return loss < self.frequencies - A_TENTH


WARMUP: Verdict[Warmup] = Verdict(
    "norm_placement.warmup",
    Claim("rescues", lambda run: not run.learns(run.bare) and run.learns(run.warm)),
    Claim("neither", lambda run: not run.learns(run.bare) and not run.learns(run.warm)),
    Claim("helps", lambda run: run.learns(run.bare) and run.bare - run.warm > A_TENTH),
    Claim("hurts", lambda run: run.learns(run.bare) and run.warm - run.bare > A_TENTH),
)
