"""How alike two positions are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, heatmap, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.topics.position.pictures.matrix import MAX_TICKS


class SimilarityView(NamedTuple):
    """How alike position rows are: cosine of the text's rows [T, T], and by distance over C positions.

    ``distance``, ``low`` and ``high`` hold one value for each distance from 0 to C − 1: the mean
    over all pairs that far apart, the smallest, and the largest. C is the context, or the part of
    it that is compared (:data:`viz_model.topics.position.numbers.MAX_ROWS`). ``waves`` [C] is the same
    curve for sinusoidal rows of this width. ``every`` n-th token is in the square.
    """

    labels: tuple[str, ...]
    token: int
    every: int
    cosine: np.ndarray
    first: np.ndarray
    distance: np.ndarray
    low: np.ndarray
    high: np.ndarray
    waves: np.ndarray

    @property
    def spread(self) -> float:
        """The largest difference between two pairs of positions that are equally far apart."""
        return float((self.high - self.low).max())

    def at(self, distance: int) -> float:
        """The similarity at a distance, or at the largest there is."""
        return float(self.distance[min(distance, len(self.distance) - 1)])


def draw_similarity(view: SimilarityView, names: tuple[str, str]) -> sheet.Sheet:
    """The square of similarities. Every stripe parallel to the diagonal has one colour."""
    square = heatmap.HeatmapView(
        values=view.cosine,
        rows=view.labels[:: view.every],
        columns=view.labels[:: view.every],
        site="cos(embed.position[s], embed.position[t])",
        role="position",
        scale="signed" if view.cosine.min() < 0 else "probability",  # that is, from 0 to 1
        row_axis=names[0],
        column_axis=names[1],
        selected_row=view.token // view.every,
        limit=1.0,
    )
    figure = heatmap.on_sheet(square, height=380)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(**theme.ticks(square.rows, MAX_TICKS))
    return figure


ROWS = Style(theme.ROLES["position"], width=2.6)
SINUSOIDS = Style(theme.ROLES["residual"], "dash", width=1.8)


def draw_by_distance(view: SimilarityView, titles: tuple[str, str], names: tuple[str, ...] = ()) -> sheet.Sheet:
    """Similarity over distance: the curve of the whole context, a dot for each distance in the text.

    With ``names`` (rows, their range, waves) the range between the least and the most alike pair is shaded, and
    the curve of sinusoidal rows drawn beside it.
    """
    reach = range(len(view.labels))
    n = min(len(view.distance), max(64, 2 * len(reach)))
    at, told = np.arange(n), f"{theme.plain(titles[0])} %{{x}}<br><b>%{{y:.4f}}</b>"
    figure = sheet.Sheet()
    if names:
        curves.band(figure, at, view.low[:n], view.high[:n], theme.rgba(ROWS.colour, 0.22), name=names[1])
        waves = view.waves[:n].astype(np.float32)
        curves.line(figure, at, waves, SINUSOIDS, name=names[2], hover=told, extra=names[2])
    rows = view.distance[:n].astype(np.float32)
    curves.line(figure, at, rows, ROWS, name=names[0] if names else "", hover=told)
    curves.points(
        figure,
        list(reach),
        view.first.astype(np.float32),
        [theme.token_colour(position) for position in reach],
        size=8 if len(reach) <= 64 else 4,
        text=theme.unique(view.labels),
        hover=f"%{{text}}<br>{told}",
    )
    drawn = (view.low, view.waves, view.first) if names else (view.distance, view.first)
    lowest = min(0.0, *(float(curve[:n].min()) for curve in drawn))
    axes.across(figure, titles[0], range=[-1, n])
    axes.upward(figure, titles[1], range=[lowest - 0.02, 1.06])
    axes.zero(figure, "y")
    return theme.finished(figure, height=380, legend="below" if names else None, fixed=False)
