"""The length of the residual stream by depth in both models."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.curves import Style
from viz_model.drawing.writing import hover
from viz_model.topics.architectures.pictures.common import COLOURS, SYMBOLS, Words

STYLES = tuple(
    Style(colour, dash, symbol, 2.5) for colour, dash, symbol in zip(COLOURS, ("solid", "dash"), SYMBOLS, strict=True)
)


@brief
class DepthView(NamedTuple):
    """The residual stream's length by depth in both models: mean over the tokens, [L + 1] each.

    ``share`` is how far through the blocks, 0 to 1, so that models of any depth share an axis.
    """

    names: tuple[str, str]
    sites: tuple[tuple[str, ...], tuple[str, ...]]
    share: tuple[np.ndarray, np.ndarray]
    mean: tuple[np.ndarray, np.ndarray]

    def facts(self) -> dict[str, str]:
        """For prose, ``first_`` and ``second_``: the stream's length at both ends, and the factor between them."""
        found = {}
        for which, mean in zip(("first", "second"), self.mean, strict=True):
            found[f"{which}_begin"], found[f"{which}_end"] = f"{mean[0]:.3g}", f"{mean[-1]:.3g}"
            growth = float(mean[-1] / mean[0])
            found[f"{which}_growth"] = f"{growth:.2g}" if growth < 10 else f"{growth:,.0f}"
        return found


def draw_depth(view: DepthView, words: Words) -> sheet.Sheet:
    """One line a model; logarithmic where the lengths differ more than thirtyfold."""
    figure = sheet.Sheet()
    for name, sites, share, mean, style in zip(*view, STYLES, strict=True):
        hovers = [hover(site, ("", f"{length:.3f}")) for site, length in zip(sites, mean, strict=True)]
        curves.line(figure, share, mean, style, name=name, marks=8, hover=hovers, extra=name, customdata=list(sites))
    every = np.concatenate(view.mean)
    is_wide = every.max() > 30 * every.min() > 0
    scale = {"type": "log", "dtick": 1} if is_wide else {"rangemode": "tozero"}
    axes.across(figure, words("depth_axis"), small=True, tickformat=".0%")
    axes.upward(figure, words("depth_length"), small=True, grid=True, **scale)
    return theme.finished(figure, height=300, legend="above")
