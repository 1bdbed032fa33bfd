"""Which tokens each step of drawing computes, with the cache and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, sheet, theme
from viz_model.drawing.writing import hovered, percent
from viz_model.topics.next_token.numbers.kv_cache import Read

MOST_COLUMNS = 300
"""Columns of the staircases; of longer texts neighbouring positions share one."""


class WorkView(NamedTuple):
    """Steps of drawing ``n_drawn`` tokens: which tokens each computes, with the cache and without.

    ``cached`` and ``fresh`` are [R, N]: 0 where a token is not there, 1 where its key and value lie in the cache, 2
    where they are computed.
    """

    cached: np.ndarray
    fresh: np.ndarray
    n_prompt: int
    n_drawn: int
    with_cache: int
    without_cache: int

    @classmethod
    def of(cls, reads: Sequence[Read], n_prompt: int) -> WorkView:
        shape = len(reads), reads[-1].stop
        cached, fresh = np.zeros(shape, dtype=np.int8), np.zeros(shape, dtype=np.int8)
        for at, read in enumerate(reads):
            cached[at, read.first : read.start] = 1
            cached[at, read.start : read.stop] = 2
            fresh[at, read.first : read.stop] = 2
        return cls(
            cached=cached,
            fresh=fresh,
            n_prompt=n_prompt,
            n_drawn=len(reads),
            with_cache=sum(read.computed for read in reads),
            without_cache=sum(read.without for read in reads),
        )

    def facts(self) -> dict[str, str]:
        return {
            "n": str(self.n_drawn),
            "prompt": str(self.n_prompt),
            "with_cache": f"{self.with_cache:,}",
            "without_cache": f"{self.without_cache:,}",
            "saved": percent(1 - self.with_cache / self.without_cache),
        }


def draw_work(view: WorkView, words: Mapping[str, str]) -> sheet.Sheet:
    """Two staircases, a row a step. ``words`` has "with_cache", "without_cache", "step" and "position"."""
    counts = (("with_cache", view.with_cache), ("without_cache", view.without_cache))
    titles = [f"{theme.bold(theme.plain(words[name]))}: {count:,}" for name, count in counts]
    figure = sheet.Sheet.grid(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.05, subplot_titles=titles)
    n_rows, n_columns = view.cached.shape
    pool = axes.every(n_columns, MOST_COLUMNS)
    for column, cells in ((1, view.cached), (2, view.fresh)):
        padded = np.pad(cells, ((0, 0), (0, -n_columns % pool)))
        pooled = padded.reshape(n_rows, -1, pool).max(-1)
        trace = sheet.heatmap(
            z=np.where(pooled > 0, pooled, np.nan).astype(np.float32),
            x=np.arange(pooled.shape[1]) * pool + (pool - 1) / 2,
            y=list(range(1, n_rows + 1)),
            zmin=1,
            zmax=2,
            colorscale=[[0, theme.rgba(theme.ROLES["key"], 0.3)], [1, theme.rgba(theme.ROLES["query"], 0.85)]],
            showscale=False,
            hoverongaps=False,
            xgap=1 if n_columns <= 80 else 0,
            ygap=1 if n_rows <= 30 else 0,
            **hovered(None),
        )
        figure.add_trace(trace, 1, column)
    for annotation, axis in zip(figure.annotations, ("xaxis", "xaxis2"), strict=True):
        annotation |= {"x": figure.layout[axis]["domain"][0], "xanchor": "left", "font": {"size": theme.SMALL}}
    axes.across(figure, words["position"], small=True, nticks=5, range=[-0.5, n_columns - 0.5])
    axes.upward(figure, range=[n_rows + 0.5, 0.5], nticks=6, tickformat="d")
    axes.upward(figure, words["step"], small=True, at=(1, 1))
    return theme.finished(figure, height=120 + min(320, max(120, 16 * n_rows)), margin={"t": 34})
