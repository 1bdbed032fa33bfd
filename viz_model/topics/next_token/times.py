"""Measured times of one step, with the KV cache and without."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.digits import duration
from viz_model.drawing.scene import Scene
from viz_model.measures.kv_cache import Reading
from viz_model.texts import Texts

TIMES: Verdict[tuple[float, float]] = Verdict(
    "next_token.times", Claim("longer", lambda seconds: seconds[1] >= 1.1 * seconds[0])
)
"""Of the seconds of a step with the cache and without."""


class TimesView(NamedTuple):
    """Seconds of one step by length of the text, [S] each, and of all steps together, between them by interpolation."""

    lengths: np.ndarray
    drawn: np.ndarray
    cached: np.ndarray
    fresh: np.ndarray
    runs: tuple[int, int]

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> "TimesView":
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


def draw_times(view: TimesView, t: Texts) -> Scene:
    """A line each way from zero upwards, in milliseconds."""
    words = {
        name: t(f"kv_cache.{name}") for name in ("with_cache", "without_cache", "text_length", "time", "times_alt")
    }
    series = [
        chart.Line(words["without_cache"], 1e3 * view.fresh, "residual", "6px,4px", "square", write="g3", thick=3),
        chart.Line(words["with_cache"], 1e3 * view.cached, "key", None, "circle", write="g3", thick=3),
    ]
    lengths = view.lengths.astype(float)
    x = chart.axis(lengths, title=words["text_length"], zero=False)
    y = chart.axis(1e3 * view.cached, 1e3 * view.fresh, title=words["time"], room=0.1)
    at = [f"{int(length):,}" for length in lengths]
    return chart.lines("kv_cache.times", words["times_alt"], lengths, series, x, y, height=340, at=at)
