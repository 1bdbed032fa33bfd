"""Tables of a batch, a cell for each position: ids with their padding and the mask under them, and losses."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, sheet, theme
from viz_model.drawing.squares import squares
from viz_model.drawing.writing import hover, note

ROW_HEIGHT = 32
LONGEST = 7
"""Letters of a token in its cell."""
WRITTEN = 0.35
"""How strongly a cell with a token is coloured: what is written on it can be read on both pages."""


class TableView(NamedTuple):
    """Cells [B, T] of one table.

    Attributes:
        heading: written over it.
        rows: B names.
        texts: what stands in the cells, [B][T], as it is to be read.
        strength: [B, T] the depth of colour, from 0 to 1; NaN is grey: nobody wrote what stands there.
    """

    heading: str
    rows: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    strength: np.ndarray


def ids_view(
    heading: str, rows: Sequence[str], ids: np.ndarray, padding: np.ndarray, labels: Sequence[Sequence[str]]
) -> TableView:
    """Ids [B, T] under the tokens that they stand for; ``labels`` are a row's own, without padding."""
    texts = tuple(
        tuple(f"{theme.shorten(names[n], LONGEST)}<br>{id}" if n < len(names) else str(id) for n, id in enumerate(line))
        for line, names in zip(ids.tolist(), labels, strict=True)
    )
    return TableView(heading, tuple(rows), texts, np.where(padding, np.nan, WRITTEN))


def mask_view(heading: str, rows: Sequence[str], padding: np.ndarray) -> TableView:
    """1 where a row has a token, 0 where it is filled up, [B, T]."""
    texts = tuple(tuple("0" if each else "1" for each in line) for line in padding)
    return TableView(heading, tuple(rows), texts, np.where(padding, np.nan, WRITTEN))


def loss_view(heading: str, rows: Sequence[str], losses: np.ndarray, ignored: str) -> TableView:
    """Losses [B, T] in nats; NaN is a position of which nothing is asked."""
    texts = tuple(tuple(ignored if np.isnan(each) else f"{each:.2f}" for each in line) for line in losses)
    top = np.nanmax(losses, initial=0.0) or 1.0
    return TableView(heading, tuple(rows), texts, losses / top)


def draw_tables(views: Sequence[TableView], *, positions: str) -> sheet.Sheet:
    """Tables of the same columns below each other, each under its heading; ``positions`` names the columns."""
    figure = sheet.Sheet()
    n_columns = views[0].strength.shape[1]
    starts = np.cumsum([0, *(len(view.rows) + 1 for view in views)])
    gap = np.zeros((1, n_columns))
    values = np.concatenate([part for view in views for part in (view.strength, gap)])[:-1]
    texts = [text for view in views for line in (*view.texts, ("",) * n_columns) for text in line]
    hovers = [hover(html.unescape(text.replace("<br>", " "))) for text in texts]  # which come escaped
    _grey(figure, views, starts)
    squares(figure, values, texts[: values.size], hovers[: values.size], scale="share", top=1)
    names = [name for view in views for name in (*view.rows, "")][:-1]
    axes.rows(figure, names, longest=18)
    axes.columns(figure, [str(n) for n in range(n_columns)], positions, tickangle=0)
    for view, start in zip(views, starts, strict=False):
        note(figure, view.heading, 0, start - 0.5, bold=True, xanchor="left", yanchor="bottom", xref="x domain")
    figure.update_yaxes(range=[len(values) - 0.4, -1.2])
    return theme.finished(figure, height=70 + ROW_HEIGHT * (len(values) + 1))


def _grey(figure: sheet.Sheet, views: Sequence[TableView], starts: np.ndarray) -> None:
    """The cells that nobody wrote, behind what stands in them."""
    for view, start in zip(views, starts, strict=False):
        empty = np.where(np.isnan(view.strength), 1.0, np.nan).astype(np.float32)
        grey = [[0, theme.MASKED], [1, theme.MASKED]]
        rows = np.arange(start, start + len(empty))
        look = {"xgap": 2, "ygap": 2, "showscale": False, "hoverinfo": "skip", "hoverongaps": False}
        figure.add_trace(sheet.heatmap(z=empty, y=rows, colorscale=grey, **look))
