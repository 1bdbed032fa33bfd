"""The table seen along its two widest directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.topics.embedding.pictures.lookup import columns

CELLS = 72
"""Cells along a side of the density behind the map."""


class MapView(NamedTuple):
    """The table seen along its two widest directions.

    ``density`` [CELLS, CELLS] counts the rows of the table in each cell between ``x_edges`` and
    ``y_edges``; ``points`` [n, 2] are the named rows: first the sentence's tokens, each once, from
    the selected one on, then the selected token's neighbours. ``positions`` [n] are the tokens'
    first places in the sentence, −1 for neighbours. The picture holds all of these and the bulk of
    the table; ``outside`` rows lie beyond its edges.
    """

    density: np.ndarray
    x_edges: np.ndarray
    y_edges: np.ndarray
    points: np.ndarray
    labels: tuple[str, ...]
    ids: tuple[int, ...]
    positions: np.ndarray
    explained: np.ndarray
    outside: int
    selected: int


def draw_map(view: MapView, words: Mapping[str, str], height: int = 430) -> sheet.Sheet:
    """Grey: how many rows of the table lie there. Dots: the sentence. Rings: the neighbours.

    ``words`` holds ``count`` and ``id`` for the hover text and the axes' names ``first`` and
    ``second``.
    """
    figure = sheet.Sheet()
    _draw_density(figure, view, words["count"])
    _draw_points(figure, view, words["id"])
    boxes = label_boxes(view, width=330, height=height - 60)
    places = {i: box.place for i, box in enumerate(boxes) if box}
    shown = list(places)
    curves.points(
        figure,
        view.points[shown, 0],
        view.points[shown, 1],
        theme.INK,
        text=[_bold(view, i) for i in shown],
        # The unseen markers keep the labels clear of the dots.
        mode="markers+text",
        marker={"size": 11, "opacity": 0},
        textposition=list(places.values()),
        textfont={"size": theme.SMALL, "family": "monospace", "color": theme.INK},
        cliponaxis=False,
    )
    axes.across(figure, words["first"], range=view.x_edges[[0, -1]].tolist(), nticks=5)
    axes.upward(figure, words["second"], range=view.y_edges[[0, -1]].tolist(), nticks=5)
    return theme.finished(figure, height=height)


def _draw_density(figure: sheet.Sheet, view: MapView, count: str) -> None:
    grey = theme.ROLES["token"]
    trace = sheet.heatmap(
        z=np.where(view.density > 0, np.log1p(view.density), np.nan).astype(np.float32),
        x=_middles(view.x_edges),
        y=_middles(view.y_edges),
        customdata=view.density,
        colorscale=[[0, theme.rgba(grey, 0.10)], [1, theme.rgba(grey, 0.62)]],
        showscale=False,
        hoverongaps=False,
        hovertemplate=f"{theme.plain(count)} %{{customdata}}<extra></extra>",
    )
    figure.add_trace(trace)


def _draw_points(figure: sheet.Sheet, view: MapView, id_: str) -> None:
    is_token, accent = view.positions >= 0, theme.token_colour(view.selected)
    for kind, symbol in ((~is_token, "circle-open"), (is_token, "circle")):
        shown = np.flatnonzero(kind).tolist()
        colours = [theme.token_colour(view.positions[i]) if is_token[i] else accent for i in shown]
        curves.points(
            figure,
            view.points[shown, 0],
            view.points[shown, 1],
            colours,
            symbol=symbol,
            size=[14 if view.positions[i] == view.selected else 9 for i in shown],
            ring={"width": 2, "color": colours},
            customdata=[[theme.plain(view.labels[i]), view.ids[i]] for i in shown],
            hover=f"<b>%{{customdata[0]}}</b><br>{theme.plain(id_)} %{{customdata[1]}}<br>(%{{x:.2f}}, %{{y:.2f}})",
        )


def _bold(view: MapView, i: int) -> str:
    text = theme.shorten(view.labels[i])
    return f"<b>{text}</b>" if view.positions[i] == view.selected else text


def _middles(edges: np.ndarray) -> np.ndarray:
    return (edges[1:] + edges[:-1]) / 2


class LabelBox(NamedTuple):
    """Where a label goes: Plotly's name for the place, and its (left, bottom, right, top)."""

    place: str
    edges: tuple[float, float, float, float]


# Where a label may stand beside its point, best first: pixels to the right, plus a share of the
# label's own width, and pixels up.
PLACES = {
    "middle right": (7.0, 0.0, 0),
    "middle left": (-7.0, -1.0, 0),
    "top center": (0.0, -0.5, 13),
    "bottom center": (0.0, -0.5, -13),
    "top right": (5.0, 0.0, 12),
    "bottom right": (5.0, 0.0, -12),
    "top left": (-5.0, -1.0, 12),
    "bottom left": (-5.0, -1.0, -12),
}


def label_boxes(view: MapView, width: float, height: float) -> list[LabelBox | None]:
    """For each point a place for its label that covers no dot and no other label, or None.

    The points come in the order of their importance, and each takes the first place that is free.
    ``width`` and ``height`` are those of a narrow picture, in pixels: on a wider one the labels
    only stand further apart.
    """
    low = np.array([view.x_edges[0], view.y_edges[0]])
    size = np.array([view.x_edges[-1], view.y_edges[-1]]) - low
    centres = ((view.points - low) / size * [width, height]).tolist()
    dots = [(x - 6, y - 6, x + 6, y + 6) for x, y in centres]
    boxes: list[LabelBox | None] = []
    for i, (x, y) in enumerate(centres):
        # The selected token, which comes first, is always named, at worst across another dot.
        taken = [*dots[:i], *dots[i + 1 :], *(box.edges for box in boxes if box)] if i else []
        wide = 7.4 * columns(theme.shorten(view.labels[i])) + 2
        found = None
        for place, (shift, share, dy) in PLACES.items():
            dx = shift + share * wide
            edges = (x + dx, y + dy - 7, x + dx + wide, y + dy + 7)
            inside = edges[0] >= 0 and edges[1] >= 0 and edges[2] <= width and edges[3] <= height
            if inside and not any(overlap(edges, other) for other in taken):
                found = LabelBox(place, edges)
                break
        boxes.append(found)
    return boxes


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    """Whether two boxes (left, bottom, right, top) share some area."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
