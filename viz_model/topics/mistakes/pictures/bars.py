"""A number for each of a few tokens, on one scale with those of the other function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import hover
from viz_model.topics.mistakes.numbers.results import Bars


class BarsView(NamedTuple):
    """A number for each of a few tokens; ``limit`` is the largest of both pictures."""

    values: np.ndarray
    tokens: tuple[str, ...]
    is_share: bool
    limit: float

    @classmethod
    def of(cls, made: Bars, beside: Bars) -> BarsView:
        limit = max(float(np.max(b.values, initial=0.0)) for b in (made, beside))
        return cls(made.values, tuple(token.label for token in made.tokens), made.of == "probability", limit or 1.0)


def draw_bars(view: BarsView, names: Mapping[str, str], *, title: str) -> go.Figure:
    """The bars from the top down, as the tokens are read; ``names`` are of the tokens' and of the numbers' axis."""
    figure = sheet.Sheet()
    fill = theme.rgba(theme.ROLES["output"], 0.75)
    texts = [hover(token, ("", f"{value:.4f}")) for token, value in zip(view.tokens, view.values, strict=True)]
    bars.across(figure, view.values, fill, hover=texts, width=0.8)
    axes.rows(figure, view.tokens, names["tokens"], longest=14, most=40)
    tickformat = ".0%" if view.is_share else None
    axes.across(figure, names["values"], range=[0, 1.05 * view.limit], tickformat=tickformat)
    tall = min(460, max(230, 110 + 22 * len(view.tokens)))
    return theme.finished(figure, height=tall, title=title, fixed=False)
