"""How long each token's vector is, from the embedding to the last block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
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


def draw_lengths(view: LengthsView, words: Mapping[str, str]) -> go.Figure:
    """Length over depth, one line a token; the selected token with its values, the chosen block shaded.

    ``words`` are "step", "length" and "log", which is added to the axis where it is logarithmic.
    """
    n_sites, n_tokens = len(view.sites), len(view.drawn)
    steps = list(range(n_sites))
    figure = sheet.Sheet()
    hover = "%{text}<br>%{customdata}<br><b>%{y:.4f}</b><extra></extra>"
    # One trace a colour, its lines parted by gaps: the browser is slow with a trace a token.
    for first in sorted({token % len(theme.TOKENS) for token in view.drawn}):
        x: list[int | None] = []
        y: list[float | None] = []
        names: list[str] = []
        for token in (token for token in view.drawn if token % len(theme.TOKENS) == first):
            x += [*steps, None]
            y += [*view.lengths[:, token].tolist(), None]
            names += [f"{token}: {theme.plain(view.labels[token])}"] * (n_sites + 1)
        figure.add_trace(
            sheet.scatter(
                x=x,
                y=y,
                mode="lines+markers" if n_tokens * n_sites <= 400 else "lines",
                line={"color": theme.token_colour(first), "width": 1.2},
                marker={"size": 5},
                opacity=0.65 if n_tokens <= 32 else 0.3,
                text=names,
                customdata=[view.sites[step] if step is not None else "" for step in x],
                hovertemplate=hover,
            )
        )
    chosen = view.lengths[:, view.token]
    figure.add_trace(
        sheet.scatter(
            x=steps,
            y=chosen,
            mode="lines+markers",
            line={"color": theme.HIGHLIGHT, "width": 3},
            marker={"size": 8 if n_sites <= 20 else 5},
            text=[f"{view.token}: {theme.plain(view.labels[view.token])}"] * n_sites,
            customdata=view.sites,
            hovertemplate=hover,
        )
    )
    for step in depth.shown(view.sites, MOST_NUMBERS):
        figure.add_annotation(
            x=step,
            y=1,
            yref="paper",
            yanchor="bottom",
            text=f"{chosen[step]:.1f}" if chosen[step] < 1000 else f"{chosen[step]:.0f}",
            showarrow=False,
            font={"size": 12, "color": theme.HIGHLIGHT},
        )
    per_block = (n_sites - 1) // max(1, len({site.split(".")[1] for site in view.sites[1:]}))
    figure.add_vrect(
        x0=per_block * view.layer + 0.5,
        x1=per_block * (view.layer + 1) + 0.5,
        fillcolor=theme.MASKED,
        line={"width": 0},
        layer="below",
    )
    title = words["length"] + (f" {words['log']}" if depth.is_wide(view.lengths) else "")
    figure.update_xaxes(range=[-0.5, n_sites - 0.5], title=theme.plain(words["step"]), **depth.ticks(view.sites))
    figure.update_yaxes(title=theme.plain(title), **depth.scale(view.lengths))
    return theme.layout(figure, height=390, margin={"t": 24}).drawn()
