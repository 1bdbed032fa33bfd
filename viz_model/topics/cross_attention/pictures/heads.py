"""How much each head writes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import hover


def draw_heads(lengths: np.ndarray, selected: int, names: Mapping[str, str]) -> sheet.Sheet:
    """The length of the vector that each head writes into the token's stream, [H]; one head in full colour.

    ``names`` has "head" and "length".
    """
    colour = theme.ROLES["value"]
    fill = [theme.rgba(colour, 1.0 if head == selected else 0.4) for head in range(len(lengths))]
    hovers = [hover(f"{names['head']} {head}", ("", f"{length:.4f}")) for head, length in enumerate(lengths)]
    figure = sheet.Sheet()
    bars.upward(figure, lengths, fill, hover=hovers)
    axes.columns(figure, [str(head) for head in range(len(lengths))], names["head"])
    axes.upward(figure, names["length"], nticks=5)
    return theme.finished(figure, height=54 + 60 * 3)
