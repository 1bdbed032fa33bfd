"""What every head and feed-forward layer adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, sheet, theme
from viz_model.drawing.squares import frame, squares
from viz_model.drawing.writing import hover, signed

WRITTEN_CELLS = 12
"""Rows up to which a cell of the grid has its number in it."""
NAMED_COLUMNS = 10


class GridView(NamedTuple):
    """Every head and feed-forward layer: ``values`` [L, C], ``columns`` the part's attention and head, or "ffn"."""

    values: np.ndarray
    columns: tuple[tuple[str, int | None], ...]


def draw_grid(view: GridView, words: Mapping[str, str], chosen: tuple[int, str, int | None] | None) -> sheet.Sheet:
    """Layers downwards, heads to the right, the feed-forward layer last.

    ``words`` has "layer", "head", "cross" and "ffn"; ``chosen`` is the layer, attention and head that is looked at.
    A click on a cell selects its point, whose ``customdata`` are layer, attention and head.
    """
    n_layers, n_columns = view.values.shape
    few = n_layers <= WRITTEN_CELLS
    cells = [
        (layer, at, head, value)
        for layer, row in enumerate(view.values)
        for (at, head), value in zip(view.columns, row, strict=True)
    ]
    figure = sheet.Sheet()
    squares(
        figure,
        view.values,
        [_short(value) for *_, value in cells] if few and n_columns <= NAMED_COLUMNS else None,
        [hover(_name(layer, at, head, words), ("", signed(value))) for layer, at, head, value in cells],
        clicks=[[layer, at, head] for layer, at, head, _ in cells],
        gap=2 if few else 1,
        size=24 if few else 12,
    )
    if chosen is not None and chosen[1:] in view.columns:
        column = view.columns.index((chosen[1], chosen[2]))
        frame(figure, (chosen[0], chosen[0]), (column, column))
    step = axes.every(n_layers, WRITTEN_CELLS)
    layers = range(0, n_layers, step)
    axes.rows(figure, [str(layer) for layer in layers], words["layer"], places=layers, range=[n_layers - 0.5, -0.5])
    named = _named(view.columns)
    short = [_column(*view.columns[n], words) for n in named]
    axes.columns(figure, short, words["head"], places=named, tickangle=0)
    return theme.finished(figure, height=70 + min(380, max(150, 34 * n_layers)))


def _short(value: float) -> str:
    return f"{value:.1f}".replace("-0.0", "0.0").replace("-", "−")


def _name(layer: int, at: str, head: int | None, words: Mapping[str, str]) -> str:
    """A cell, for its hover text."""
    kind = {"attn": words["head"], "cross": words["cross"], "ffn": words["ffn"]}[at]
    return f"{words['layer']} {layer} · {kind}{'' if head is None else f' {head}'}"


def _column(at: str, head: int | None, words: Mapping[str, str]) -> str:
    return words["ffn"] if at == "ffn" else f"×{head}" if at == "cross" else str(head)


def _named(columns: tuple[tuple[str, int | None], ...]) -> list[int]:
    """The columns that have room for their names."""
    apart, last = axes.every(len(columns), NAMED_COLUMNS), len(columns) - 1
    named = [n for n, (_, head) in enumerate(columns) if head is None or head % apart == 0]
    # The feed-forward layer's name is wide.
    return [n for n in named if n == last or n <= last - apart] if apart > 1 else named
