"""Two columns of tokens, joined by lines as thick as the attention weights between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.spans import around, window

MOST_LINES = 28
"""Tokens of either text that are joined by lines at the most."""

WORDS = ("source", "target", "reads", "is_read")
"""What is written over the columns, and below the lines: who reads, and who is read."""


class LinesView(NamedTuple):
    """Weights [q, s] from a window of the target to a window of the source.

    ``first`` is where the windows (target, source) begin, ``selected`` a row of ``weights``, and
    ``share`` the part of that row's weight which the source window holds.
    """

    weights: np.ndarray
    target: tuple[str, ...]
    source: tuple[str, ...]
    first: tuple[int, int]
    selected: int
    share: float

    @classmethod
    def of(
        cls, pattern: np.ndarray, target: Sequence[str], source: Sequence[str], token: int, most: int = MOST_LINES
    ) -> LinesView:
        """``pattern`` is [Tq, Ts]; the windows, of ``most`` tokens, follow the selected one and what it reads."""
        rows, columns = around(token, len(target), most), window(pattern[token], most)
        return cls(
            weights=pattern[rows, columns],
            target=tuple(target[rows]),
            source=tuple(source[columns]),
            first=(rows.start, columns.start),
            selected=token - rows.start,
            share=float(pattern[token, columns].sum()),
        )


def scene(view: LinesView, words: Mapping[str, str], pitch: int = 32) -> tuple[dict[str, Any], np.ndarray]:
    """What the browser draws: a header, and the weights.

    ``words`` has those of :data:`WORDS`; a token takes ``pitch`` pixels of height.
    """
    columns = {
        side: [
            {"label": label, "position": first + i, "colour": theme.token_colour(first + i)}
            for i, label in enumerate(labels)
        ]
        for side, labels, first in (
            ("target", view.target, view.first[0]),
            ("source", view.source, view.first[1]),
        )
    }
    colours = {role: theme.ROLES[role] for role in ("query", "key", "pattern")}
    header = {**columns, "selected": view.selected, "pitch": pitch, "colours": colours, "words": dict(words)}
    return header, view.weights
