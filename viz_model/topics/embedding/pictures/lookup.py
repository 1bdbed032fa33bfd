"""The whole table as a strip, and the rows that a sentence picks from it."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import heatmap, sheet, theme
from viz_model.drawing.curves import Style, line
from viz_model.drawing.writing import letters, note
from viz_model.topics.embedding.pictures.matrix import full_from

MAX_NAMED_ROWS = 28
"""Rows of the picked matrix that are named; beyond, the names would touch."""
MAX_CELLS = 14_000
"""Cells of those rows; of wider models neighbouring dimensions share one."""
STRIP_QUANTILE = 0.97
LINES: dict[str, Any] = {"xaxis": "x2", "yaxis": "y2"}
PICKED = {"xaxis": "x3", "yaxis": "y3"}


class LookupView(NamedTuple):
    """The table and the rows that a sentence picks from it.

    ``strip`` is the table [V, D] with groups of neighbouring rows and columns averaged; ``ids``
    [N] are the picked rows and ``rows`` [N, D] their values, as they stand in the table: of all T
    tokens, or of a long text of the N around the ``selected`` one, from position ``first`` on.
    ``selected`` counts among them.
    """

    strip: np.ndarray
    n_vocab: int
    ids: np.ndarray
    rows: np.ndarray
    labels: tuple[str, ...]
    selected: int
    first: int = 0
    n_tokens: int = 0

    @property
    def strip_top(self) -> float:
        """Where the strip's colours are full: a few rows of bytes that no text holds dwarf all others."""
        return float(np.quantile(np.abs(self.strip), STRIP_QUANTILE)) or 1.0

    @property
    def group(self) -> tuple[int, int]:
        """How many rows and columns of the table one cell of the strip averages, at the most."""
        return -(-self.n_vocab // self.strip.shape[0]), -(-self.rows.shape[1] // self.strip.shape[1])


def draw_lookup(view: LookupView, words: Mapping[str, str]) -> sheet.Sheet:
    """The whole table as a strip, and a line from every picked row to its place in the matrix.

    ``words`` holds the headings ``table`` and ``rows``, and for the hover text ``row``,
    ``token``, ``dimension`` and ``mean``.
    """
    length = len(view.rows)
    named = length <= MAX_NAMED_ROWS
    height = 400 if named else 560
    # Rows of a short text stay as flat as those of a longer one, in the middle of the picture.
    half = min(0.5, 18 * length / height)
    pool = heatmap.Pool(1, -(-view.rows.size // MAX_CELLS))
    figure = sheet.Sheet()
    _draw_table(figure, view, words)
    _draw_rows(figure, view, words, pool, gap=2 if named else 0)
    _draw_lines(figure, view, words, half, named)
    edge = {"color": theme.rgba(theme.ROLES["token"], 0.6), "width": 1}
    figure.add_shape(type="rect", xref="x domain", yref="y domain", x0=0, x1=1, y0=0, y1=1, line=edge)
    meta: dict[str, object] = {}
    if length < view.n_tokens:
        meta["part"] = {"first": view.first, "last": view.first + length - 1, "n": view.n_tokens}
    if pool.columns > 1:
        meta["pool"] = pool._asdict()
    figure.update_layout(meta=meta or None)
    for side, anchor, text in ((0.0, "left", "table"), (1.0, "right", "rows")):
        place: dict[str, Any] = {"xref": "paper", "yref": "paper", "xanchor": anchor, "yanchor": "bottom"}
        note(figure, words[text], side, 1.0, colour=theme.INK, **place)
    ends = [0, view.n_vocab - 1]
    figure.update_layout(
        xaxis={"domain": [0.0, 0.11], "visible": False},
        yaxis={
            "range": [view.n_vocab - 0.5, -0.5],
            "tickvals": ends,
            "ticktext": [str(end) for end in ends],
            "ticklabeloverflow": "allow",
            "tickfont": {"size": theme.SMALL},
        },
        xaxis2={"domain": [0.11, 0.56], "range": [0, 1], "visible": False},
        yaxis2={"range": [1, 0], "anchor": "x2", "visible": False},
        xaxis3={"domain": [0.56, 1.0], "visible": False},
        yaxis3={
            "type": "category",
            "domain": [0.5 - half, 0.5 + half],
            "range": [length - 0.5, -0.5],
            "anchor": "x3",
            "visible": False,
        },
    )
    return theme.finished(figure, height=height, margin={"t": 40})


def _draw_table(figure: sheet.Sheet, view: LookupView, words: Mapping[str, str]) -> None:
    step = view.n_vocab / len(view.strip)
    told = f"{theme.plain(words['row'])} ≈ %{{y:.0f}}<br>{theme.plain(words['mean'])} <b>%{{z:.4f}}</b>"
    trace = sheet.heatmap(
        z=view.strip,
        y=(np.arange(len(view.strip)) + 0.5) * step - 0.5,
        hovertemplate=f"{told}<extra>E</extra>",
        **theme.about_zero(view.strip_top),
    )
    figure.add_trace(trace)


def _draw_rows(figure: sheet.Sheet, view: LookupView, words: Mapping[str, str], pool: heatmap.Pool, gap: int) -> None:
    width, top = view.rows.shape[1], full_from(view.rows)
    told = f"{theme.plain(words['token'])} %{{y}}<br>{theme.plain(words['dimension'])} %{{x}}"
    trace = sheet.heatmap(
        z=heatmap.extremes(view.rows, pool).astype(np.float32),
        x=np.arange(0, width, pool.columns),
        y=[f"{view.first + n}: {theme.plain(label)}" for n, label in enumerate(view.labels)],
        ygap=gap,
        hovertemplate=f"<b>%{{z:.4f}}</b><br>{told}<extra>E</extra>",
        **theme.about_zero(top),
        **PICKED,
    )
    figure.add_trace(trace)
    line = {"color": theme.token_colour(view.first + view.selected), "width": 2}
    corners = {"x0": -0.5, "x1": width - 0.5, "y0": view.selected - 0.5, "y1": view.selected + 0.5}
    figure.add_shape(type="rect", xref="x3", yref="y3", **corners, line=line)


def _draw_lines(figure: sheet.Sheet, view: LookupView, words: Mapping[str, str], half: float, named: bool) -> None:
    """From the table to the rows; those of one colour are one trace, as a trace each would be slow for long texts."""
    length = len(view.rows)
    names = [theme.shorten(label, 10) for label in view.labels]
    end = 0.94 - 0.055 * min(max(map(columns, names)), 11) if named else 1.0
    lines: dict[tuple[bool, str], list[int]] = {}
    for position in range(length):
        colour = theme.token_colour(view.first + position)
        lines.setdefault((position == view.selected, colour), []).append(position)
    for (chosen, colour), positions in sorted(lines.items()):
        x, y, ids = _curves(view, positions, end, half)
        line(
            figure,
            x,
            y,
            Style(colour, width=3 if chosen else 1.2),
            opacity=1.0 if chosen else 0.75 if named else 0.35,
            customdata=ids,
            hover=f"{theme.plain(words['row'])} %{{customdata}}",
            **LINES,
        )
    if named:
        y = 0.5 - half + (np.arange(length) + 0.5) / length * 2 * half
        look: dict[str, Any] = {
            "size": theme.FONT_SIZE,
            "family": "monospace",
            "textposition": "middle right",
            "cliponaxis": False,
        }
        letters(figure, [end + 0.02] * length, y, names, **look, **LINES)


def _curves(view: LookupView, positions: Sequence[int], end: float, half: float) -> tuple[np.ndarray, ...]:
    """x, y and id of S-shaped lines from table rows to matrix rows, with a gap (NaN) after each."""
    along = np.append(np.linspace(0.0, 1.0, 14), np.nan)
    bend = along * along * (3 - 2 * along)
    places = np.array(positions)
    start = (view.ids[places, None] + 0.5) / view.n_vocab
    stop = 0.5 - half + (places[:, None] + 0.5) / len(view.ids) * 2 * half
    y = start + (stop - start) * bend
    return np.tile(along * end, len(places)), y.ravel(), np.repeat(view.ids[places], len(along))


def columns(label: str) -> int:
    """How wide a label is, in letters: a Chinese one takes two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in label)
