"""Lines over the steps of a run, drawn by the browser so that they grow in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import theme

TRAIN, HELD_OUT = "#4F7BEA", "#D6246E"

Words = Callable[..., str]


class Line(NamedTuple):
    """One line of a chart: steps and values [n] each, and its look. ``dash`` is SVG's; "" is a full line."""

    name: str
    steps: np.ndarray
    values: np.ndarray
    colour: str
    dash: str = ""
    width: float = 2.0
    legend: bool = True
    marker: bool = False


class Chart(NamedTuple):
    """Lines over the steps of the whole run.

    ``low`` and ``high`` bound the axis of values, of a logarithmic one as powers of ten. ``levels`` are
    values that are marked all along, with what is said of them; ``until`` is the end of the warm-up.
    """

    lines: tuple[Line, ...]
    n_steps: int
    title: str
    steps_title: str
    alt: str
    low: float
    high: float
    log: bool = False
    height: int = 300
    levels: tuple[tuple[float, str], ...] = ()
    until: int = 0
    until_label: str = ""

    def header(self) -> dict[str, Any]:
        """What :func:`viz_model.app.components.curves` draws, apart from :meth:`numbers`."""
        return {
            "height": self.height,
            "alt": self.alt,
            "x": {
                "range": [0, self.n_steps],
                "title": self.steps_title,
                "ticks": [{"at": at, "label": f"{at:g}"} for at in ticks(0, self.n_steps)],
            },
            "y": {
                "range": [self.low, self.high],
                "title": self.title,
                "log": self.log,
                "ticks": decades(self.low, self.high)
                if self.log
                else [{"at": at, "label": f"{at:g}"} for at in ticks(self.low, self.high)],
            },
            "lines": [
                {
                    "name": line.name,
                    "colour": line.colour,
                    "dash": line.dash,
                    "width": line.width,
                    "legend": line.legend,
                    "marker": line.marker,
                    "n": len(line.steps),
                }
                for line in self.lines
            ],
            "levels": [{"y": level, "label": label} for level, label in self.levels],
            "area": {"until": self.until, "label": self.until_label} if self.until else None,
        }

    def numbers(self) -> np.ndarray:
        """Steps, then values, of one line after the other: float32."""
        parts = [part for line in self.lines for part in (line.steps, line.values)]
        return np.concatenate([np.zeros(0), *parts]).astype(np.float32)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from ``low`` to ``high``, about six of them."""
    span = (high - low) / 6 or 1.0
    power = 10.0 ** np.floor(np.log10(span))
    step = power * next(n for n in (1, 2, 5, 10) if n * power >= span * 0.999)
    return [float(f"{n * step:.6g}") for n in range(int(np.ceil(low / step)), int(np.floor(high / step + 1e-9)) + 1)]


def decades(low: float, high: float) -> list[dict[str, object]]:
    """Powers of ten between 10^low and 10^high: at most about six of them."""
    powers = range(int(np.ceil(low)), int(np.floor(high)) + 1)
    shown = powers[:: max(1, -(-len(powers) // 6))]
    return [{"at": 10.0**n, "label": theme.power_of_ten(n) if n < -1 or n > 1 else f"{10.0**n:g}"} for n in shown]
