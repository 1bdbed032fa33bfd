"""Pre-LN and Post-LN as an experiment: fresh models of many depths, and small runs with and without warm-up.

Colours, marks and names are those of :mod:`viz_model.topics.norm_placement.pictures.look`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.topics.block.numbers.depth import PLACES, THEORY, DepthGradients, Fit, Place, power_law
from viz_model.topics.norm_placement.pictures.look import COLOURS, NAMES, SYMBOLS, finish, ratio
from viz_model.training import experiments
from viz_model.training.experiments import Record, Recorded

DASHES = {True: "solid", False: "dot"}
"""With warm-up, and without."""


# Before the first step


class StartView(NamedTuple):
    """Gradients of fresh models by depth, with the power laws fitted to them.

    Attributes:
        found: what was measured.
        fits: of the last block's gradient on depth, by place.
        by_length: of Pre-LN's last gradient on the length of the stream that its final norm reads.
        expected: the exponent of one over that length on depth.
        start, gain: the mean square of that stream is about ``start`` + ``gain`` · L, by least squares.
    """

    found: DepthGradients
    fits: Mapping[Place, Fit]
    by_length: Fit
    expected: Fit
    start: float
    gain: float

    @classmethod
    def of(cls, found: DepthGradients) -> StartView:
        lengths = found.lengths["pre"]
        gain, start = np.polyfit(found.depths, (lengths**2).mean(1), 1)
        return cls(
            found=found,
            fits={place: power_law(found.depths, found.last[place]) for place in PLACES},
            by_length=power_law(lengths.mean(1), found.last["pre"]),
            expected=power_law(found.depths, 1 / lengths),
            start=float(start),
            gain=float(gain),
        )

    def facts(self) -> dict[str, str]:
        """For prose. Errors are two standard errors."""
        said = {
            "shallowest": str(self.found.depths.min()),
            "deepest": str(self.found.depths.max()),
            "models": str(len(PLACES) * self.found.last["pre"].size),
            "seeds": str(self.found.last["pre"].shape[1]),
            "tokens": str(self.found.n_tokens),
            "length_exponent": _number(self.by_length.exponent),
            "length_error": f"{2 * self.by_length.error:.2f}",
            "expected": _number(self.expected.exponent),
            "start": f"{self.start:.1f}",
            "gain": f"{self.gain:.2f}",
        }
        for place, fit in self.fits.items():
            last, blocks = _middle(self.found.last[place]), _middle(self.found.by_block[place])
            said |= {
                f"{place}_exponent": _number(fit.exponent),
                f"{place}_error": f"{2 * fit.error:.2f}",
                f"{place}_theory": _number(THEORY[place], 1) if THEORY[place] else "0",
                f"{place}_change": ratio(float(last[-1] / last[0])),
                f"{place}_blocks": ratio(float(blocks[0] / blocks[-1])),
                f"{place}_verdict_word": f"start_{self.verdict(place)}",
            }
        return said

    def verdict(self, place: Place) -> str:
        """Whether theory's exponent lies within two standard errors of the fit: "agrees" or "differs"."""
        fit = self.fits[place]
        return "agrees" if abs(fit.exponent - THEORY[place]) <= 2 * fit.error else "differs"

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows of :meth:`table`."""
        return tuple(f"L = {depth}" for depth in self.found.depths)

    def table(self) -> np.ndarray:
        """[N, 2 S]: the last block's gradient of every model, first of Pre-LN."""
        return np.concatenate([self.found.last[place] for place in PLACES], axis=1)


