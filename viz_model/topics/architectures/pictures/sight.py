"""Who sees whom in each kind of Transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import Kind
from viz_model.drawing import axes, sheet, squares, theme, writing
from viz_model.topics.architectures.numbers import architectures
from viz_model.topics.architectures.pictures.common import SMALL, Words

SIGHT_TOKENS = 9
"""Tokens of a text in the small pictures of masks."""


class SightView(NamedTuple):
    """Who sees whom in one kind of model: ``cells`` is [T, T] of :func:`architectures.sight`'s values.

    ``split`` is how many of the T positions are the source's, of an encoder–decoder, else T.
    """

    kind: str
    cells: np.ndarray
    labels: tuple[str, ...]
    split: int

    @classmethod
    def of(cls, kind: Kind, source: Sequence[str], target: Sequence[str], most: int = SIGHT_TOKENS) -> SightView:
        """The first ``most`` tokens of a text, and of what an encoder–decoder says to it."""
        source, target = tuple(source[:most]), tuple(target[:most]) if kind == "encoder_decoder" else ()
        cells = architectures.sight(kind, len(source), len(target))
        return cls(kind, cells, source + target, len(source))


_SIGHT = ((theme.ROLES["residual"], 0.16, ""), (theme.ROLES["pattern"], 0.75, "•"), (theme.ROLES["query"], 0.75, "×"))
"""Colour, strength and sign of what is hidden, seen, and seen across."""


def draw_sight(view: SightView, words: Words) -> sheet.Sheet:
    """A cell for every query (row) and key (column): hidden, seen, or seen across from the encoder."""
    figure, n = sheet.Sheet(), len(view.labels)
    kinds = [words(f"sight_{name}") for name in ("hidden", "seen", "across")]
    fills = [theme.rgba(colour, alpha) for colour, alpha, _ in _SIGHT]
    stops = [[edge, fill] for k, fill in enumerate(fills) for edge in (k / 3, (k + 1) / 3)]
    at = [(q, k, int(view.cells[q, k])) for q, k in np.ndindex(view.cells.shape)]
    hovers = [f"{theme.plain(view.labels[q])} → {theme.plain(view.labels[k])}: {kinds[seen]}" for q, k, seen in at]
    signs = [_SIGHT[seen][2] for _, _, seen in at]
    look: dict[str, Any] = {"colorscale": stops, "zmin": -0.5, "zmax": 2.5}
    squares.squares(figure, view.cells.astype(float), signs, hovers, top=1.0, **look)
    figure.traces[-1]["textfont"] = {"size": 12, "color": "#ffffff"}
    if view.split < n:
        edge = view.split - 0.5
        for corner in ((edge, edge, -0.5, n - 0.5), (-0.5, n - 0.5, edge, edge)):
            x0, x1, y0, y1 = corner
            figure.add_shape(type="line", x0=x0, x1=x1, y0=y0, y1=y1, line={**theme.LINE, "width": 2})
        for middle, name in (((edge - 0.5) / 2, "source"), ((edge + n - 0.5) / 2, "target")):
            writing.note(figure, words(f"sight_{name}"), middle, -0.5, size=SMALL, yanchor="bottom")
    small: dict[str, Any] = {"tickfont": {"size": theme.SMALL}, "most": 18, "longest": 14}
    axes.columns(figure, view.labels, tickangle=-60, **small)
    axes.rows(figure, view.labels, edge=0.5, **small)
    return theme.finished(figure, height=320, margin={"t": 24})
