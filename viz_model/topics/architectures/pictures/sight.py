"""Who sees whom in each kind of Transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.config import Kind
from viz_model.drawing import sheet, theme
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


_SIGHT = (("residual", 0.16), ("pattern", 0.75), ("query", 0.75))


def draw_sight(view: SightView, words: Words) -> go.Figure:
    """A cell for every query (row) and key (column): hidden, seen, or seen across from the encoder."""
    said = [theme.plain(words(f"sight_{name}")) for name in ("hidden", "seen", "across")]
    colours = [theme.rgba(theme.ROLES[role], alpha) for role, alpha in _SIGHT]
    stops = [[edge, colour] for n, colour in enumerate(colours) for edge in (n / 3, (n + 1) / 3)]
    index = list(range(len(view.labels)))
    figure = sheet.Sheet(
        sheet.heatmap(
            z=view.cells.astype(np.uint8),
            x=index,
            y=index,
            zmin=-0.5,
            zmax=2.5,
            colorscale=stops,
            showscale=False,
            xgap=2,
            ygap=2,
            customdata=[[f"{_at(view, q)} → {_at(view, k)}: {said[view.cells[q, k]]}" for k in index] for q in index],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    signs = [(q, k, "×" if view.cells[q, k] == architectures.SEEN_ACROSS else "•") for q, k in np.argwhere(view.cells)]
    figure.add_trace(
        sheet.scatter(
            x=[k for _, k, _ in signs],
            y=[q for q, _, _ in signs],
            mode="text",
            text=[sign for _, _, sign in signs],
            textfont={"size": 12, "color": "#ffffff"},
            hoverinfo="skip",
        )
    )
    if view.split < len(view.labels):
        edge, end = view.split - 0.5, len(index) - 0.5
        line = {"color": theme.ROLES["residual"], "width": 2}
        figure.add_shape(type="line", x0=edge, x1=edge, y0=-0.5, y1=end, line=line)
        figure.add_shape(type="line", x0=-0.5, x1=end, y0=edge, y1=edge, line=line)
        for middle, name in (((edge - 0.5) / 2, "source"), ((edge + end) / 2, "target")):
            figure.add_annotation(
                x=middle,
                y=-0.5,
                text=theme.plain(words(f"sight_{name}")),
                showarrow=False,
                yanchor="bottom",
                font={"size": SMALL},
            )
    theme.layout(figure, height=320, margin={"t": 24})
    names = theme.ticks(view.labels, 18)
    figure.update_xaxes(side="bottom", tickangle=-60, fixedrange=True, tickfont={"size": 11}, **names)
    figure.update_yaxes(autorange="reversed", fixedrange=True, tickfont={"size": 11}, **names)
    return figure.drawn()


def _at(view: SightView, position: int) -> str:
    return theme.plain(view.labels[position])
