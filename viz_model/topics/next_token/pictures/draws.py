"""Where every drawn number fell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, curves, sheet, theme
from viz_model.drawing.chips import chip
from viz_model.drawing.writing import hover, percent
from viz_model.runs.generation import Step

ROWS_DRAWN = 12

WRITTEN_FROM = 0.07
"""The share of the bar from which on a token's label is written into its interval."""


class DrawsView(NamedTuple):
    """Some draws one after the other, beginning with draw ``first`` (the very first one is 1).

    ``position`` is where the first of them stands in the text, ``picked`` the index of one among them.
    """

    steps: tuple[Step, ...]
    first: int
    position: int
    picked: int

    @classmethod
    def of(cls, steps: Sequence[Step], picked: int, n_before: int) -> DrawsView:
        """At most :data:`ROWS_DRAWN` of the ``steps`` after ``n_before`` tokens, with ``picked`` among them."""
        start = max(0, min(picked - ROWS_DRAWN // 2, len(steps) - ROWS_DRAWN))
        return cls(tuple(steps[start : start + ROWS_DRAWN]), start + 1, n_before + start, picked - start)


def chips(steps: Sequence[Step], start: int, *, greedy: bool = False) -> list[dict[str, object]]:
    """The drawn tokens for the ribbon over their probabilities, or what greedy decoding would have taken there."""
    taken = (step.leaders[0] if greedy else (step.token, step.final_probability) for step in steps)
    return [chip(token, start + n, percent(p)) for n, (token, p) in enumerate(taken)]


def draw_columns(steps: Sequence[Step]) -> dict[str, list[object]]:
    """The rows of a table, by column."""
    return {
        "draw": list(range(1, len(steps) + 1)),
        "number": [step.drawn for step in steps],
        "start": [step.start for step in steps],
        "stop": [step.stop for step in steps],
        "token": [step.token.label for step in steps],
        "rank": [step.rank + 1 for step in steps],
        "before": [step.probability for step in steps],
        "after": [step.final_probability for step in steps],
        "greedy": [step.leaders[0][0].label for step in steps],
        "greedy_p": [step.leaders[0][1] for step in steps],
    }


def draw_facts(steps: Sequence[Step], picked: int) -> dict[str, str]:
    """For prose: one draw, with as many digits as tell its number from the ends of its interval."""
    step = steps[picked]
    digits = int(np.clip(np.ceil(-np.log10(max(step.stop - step.start, 1e-12))) + 2, 4, 12))
    return {
        "draw": str(picked + 1),
        "number": f"{step.drawn:.{digits}f}",
        "start": f"{step.start:.{digits}f}",
        "stop": f"{step.stop:.{digits}f}",
        "p": percent(step.final_probability),
        "rank": f"{step.rank + 1:,}",
        "greedy_p": percent(step.leaders[0][1]),
        "n": str(len(steps)),
        "n_greedy": str(sum(step.rank == 0 for step in steps)),
    }


class _Interval(NamedTuple):
    """A part of the bar of one draw, with its colour, what is written in it, and what is told of it."""

    row: int
    start: float
    share: float
    fill: str
    label: str
    hover_text: str


def draw_draws(view: DrawsView, names: Mapping[str, str]) -> sheet.Sheet:
    """A bar from 0 to 1 a draw: the tokens' intervals side by side, the drawn number as a mark, what it hit in colour.

    ``names`` holds "number", "interval", "rest" and "axis".
    """
    figure = sheet.Sheet()
    around = [part for row, step in enumerate(view.steps) for part in _leaders(row, step, names["rest"])]
    outline = {"color": theme.rgba(theme.ROLES["token"], 0.5), "width": 0.5}
    _draw(figure, around, {"color": [part.fill for part in around], "line": outline}, theme.SMALL)
    colours = [theme.token_colour(view.position + n) for n in range(len(view.steps))]
    hit = [_hit(row, step, colours[row], names) for row, step in enumerate(view.steps)]
    _draw(figure, hit, {"color": [part.fill for part in hit], "line": {"color": colours, "width": 2}}, theme.SMALL)
    numbers, ring = [step.drawn for step in view.steps], {"color": theme.INK, "width": 2.5}
    curves.points(figure, numbers, list(range(len(numbers))), theme.INK, size=22, symbol="line-ns", ring=ring)
    ticks = [f"#{view.first + n}  {theme.shorten(step.token.label, 10)}" for n, step in enumerate(view.steps)]
    ticks[view.picked] = theme.bold(ticks[view.picked])
    axes.rows(figure, ticks, edge=0.5, ticktext=ticks)
    axes.across(figure, names["axis"], small=True, range=[0, 1], dtick=0.25, ticks="outside")
    figure.update_layout(barmode="overlay")
    return theme.finished(figure, height=64 + 32 * len(ticks), margin={"r": 16})


def _leaders(row: int, step: Step, rest: str) -> list[_Interval]:
    """The most probable tokens side by side, and all others as one."""
    found, edge = [], 0.0
    for n, (token, share) in enumerate(step.leaders):
        hover_text = hover(("", token.label), percent(share), f"{edge:.4f} – {edge + share:.4f}")
        label = _label(token.label, share) if step.rank != n else ""
        found.append(
            _Interval(row, edge, share, theme.rgba(theme.ROLES["output"], 0.16 if n % 2 else 0.28), label, hover_text)
        )
        edge += share
    if edge < 1 - 1e-6:
        hover_text = hover(f"{rest} {percent(1 - edge)}", f"{edge:.4f} – 1")
        found.append(_Interval(row, edge, 1 - edge, theme.rgba(theme.ROLES["token"], 0.14), "", hover_text))
    return found


def _hit(row: int, step: Step, colour: str, names: Mapping[str, str]) -> _Interval:
    """The interval that the number fell into."""
    share, label = step.stop - step.start, step.token.label
    interval = f"{names['interval']} {step.start:.6f} – {step.stop:.6f}"
    hover_text = hover(("", label), percent(step.final_probability), f"{names['number']} {step.drawn:.6f}", interval)
    return _Interval(row, step.start, share, theme.rgba(colour, 0.55), _label(label, share), hover_text)


def _label(label: str, share: float) -> str:
    return theme.shorten(label, max(3, int(90 * share))) if share >= WRITTEN_FROM else ""


def _draw(figure: sheet.Sheet, parts: Sequence[_Interval], fill: Mapping[str, object], size: int) -> None:
    bars.across(
        figure,
        [part.share for part in parts],
        fill,
        rows=[part.row for part in parts],
        width=0.62,
        base=[part.start for part in parts],
        inside=[part.label for part in parts],
        textfont={"size": size, "color": theme.INK},
        constraintext="none",
        hover=[part.hover_text for part in parts],
    )
