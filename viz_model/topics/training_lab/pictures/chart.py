"""Lines over the steps of a run, which grow in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.scene import Cells, Mark, Panel, Path, Rect, Scene, Text
from viz_model.drawing.scene.writing import width_of

TRAIN, HELD_OUT = "#4F7BEA", "#D6246E"

Words: TypeAlias = Callable[..., str]

_LEFT, _RIGHT, _TOP, _BELOW, _LEGEND = 56.0, 10.0, 24.0, 40.0, 22.0
"""Pixels around the lines: for ticks, for the axis' name, and for the legend above."""
_MOST_TOLD = 160
"""Steps whose values are told one by one; of longer runs some, evenly."""


class Line(NamedTuple):
    """One line of a chart: steps and values [n] each, and its look. ``dash`` is SVG's; "" is a full line."""

    name: str
    steps: np.ndarray
    values: np.ndarray
    colour: str
    dash: str = ""
    width: float = 2.0
    legend: bool = True


def scene(
    lines: Sequence[Line],
    n_steps: int,
    words: Words,
    name: str,
    low: float,
    high: float,
    *,
    log: bool = False,
    height: int = 320,
    levels: Sequence[tuple[float, str]] = (),
    until: int = 0,
) -> Scene:
    """Lines over all ``n_steps`` of a run, whose axis and description are the words ``name_axis`` and ``name_alt``.

    ``low`` and ``high`` bound the axis of values, of a ``log`` one as powers of ten. ``levels`` are values that are
    marked all along, with what is said of them; ``until`` is the end of the warm-up.
    """
    top = _TOP + _LEGEND
    inner = height - top - _BELOW

    def across(step: float) -> tuple[float, float]:
        share = step / max(1, n_steps)
        return share, _LEFT - share * (_LEFT + _RIGHT)

    def down(value: float) -> float:
        scaled = np.log10(value) if log else value
        # A value beyond the axis ends at its edge, not in what stands above it.
        return float(top + (1 - min(1.02, max(-0.02, (scaled - low) / (high - low)))) * inner)

    end = top + inner
    marks: list[Mark] = [Text(id="axis", text=words(f"{name}_axis"), x=0, y=10, fill="muted")]
    if until:
        place = across(until)
        share, pixels = place
        marks.append(
            Rect(id="area", x=_LEFT, y=top, width=(share, pixels - _LEFT), height=inner, fill="muted", opacity=0.15)
        )
        marks.append(
            Text(id="warm-up", text=f"← {words('warmup_area')}", x=(share, pixels + 6), y=end - 10, fill="muted")
        )
    for n, tick in enumerate(decades(low, high) if log else ticks(low, high)):
        y = down(tick["at"])
        marks.append(Rect(id=f"grid.{n}", x=_LEFT, y=y, width=(1, -_LEFT - _RIGHT), height=1, fill="grid"))
        marks.append(Text(id=f"y.{n}", text=tick["label"], x=_LEFT - 7, y=y, anchor="end"))
    for n, tick in enumerate(ticks(0, n_steps)):
        marks.append(Text(id=f"x.{n}", text=tick["label"], x=across(tick["at"]), y=end + 14, anchor="middle"))
    middle = (0.5, (_LEFT - _RIGHT) / 2)
    marks.append(Text(id="steps", text=words("step_axis"), x=middle, y=height - 7, anchor="middle"))
    for n, (level, label) in enumerate(levels):
        y = down(level)
        ends = np.array([[0, _LEFT], [1, -_RIGHT]])
        marks.append(Path(id=f"level.{n}", x=ends, y=np.array([[0, y], [0, y]]), stroke="muted", dash="4 4"))
        marks.append(Text(id=f"level name.{n}", text=label, x=(1, -_RIGHT), y=y - 8, anchor="end", fill="muted"))
    marks += [*_legend(lines), *(_path(line, n, across, down) for n, line in enumerate(lines) if len(line.steps))]
    marks += _told(lines, n_steps, words("step_axis"), top, inner)
    panel = Panel(id="chart", marks=marks, height=height, min=260)
    return Scene(
        id=name, panels=[panel], title=words(f"{name}_axis"), description=words(f"{name}_alt"), words={"masked": "NaN"}
    )


def _legend(lines: Sequence[Line]) -> list[Mark]:
    marks: list[Mark] = []
    x = _LEFT
    for n, line in enumerate(line for line in lines if line.legend):
        ends = np.array([[0, x], [0, x + 24]])
        y = np.array([[0, _TOP + 8]] * 2)
        marks.append(Path(id=f"sample.{n}", x=ends, y=y, stroke=line.colour, dash=line.dash or None, thick=line.width))
        marks.append(Text(id=f"name.{n}", text=line.name, x=x + 30, y=_TOP + 8))
        x += 46 + width_of(line.name)
    return marks


def _path(line: Line, n: int, across: Callable[[float], tuple[float, float]], down: Callable[[float], float]) -> Mark:
    known = np.isfinite(line.values)
    steps, values = line.steps[known], line.values[known]
    x = np.array([across(step) for step in steps]).reshape(-1, 2)
    y = np.array([(0.0, down(value)) for value in values]).reshape(-1, 2)
    return Path(id=f"line.{n}", x=x, y=y, stroke=line.colour, dash=line.dash or None, thick=line.width)


def _told(lines: Sequence[Line], n_steps: int, axis: str, top: float, inner: float) -> list[Mark]:
    """The values of all lines step by step, for who points at them or walks along."""
    known = [line for line in lines if line.legend and len(line.steps)]
    if not known:
        return []
    first = max(known, key=lambda line: len(line.steps))
    last = float(first.steps[-1])
    shown = np.unique(np.linspace(0, len(first.steps) - 1, min(_MOST_TOLD, len(first.steps))).astype(int))
    names = []
    for step in first.steps[shown]:
        nearest = ((line, int(np.abs(line.steps - step).argmin())) for line in known)
        told = (f"{line.name} {line.values[n]:.3g}" for line, n in nearest)
        names.append(f"{axis} {step:g}: {', '.join(told)}")
    share = last / max(1, n_steps)
    width = (share, -share * (_LEFT + _RIGHT))
    values = first.values[shown]
    return [
        Cells(
            id="told",
            x=_LEFT,
            y=top,
            width=width,
            height=inner,
            values=values,
            look="blank",
            columns=names,
            name=first.name,
        )
    ]


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