def draw_start(view: StartView, depth: str, axis: str, theory: str) -> go.Figure:
    """The last block's gradient by depth on logarithmic scales: marks from least to largest, fit and theory."""
    figure, depths = sheet.Sheet(), view.found.depths
    line = np.array([depths.min(), depths.max()], dtype=float)
    for place in PLACES:
        values, fit, colour = view.found.last[place], view.fits[place], COLOURS[place]
        middle = _middle(values)
        name = f"{NAMES[place]}: {_number(fit.exponent)} ± {2 * fit.error:.2f}"
        figure.add_trace(
            sheet.scatter(
                x=depths,
                y=middle,
                error_y={
                    "array": values.max(1) - middle,
                    "arrayminus": middle - values.min(1),
                    "thickness": 1.2,
                    "width": 3,
                },
                mode="markers",
                name=NAMES[place],
                showlegend=False,
                marker={"color": colour, "symbol": SYMBOLS[place], "size": 9},
                hovertemplate=f"L = %{{x}}<br><b>%{{y:.4f}}</b><extra>{NAMES[place]}</extra>",
            )
        )
        figure.add_trace(_law(line, fit.at(line), name, colour, "solid"))
        # Through the middle of the measurements, as theory gives no factor.
        centre = float(np.exp(np.log(middle).mean() - THEORY[place] * np.log(depths).mean()))
        named = f"{theme.plain(theory)}: {_number(THEORY[place], 1) if THEORY[place] else '0'}"
        figure.add_trace(_law(line, centre * line ** THEORY[place], named, colour, "dot"))
    figure.update_xaxes(
        type="log",
        title=theme.plain(depth),
        tickvals=depths,
        ticktext=[str(n) for n in depths],
        range=_room(line, 0.06),
    )
    everything = np.concatenate([view.found.last[place].ravel() for place in PLACES])
    figure.update_yaxes(
        type="log", title=theme.plain(axis), range=_room(everything, 0.08), **theme.log_ticks(everything)
    )
    finish(figure, 360)
    figure.update_layout(legend={"entrywidth": 0.48, "entrywidthmode": "fraction"})
    return figure.drawn()


def _law(x: np.ndarray, y: np.ndarray, name: str, colour: str, dash: str) -> sheet.Trace:
    line = {"color": colour, "dash": dash, "width": 2 if dash == "solid" else 1.5}
    return sheet.scatter(x=x, y=y, mode="lines", name=name, line=line, hoverinfo="skip")


def draw_by_block(view: StartView, block: str, axis: str) -> go.Figure:
    """The gradient of every block of the deepest models, in a band from the least seed to the largest."""
    figure = sheet.Sheet()
    for place in PLACES:
        values, colour = view.found.by_block[place], COLOURS[place]
        blocks = np.arange(len(values))
        figure.add_trace(
            sheet.scatter(
                x=np.concatenate([blocks, blocks[::-1]]),
                y=np.concatenate([values.max(1), values.min(1)[::-1]]),
                fill="toself",
                fillcolor=theme.rgba(colour, 0.14),
                line={"width": 0},
                hoverinfo="skip",
                showlegend=False,
            )
        )
        figure.add_trace(
            sheet.scatter(
                x=blocks,
                y=_middle(values),
                name=NAMES[place],
                mode="lines+markers",
                line={"color": colour, "width": 2},
                marker={"symbol": SYMBOLS[place], "size": 6},
                hovertemplate=f"{theme.plain(block)} %{{x}}<br><b>%{{y:.4f}}</b><extra>{NAMES[place]}</extra>",
            )
        )
    figure.update_xaxes(title=theme.plain(block), nticks=8)
    figure.update_yaxes(title=theme.plain(axis), rangemode="tozero")
    return finish(figure, 360).drawn()


# With and without warm-up


