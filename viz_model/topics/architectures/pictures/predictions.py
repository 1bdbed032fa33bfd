"""The tokens that one model holds most probable."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.writing import heading, hover, percent
from viz_model.topics.architectures.pictures.common import COLOURS, HEADED


@brief
class ChoicesView(NamedTuple):
    """The k tokens that a model holds most probable at a position: ``labels`` [k] and ``probs`` [k]."""

    labels: tuple[str, ...]
    probs: np.ndarray


def draw_choices(view: ChoicesView, which: int, name: str) -> sheet.Sheet:
    """One bar a token, in the colour of the model, whose ``name`` stands above."""
    fill = {"color": COLOURS[which], "pattern": {"shape": ("", "/")[which], "size": 5}}
    probs = view.probs.tolist()
    hovers = [hover(label, ("", f"{p:.3%}")) for label, p in zip(view.labels, probs, strict=True)]
    figure = sheet.Sheet()
    bars.across(figure, view.probs, fill, width=0.8, outside=[percent(p) for p in probs], hover=hovers)
    axes.rows(figure, view.labels, longest=14, edge=0.5)
    axes.across(figure, visible=False, range=[0, float(view.probs.max()) * 1.25])
    heading(figure, name)
    return theme.finished(figure, height=HEADED + 30 + 30 * len(view.labels), margin={"t": HEADED})
