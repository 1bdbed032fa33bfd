"""The batch as stacks of sheets, one a sentence: ids, vectors, logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from viz_model.drawing import axes, boxes, sheet, theme
from viz_model.drawing.writing import note

HEIGHT = 226
SHIFT = (0.14, 0.11)
"""How far each sheet stands behind the one before it."""


class Stage(NamedTuple):
    """One form of the batch.

    Attributes:
        name: what it is.
        shape: written under it, sizes below their letters.
        width: of a sheet, against others.
        role: the hue.
        step: over the arrow that leads to it.
    """

    name: str
    shape: str
    width: float
    role: str
    step: str = ""


def draw_shapes(stages: Sequence[Stage], n_rows: int) -> sheet.Sheet:
    """The stages from left to right, each a sheet for every sentence."""
    figure = sheet.Sheet()
    left, gap, tall = 0.0, 1.15, 1.0
    for stage in stages:
        if stage.step:
            boxes.arrow(figure, (left - gap + 0.1, 0.6), (left - 0.1, 0.6))
            note(figure, stage.step, left - gap / 2, 0.68, size=theme.SMALL, yanchor="bottom")
        for n in reversed(range(n_rows)):
            x, y = left + n * SHIFT[0], n * SHIFT[1]
            look = {"color": theme.ROLES[stage.role], "width": 1}
            fill = theme.rgba(theme.ROLES[stage.role], 0.28)
            boxes.rectangle(figure, (x, x + stage.width), (y, y + tall), line=look, fillcolor=fill)
        middle = left + (stage.width + (n_rows - 1) * SHIFT[0]) / 2
        top = tall + (n_rows - 1) * SHIFT[1]
        note(figure, stage.name, middle, top, bold=True, yanchor="bottom", yshift=3)
        for below, line in enumerate(stage.shape.split(" = ")):
            note(figure, line, middle, 0, yanchor="top", yshift=-4 - 16 * below)
        left += stage.width + n_rows * SHIFT[0] + gap
    axes.hidden(figure, [-0.3, left - gap + 0.3], [-0.42, tall + 4 * SHIFT[1] + 0.12])
    return theme.finished(figure, height=HEIGHT)