class WarmupView(NamedTuple):
    """The recorded runs, and those at one peak rate, keyed by place of the norm and whether they warm up."""

    record: Record
    rate: float
    runs: Mapping[tuple[str, bool], Recorded]

    @classmethod
    def of(cls, record: Record, rate: float) -> WarmupView:
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

    def sweep(self, place: str, warms: bool) -> np.ndarray:
        """The loss that the runs end at, by rate; NaN where a run broke off."""
        found = {r.peak_rate: r.final_loss for r in self.record.runs if (r.norm_at, r.warmup > 0) == (place, warms)}
        return np.array([found[rate] for rate in self.rates])

    def learns(self, run: Recorded) -> bool:
        """Whether a run ends better than knowing the tokens' frequencies alone: by a tenth of a nat at least."""
        return run.final_loss < self.record.frequency_loss - 0.1

    def facts(self) -> dict[str, str]:
        """For prose. The values of keys in ``_word`` name a text."""
        some = next(iter(self.runs.values()))
        said = {
            "rate": f"{self.rate:g}",
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
            said |= {
                f"{place}_warmup_word": self._verdict(place),
                f"{place}_highest_with": self._highest(place, True),
                f"{place}_highest_without": self._highest(place, False),
            }
        return said

    def _verdict(self, place: str) -> str:
        """What warm-up does to a place of the norm at this rate: the key of a text."""
        bare, warm = self.runs[place, False], self.runs[place, True]
        if not self.learns(bare):
            return "warmup_rescues" if self.learns(warm) else "warmup_neither"
        gain = bare.final_loss - warm.final_loss
        return "warmup_helps" if gain > 0.1 else "warmup_hurts" if gain < -0.1 else "warmup_same"

    def _highest(self, place: str, warms: bool) -> str:
        """The highest rate at which the runs still learn, or a dash."""
        found = [r for r in self.record.runs if (r.norm_at, r.warmup > 0) == (place, warms) and self.learns(r)]
        return f"{max(run.peak_rate for run in found):g}" if found else "–"

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


def draw_warmup(
    view: WarmupView, quantity: str, names: Mapping[bool, str], step: str, axis: str, plateau: str
) -> go.Figure:
    """``quantity``, "loss" or "gradient_norm", of the four runs by step.

    With the loss stands that of mere frequencies, as a line called ``plateau``.
    """
    figure = sheet.Sheet()
    for (place, warms), run in view.runs.items():
        name = f"{NAMES[place]}, {theme.plain(names[warms])}"
        figure.add_trace(
            sheet.scatter(
                x=run.steps + 1,
                y=getattr(run, quantity),
                name=name,
                line={"color": COLOURS[place], "width": 2, "dash": DASHES[warms]},
                hovertemplate=f"%{{x}}<br><b>%{{y:.3f}}</b><extra>{name}</extra>",
            )
        )
    if quantity == "loss":
        steps = np.concatenate([run.steps for run in view.runs.values()]) + 1
        _plateau(figure, steps, view.record.frequency_loss, plateau)
    figure.update_xaxes(title=theme.plain(step), nticks=7)
    figure.update_yaxes(title=theme.plain(axis), rangemode="tozero")
    finish(figure, 360)
    figure.update_layout(legend={"entrywidth": 0.48, "entrywidthmode": "fraction"})
    return figure.drawn()


def draw_sweep(view: WarmupView, names: Mapping[bool, str], rate: str, axis: str, plateau: str) -> go.Figure:
    """The loss that each run ends at, by its peak learning rate."""
    figure = sheet.Sheet()
    for place, warms in view.runs:
        name = f"{NAMES[place]}, {theme.plain(names[warms])}"
        figure.add_trace(
            sheet.scatter(
                x=view.rates,
                y=view.sweep(place, warms),
                name=name,
                mode="lines+markers",
                line={"color": COLOURS[place], "width": 2, "dash": DASHES[warms]},
                marker={"symbol": SYMBOLS[place] + ("" if warms else "-open"), "size": 9},
                hovertemplate=f"%{{x}}<br><b>%{{y:.3f}}</b><extra>{name}</extra>",
            )
        )
    rates = np.array(view.rates)
    _plateau(figure, rates, view.record.frequency_loss, plateau)
    figure.update_xaxes(
        type="log",
        title=theme.plain(rate),
        tickvals=rates,
        ticktext=[f"{found:g}" for found in rates],
        range=_room(rates, 0.08),
    )
    figure.update_yaxes(title=theme.plain(axis), rangemode="tozero")
    finish(figure, 360)
    figure.update_layout(legend={"entrywidth": 0.48, "entrywidthmode": "fraction"})
    return figure.drawn()


def _plateau(figure: sheet.Sheet, x: np.ndarray, loss: float, name: str) -> None:
    line = {"color": theme.ROLES["residual"], "width": 1.5, "dash": "dash"}
    ends, said = [x.min(), x.max()], f"{theme.plain(name)}: {loss:.2f}"
    figure.add_trace(sheet.scatter(x=ends, y=[loss, loss], mode="lines", name=said, line=line, hoverinfo="skip"))


def _middle(values: np.ndarray) -> np.ndarray:
    """The geometric mean over the seeds: [N, S] -> [N]."""
    return np.asarray(np.exp(np.log(values).mean(1)))


def _room(values: np.ndarray, share: float) -> list[float]:
    """The range of a logarithmic axis with room on both sides."""
    low, high = np.log10(values.min()), np.log10(values.max())
    return [low - share * (high - low or 1.0), high + share * (high - low or 1.0)]


def _number(value: float, digits: int = 2) -> str:
    """With a real minus."""
    return f"{value:.{digits}f}".replace("-", "−")
