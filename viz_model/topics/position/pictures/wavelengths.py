"""How many tokens each pair takes for one turn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.drawing.writing import note

USED = Style(theme.ROLES["position"], width=2.4)
UNSCALED = Style(theme.ROLES["residual"], "dash", width=1.8)
LEVEL = {"color": theme.rgba(theme.ROLES["residual"], 0.8), "width": 1, "dash": "dot"}


class WavelengthView(NamedTuple):
    """Positions in one full turn of every pair, [R/2], and what to compare them with.

    ``unscaled`` [R/2] is None where the model's frequencies are those of the formula.
    """

    pair: int
    used: np.ndarray
    unscaled: np.ndarray | None
    length: int
    n_context: int


def draw_wavelengths(view: WavelengthView, words: Mapping[str, str], height: int = 380) -> sheet.Sheet:
    """Wave length over pair on a logarithmic axis, with the sentence and the context as lines."""
    pairs = np.arange(len(view.used))
    told = f"{theme.plain(words['pair'])} %{{x}}<br><b>%{{y:,.1f}}</b>"
    figure = sheet.Sheet()
    if view.unscaled is not None:
        curves.line(figure, pairs, view.unscaled, UNSCALED, name=words["unscaled"], hover=told)
    marker = {
        "size": [12 if n == view.pair else 6 for n in pairs],
        "line": {"color": theme.HIGHLIGHT, "width": [2.5 if n == view.pair else 0 for n in pairs]},
    }
    curves.line(figure, pairs, view.used, USED, name=words["used"], marks=6, marker=marker, hover=told)
    for length, name in ((view.length, words["sentence"]), (view.n_context, words["context"])):
        figure.add_hline(y=length, line=LEVEL)
        note(figure, name, 1, math.log10(length), xref="paper", xanchor="right", yanchor="bottom")
    axes.across(figure, words["pair"])
    axes.upward(figure, words["wavelength"], type="log", dtick=1, showgrid=True, gridcolor=theme.MASKED)
    legend = None if view.unscaled is None else "below"
    return theme.finished(figure, height=height, legend=legend, fixed=False)  # type: ignore[arg-type]
