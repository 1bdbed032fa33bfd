"""The vectors of a batch, framed by what each norm takes its mean over, and one vector beside two neighbourhoods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import axes, sheet, theme
from viz_model.drawing.squares import frame
from viz_model.drawing.strips import Strip, StripsView, top_of
from viz_model.drawing.writing import note

MOST_FEATURES = 14
"""Features of each vector that are drawn, the framed one among them."""
MOST_DIMENSIONS = 64
"""Numbers of a vector in its strip."""
LAYER, BATCH = theme.ROLES["norm"], theme.HIGHLIGHT


class VectorsView(NamedTuple):
    """The vectors of sentences side by side.

    Attributes:
        vectors: [T, D] of each sentence, T its own.
        names: of the sentences.
        token: the position in the first sentence whose vector is framed.
        feature: the one that is framed in all sentences.
    """

    vectors: tuple[np.ndarray, ...]
    names: tuple[str, ...]
    token: int
    feature: int

    @property
    def features(self) -> range:
        """The features that are drawn."""
        width = self.vectors[0].shape[1]
        first = max(0, min(self.feature - MOST_FEATURES // 2, width - MOST_FEATURES))
        return range(first, min(width, first + MOST_FEATURES))


def draw_vectors(view: VectorsView, words: dict[str, str]) -> sheet.Sheet:
    """Every sentence as a block of positions by features, padding grey, with both frames on it.

    ``words`` are ``token`` and ``feature`` for the axes, and ``layer`` and ``batch``, which stand beside the frames.
    """
    figure, shown = sheet.Sheet(), view.features
    length, width = max(map(len, view.vectors)), len(shown) + 1
    values = np.full((length, width * len(view.vectors) - 1), np.nan, dtype=np.float32)
    for n, vectors in enumerate(view.vectors):
        values[: len(vectors), n * width : n * width + len(shown)] = vectors[:, shown.start : shown.stop]
    top = float(np.nanquantile(np.abs(values), 0.95)) or 1.0
    told = f"<b>%{{z:.3f}}</b><br>{theme.plain(words['token'])} %{{y}}<extra></extra>"
    cells = sheet.heatmap(z=values, hoverongaps=False, hovertemplate=told, **theme.about_zero(top))
    figure.add_trace(cells)
    for n, (vectors, name) in enumerate(zip(view.vectors, view.names, strict=True)):
        left, right = n * width, n * width + len(shown) - 1
        note(figure, name, (left + right) / 2, -0.6, bold=True, yanchor="bottom")
        if len(vectors) < length:
            corners = {"x0": left - 0.5, "x1": right + 0.5, "y0": len(vectors) - 0.5, "y1": length - 0.5}
            figure.add_shape(type="rect", **corners, fillcolor=theme.MASKED, line={"width": 0})
        column = left + view.feature - shown.start
        frame(figure, (0, len(vectors) - 1), (column, column), colour=BATCH, width=2.5)
    frame(figure, (view.token, view.token), (0, len(shown) - 1), colour=LAYER, width=2.5)
    place: dict[str, Any] = {"xref": "x domain", "yref": "y domain", "yanchor": "top", "yshift": -34}
    note(figure, words["layer"], 0, 0, colour=LAYER, bold=True, xanchor="left", **place)
    note(figure, words["batch"], 1, 0, colour=BATCH, bold=True, xanchor="right", **place)
    starts = [n * width + d for n in range(len(view.vectors)) for d in (0, len(shown) - 1)]
    ends = [str(d) for _ in view.vectors for d in (shown.start, shown.stop - 1)]
    axes.columns(figure, ends, places=starts, tickangle=0)
    axes.rows(figure, [str(n) for n in range(length)], words["token"], most=12)
    figure.update_yaxes(range=[length - 0.4, -1.6])
    return theme.finished(figure, height=min(460, 150 + 15 * length), margin={"b": 64})


def strips_view(x: np.ndarray, normalised: Sequence[tuple[str, np.ndarray]], name: str) -> StripsView:
    """One vector [D] as it is, and under it normalised in several ways on one scale."""
    shown = slice(0, MOST_DIMENSIONS)
    top = max(top_of(values[shown]) for _, values in normalised)
    rows = [Strip(name, x[shown], top=top_of(x[shown]))]
    rows += [Strip(label, values[shown], top=top) for label, values in normalised]
    columns = tuple(map(str, range(len(x[shown]))))
    return StripsView(tuple(rows), columns, 46 * len(rows) + 40)
