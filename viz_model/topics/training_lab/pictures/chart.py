"""Lines over the steps of a run, drawn by the browser so that they grow in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from viz_model.drawing import theme

TRAIN, HELD_OUT = "#4F7BEA", "#D6246E"

Words: TypeAlias = Callable[..., str]
Scene: TypeAlias = tuple[dict[str, Any], np.ndarray]
"""What :func:`viz_model.app.components.curves` draws: a header, and steps and values of one line after the other."""


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


def scene(
    lines: Sequence[Line],
    n_steps: int,
    words: Words,
    name: str,
    low: float,
    high: float,
    *,
    log: bool = False,
    height: int = 300,
    levels: Sequence[tuple[float, str]] = (),
    until: int = 0,
) -> Scene:
    """Lines over all ``n_steps`` of a run, whose axis and description are the words ``name_axis`` and ``name_alt``.

    ``low`` and ``high`` bound the axis of values, of a ``log`` one as powers of ten. ``levels`` are values that are
    marked all along, with what is said of them; ``until`` is the end of the warm-up.
    """
    marks = decades(low, high) if log else ticks(low, high)
    header = {
        "height": height,
        "alt": words(f"{name}_alt"),
        "x": {"range": [0, n_steps], "title": words("step_axis"), "ticks": ticks(0, n_steps)},
        "y": {"range": [low, high], "title": words(f"{name}_axis"), "log": log, "ticks": marks},
        "lines": [_look(line) for line in lines],
        "levels": [{"y": level, "label": label} for level, label in levels],
        "area": {"until": until, "label": words("warmup_area")} if until else None,
    }
    parts = [part for line in lines for part in (line.steps, line.values)]
    return header, np.concatenate([np.zeros(0), *parts]).astype(np.float32)


def _look(line: Line) -> dict[str, Any]:
    look = line._asdict()
    del look["steps"], look["values"]
    return {**look, "n": len(line.steps)}


def ticks(low: float, high: float) -> list[dict[str, Any]]:
    """Round numbers from ``low`` to ``high``, about six of them."""
    span = (high - low) / 6 or 1.0
    power = 10.0 ** np.floor(np.log10(span))
    step = power * next(n for n in (1, 2, 5, 10) if n * power >= span * 0.999)
    numbers = range(int(np.ceil(low / step)), int(np.floor(high / step + 1e-9)) + 1)
    return [{"at": float(f"{n * step:.6g}"), "label": f"{n * step:.6g}"} for n in numbers]


def decades(low: float, high: float) -> list[dict[str, Any]]:
    """Powers of ten between 10^low and 10^high: at most about six of them."""
    powers = range(int(np.ceil(low)), int(np.floor(high)) + 1)
    shown = powers[:: max(1, -(-len(powers) // 6))]
    return [{"at": 10.0**n, "label": theme.power_of_ten(n) if n < -1 or n > 1 else f"{10.0**n:g}"} for n in shown]
