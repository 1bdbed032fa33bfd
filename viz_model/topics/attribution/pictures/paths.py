"""The ranks of a few tokens by depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.writing import hover, percent


class PathsView(NamedTuple):
    """Tokens by depth at one position: ``probs`` and ``ranks`` [S, N] of ``labels``.

    ``settled`` is the depth from which on the first of the tokens leads.
    """

    labels: tuple[str, ...]
    probs: np.ndarray
    ranks: np.ndarray
    settled: int | None

    def facts(self) -> dict[str, str]:
        """For prose: rank and probability of the first token, at the beginning and in the end."""
        return {
            "rank_first": f"{self.ranks[0, 0]:,}",
            "rank_last": f"{self.ranks[-1, 0]:,}",
            "share_last": percent(float(self.probs[-1, 0])),
            "own_rank_first": f"{self.ranks[0, -1]:,}",
            "own_rank_last": f"{self.ranks[-1, -1]:,}",
        }


_FIRST = curves.Style(theme.ROLES["output"])
_SECOND = curves.Style(theme.ROLES["ffn"], "dash", "x")
_LAST = curves.Style(theme.ROLES["residual"], "dot", "square")


def draw_paths(view: PathsView, names: Sequence[str], legend: Sequence[str], words: Mapping[str, str]) -> sheet.Sheet:
    """Ranks by depth, the first on top; ``words`` has "rank" and "depth", ``legend`` a name for each line."""
    styles = (_FIRST, _LAST) if len(legend) == 2 else (_FIRST, _SECOND, _LAST)
    depths = list(range(len(names)))
    figure = sheet.Sheet()
    for token, style, ranks, shares in zip(legend, styles, view.ranks.T, view.probs.T, strict=False):
        hovers = [
            hover(name, token, (words["rank"], f"{rank:,}")) + f" · {percent(float(share))}"
            for name, rank, share in zip(names, ranks, shares, strict=True)
        ]
        curves.line(figure, depths, ranks, style, name=token, marks=7, hover=hovers)
    top = float(np.log10(max(10, int(view.ranks.max()))))
    decades = [10**n for n in range(int(top) + 1)]
    ends = [top * 1.08, -0.12 * top]
    axes.logarithmic(figure, "y", words["rank"], 1, 10, decades, lambda rank: f"{rank:,}", range=ends)
    axes.columns(figure, names, words["depth"], most=10)
    return theme.finished(figure, height=330, legend="above")
