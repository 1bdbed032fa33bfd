"""The lens by depth: what a model would say if it stopped after each block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, sheet, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.squares import frame, squares
from viz_model.drawing.writing import hover, percent
from viz_model.topics.attribution.numbers.lens import Depths

MOST_DEPTHS, MOST_ROWS = 8, 12
FEW, LETTERS = 4, (9, 7)
"""Depths that have room for long tokens, and the letters of a token, beside so many depths and beside more."""


@brief
class LensView(NamedTuple):
    """The most probable token by position and depth: ``labels`` and ``probs`` [P, S].

    ``own`` and ``final`` [P, S] say where that is the token that stands at the position itself, and where it is
    what the model says in the end. ``selected`` is a row.
    """

    tokens: tuple[str, ...]
    positions: np.ndarray
    depths: tuple[int, ...]
    labels: tuple[tuple[str, ...], ...]
    probs: np.ndarray
    own: np.ndarray
    final: np.ndarray
    selected: int
    length: int

    @property
    def seen(self) -> Depths:
        """How many name themselves, and how many say what they say in the end."""
        own, final = (tuple(map(int, marks.sum(0))) for marks in (self.own, self.final))
        return Depths(self.depths, own, final, len(self.positions))

    def facts(self) -> dict[str, str]:
        """For prose."""
        seen = self.seen
        return {
            "own_first": str(seen.own[0]),
            "own_last": str(seen.own[-1]),
            "n": str(seen.n),
            "n_decided": str(seen.final[seen.decided]),
            "n_before": str(seen.final[-2]),
            "first": str(int(self.positions[0])),
            "last": str(int(self.positions[-1])),
            "length": str(self.length),
        }


def draw_lens(view: LensView, names: Sequence[str], words: Mapping[str, str]) -> sheet.Sheet:
    """Tokens downwards, depth to the right, in each cell the most probable token.

    It is bold where it is the final one, and in quotes where it is the one that stands there.

    ``names`` are those of the depths; ``words`` has "position", "depth" and "probability".
    """
    n_rows, n_columns = view.probs.shape
    cells = [(row, column, view.labels[row][column]) for row, column in np.ndindex(view.probs.shape)]
    hovers = [
        hover(f"{view.tokens[row]} · {names[column]}", ("", label)) + f" {percent(float(view.probs[row, column]))}"
        for row, column, label in cells
    ]
    colour_bar = {**theme.flat_bar(30 * n_rows), "tickformat": ".0%", "y": 1, "yanchor": "bottom"}
    figure = sheet.Sheet()
    squares(
        figure,
        view.probs,
        [_said(view, *cell) for cell in cells],
        hovers,
        scale="share",
        top=1.0,
        colorbar=colour_bar,
    )
    frame(figure, (view.selected, view.selected), (0, n_columns - 1))
    axes.rows(figure, view.tokens, words["position"], longest=12, edge=0.5)
    axes.columns(figure, names, words["depth"])
    return theme.finished(figure, height=110 + 30 * n_rows, margin={"t": 36})


def _said(view: LensView, row: int, column: int, label: str) -> str:
    short = theme.shorten(label, LETTERS[len(view.depths) > FEW])
    if view.final[row, column]:
        return theme.bold(short)
    return f"“{short}”" if view.own[row, column] else short
