"""How long each token's vector is, from the embedding to the last block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.writing import note
from viz_model.topics.block.pictures import depth

LEVEL = 1.25
"""Lengths that differ by no more than this factor count as level."""
MAX_POINTS = 1_800
MOST_NUMBERS = 7
OUTLIER = 5.0
"""How many times the median a vector's length must be to be worth a sentence of its own."""


class Outlier(NamedTuple):
    """A vector that is ``times`` as long as the median at its site."""

    token: int
    site: str
    length: float
    times: float

    @property
    def facts(self) -> dict[str, str]:
        """For prose."""
        return {"site": self.site, "long": f"{self.length:,.0f}", "times": f"{self.times:.0f}"}


@brief
class LengthsView(NamedTuple):
    """Length ‖x‖₂ of the residual stream after every addition, [S, T], from the embedding upward."""

    sites: tuple[str, ...]
    labels: tuple[str, ...]
    lengths: np.ndarray
    token: int
    layer: int
    norm_at: str

    @property
    def typical(self) -> np.ndarray:
        """The median over the tokens, [S]: a mean would tell of the one or two longest vectors."""
        return np.median(self.lengths, axis=-1)

    @property
    def drawn(self) -> tuple[int, ...]:
        """The tokens that get a line: all of them, or of many the selected one and others evenly by length."""
        n_tokens = len(self.labels)
        most = max(8, MAX_POINTS // len(self.sites))
        if n_tokens <= most:
            return tuple(range(n_tokens))
        order = np.argsort(self.lengths.max(axis=0), kind="stable")
        picked = order[np.linspace(0, n_tokens - 1, most).round().astype(int)]
        return tuple(sorted({self.token, *picked.tolist()}))

    @property
    def facts(self) -> dict[str, str]:
        """The middle length of the tokens, for prose: at the ends, and its range over the blocks."""
        found = {
            "first": self.typical[0],
            "last": self.typical[-1],
            "low": self.typical[1:].min(),
            "high": self.typical[1:].max(),
        }
        return {key: f"{value:.1f}" for key, value in found.items()}

    @property
    def ratio(self) -> float:
        """How many times the median length at the embedding the one after the last block is."""
        return float(self.typical[-1] / (self.typical[0] or 1.0))

    @property
    def outlier(self) -> Outlier | None:
        """The vector that stands out most, if one does."""
        if len(self.labels) < 3:
            return None
        times = self.lengths / np.maximum(self.typical[:, None], 1e-12)
        step, token = np.unravel_index(int(times.argmax()), times.shape)
        if times[step, token] < OUTLIER:
            return None
        return Outlier(int(token), self.sites[step], float(self.lengths[step, token]), float(times[step, token]))


def draw_lengths(view: LengthsView, words: Mapping[str, str]) -> sheet.Sheet:
    """Length over depth, one line a token; the selected token with its values, the chosen block shaded.

    ``words`` are "step", "length" and "log", which is added to the axis where it is logarithmic.
    """
    n_sites, n_tokens = len(view.sites), len(view.drawn)
    steps = list(range(n_sites))
    figure = sheet.Sheet()

    def line(tokens: Sequence[int], style: curves.Style, marks: int, **look: Any) -> None:
        """Some tokens as one trace, with gaps between their lines: the browser is slow with a trace a token."""
        names = [f"{token}: {theme.plain(view.labels[token])}" for token in tokens for _ in (*steps, None)]
        y = [length for token in tokens for length in (*view.lengths[:, token].tolist(), None)]
        told = {"text": names, "customdata": [*view.sites, ""] * len(tokens)}
        hover = "%{text}<br>%{customdata}<br><b>%{y:.4f}</b>"
        x = [*steps, None] * len(tokens)
        curves.line(figure, x, y, style, marks=marks, hover=hover, **told, **look)  # type: ignore[arg-type]

    for first in sorted({token % len(theme.TOKENS) for token in view.drawn}):
        alike = [token for token in view.drawn if token % len(theme.TOKENS) == first]
        marks, faint = 5 if n_tokens * n_sites <= 400 else 0, 0.65 if n_tokens <= 32 else 0.3
        line(alike, curves.Style(theme.token_colour(first), width=1.2), marks, opacity=faint)
    line([view.token], curves.Style(theme.HIGHLIGHT, width=3), 8 if n_sites <= 20 else 5)
    for step in depth.shown(view.sites, MOST_NUMBERS):
        chosen = view.lengths[step, view.token]
        text = f"{chosen:.1f}" if chosen < 1000 else f"{chosen:.0f}"
        note(figure, text, step, 1, colour=theme.HIGHLIGHT, yref="paper", yanchor="bottom")
    per_block = (n_sites - 1) // max(1, len({site.split(".")[1] for site in view.sites[1:]}))
    ends = (per_block * at + 0.5 for at in (view.layer, view.layer + 1))
    figure.add_vrect(*ends, fillcolor=theme.MASKED, line={"width": 0}, layer="below")
    title = words["length"] + (f" {words['log']}" if depth.is_wide(view.lengths) else "")
    axes.across(figure, words["step"], range=[-0.5, n_sites - 0.5], **depth.ticks(view.sites))
    axes.upward(figure, title, **depth.scale(view.lengths))
    return theme.finished(figure, height=390, margin={"t": 24}, fixed=False)
