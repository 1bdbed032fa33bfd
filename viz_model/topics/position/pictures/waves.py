"""One pair of waves: a sine and a cosine, and where tokens read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.topics.position.pictures.matrix import MAX_TICKS


class WavesView(NamedTuple):
    """One pair of dimensions, a sine and a cosine: the curves, and the values that the run recorded on them.

    ``at`` [P] are places along the axis, ``sine`` and ``cosine`` [P] the curves over them;
    ``slower`` and ``faster`` hold the sines of two pairs further along, or None at either end.
    ``recorded`` is [W, 2]: the two ``columns`` of ``embed.position``, from position ``start``
    on. Of a long text only the W positions around the selected one are shown.
    """

    start: int
    labels: tuple[str, ...]
    token: int
    pair: int
    columns: tuple[int, int]
    wavelength: float
    n_context: int
    at: np.ndarray
    sine: np.ndarray
    cosine: np.ndarray
    faster: tuple[int, np.ndarray] | None
    slower: tuple[int, np.ndarray] | None
    recorded: np.ndarray


CHOSEN = {"sin": Style(theme.ROLES["position"], width=2.6), "cos": Style(theme.ROLES["position"], "5px,3px", width=2.6)}
FAINT = Style(theme.rgba(theme.ROLES["residual"], 0.7), "dot", width=1.2)


def draw_waves(view: WavesView, words: Mapping[str, str]) -> sheet.Sheet:
    """Sine and cosine of one pair, a dot where a token reads them, two other pairs faint behind.

    ``words`` has "pair", "dimension", "axis" and "beyond".
    """
    figure = sheet.Sheet()
    for other, style in ((view.faster, FAINT), (view.slower, FAINT._replace(dash="dash"))):
        if other is not None:
            # After the chosen pair in the legend, though drawn behind it.
            name, values = f"sin · {words['pair']} {other[0]}", other[1].astype(np.float32)
            curves.line(figure, view.at, values, style, name=name, legendrank=1001)
    for (wave, style), values, dimension in zip(CHOSEN.items(), (view.sine, view.cosine), view.columns, strict=True):
        name = f"{wave} · {words['dimension']} {dimension}"
        curves.line(figure, view.at, values.astype(np.float32), style, name=name)
    few = len(view.labels) <= 64
    _draw_tokens(figure, view, few)
    for values, dimension in zip(view.recorded.T, view.columns, strict=True):
        _draw_recorded(figure, view, values, dimension, 7 if few else 3)
    if view.at[-1] > view.n_context:
        curves.area(figure, view.n_context - 0.5, view.at[-1], words["beyond"], view.n_context)
        axes.across(figure, words["axis"])
    else:
        places = range(view.start, view.start + len(view.labels))
        axes.columns(figure, view.labels, places=places, longest=14, most=MAX_TICKS)
    axes.across(figure, range=[view.at[0], view.at[-1]])
    axes.upward(figure, range=[-1.12, 1.12], tickvals=[-1, 0, 1])
    axes.zero(figure, "y")
    return theme.finished(figure, height=360, margin={"t": 44}, legend="below", fixed=False)


def _draw_tokens(figure: sheet.Sheet, view: WavesView, few: bool) -> None:
    """A line for every token, or of many for the chosen one."""
    for position in range(view.start, view.start + len(view.labels)) if few else [view.token]:
        colour = theme.rgba(theme.token_colour(position), 0.45)
        line = {"color": theme.HIGHLIGHT, "width": 2} if position == view.token else {"color": colour, "width": 1}
        figure.add_vline(position, line=line, layer="below")


def _draw_recorded(figure: sheet.Sheet, view: WavesView, values: np.ndarray, dimension: int, size: int) -> None:
    """What the run recorded on one of the curves, the chosen token ringed."""
    positions = list(range(view.start, view.start + len(view.labels)))
    is_chosen = [position == view.token for position in positions]
    curves.points(
        figure,
        positions,
        values,
        [theme.token_colour(position) for position in positions],
        size=[size + 5 if chosen else size for chosen in is_chosen],
        ring={"color": theme.HIGHLIGHT, "width": [2 if chosen else 0 for chosen in is_chosen]},
        text=[f"{n}: {theme.plain(label)}" for n, label in zip(positions, view.labels, strict=True)],
        hover="%{text}<br><b>%{y:.4f}</b>",
        extra=f"embed.position[…, {dimension}]",
    )
