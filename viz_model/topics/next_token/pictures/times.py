"""Measured times of one step, with the cache and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.drawing.writing import duration, hover
from viz_model.topics.next_token.numbers.kv_cache import Reading


class TimesView(NamedTuple):
    """Seconds of one step by length of the text, [S] each, and of all steps together, between them by interpolation."""

    lengths: np.ndarray
    drawn: np.ndarray
    cached: np.ndarray
    fresh: np.ndarray
    runs: tuple[int, int]

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> TimesView:
        runs = [reading.runs for reading in readings]
        lengths, drawn = (np.array([getattr(r, name) for r in readings]) for name in ("length", "drawn"))
        cached, fresh = (np.array([getattr(r, name) for r in readings]) for name in ("cached", "fresh"))
        return cls(lengths, drawn, cached, fresh, (min(runs), max(runs)))

    @property
    def ratio(self) -> float:
        """How many times longer the last step takes without the cache."""
        return float(self.fresh[-1] / self.cached[-1])

    def total(self, seconds: np.ndarray) -> float:
        """Seconds of all steps from the first measured one to the last."""
        every = np.arange(self.drawn[0], self.drawn[-1] + 1)
        return float(np.interp(every, self.drawn, seconds).sum())

    def facts(self) -> dict[str, str]:
        return {
            "n": f"{int(self.drawn[-1]):,}",
            "length": f"{int(self.lengths[-1]):,}",
            "first_length": f"{int(self.lengths[0]):,}",
            "cached": duration(float(self.cached[-1])),
            "fresh": duration(float(self.fresh[-1])),
            "first_cached": duration(float(self.cached[0])),
            "first_fresh": duration(float(self.fresh[0])),
            "ratio": f"{self.ratio:.1f}",
            "cached_total": duration(self.total(self.cached)),
            "fresh_total": duration(self.total(self.fresh)),
            "least": str(self.runs[0]),
            "most": str(self.runs[1]),
        }


def draw_times(view: TimesView, words: Mapping[str, str]) -> sheet.Sheet:
    """A line each way from zero upwards; ``words`` has "with_cache", "without_cache", "text_length" and "time"."""
    figure = sheet.Sheet()
    ways = {
        "without_cache": (view.fresh, Style(theme.ROLES["residual"], "dash", width=3)),
        "with_cache": (view.cached, Style(theme.ROLES["key"], width=3)),
    }
    for name, (seconds, style) in ways.items():
        pairs = zip(view.lengths, seconds, strict=True)
        hovers = [hover(("", words[name]), f"{length:,}", duration(float(time))) for length, time in pairs]
        curves.line(figure, view.lengths, 1e3 * seconds, style, name=words[name], marks=8, hover=hovers)
    top = 1.1e3 * float(max(view.cached.max(), view.fresh.max()))
    axes.across(figure, words["text_length"], grid=True, small=True, nticks=8)
    axes.upward(figure, words["time"], grid=True, small=True, range=[0, top], nticks=6)
    return theme.finished(figure, height=340, legend="above")
