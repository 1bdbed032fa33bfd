"""How much each head writes in a run, and in the same run with a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme


class WrittenView(NamedTuple):
    """‖what each head writes‖ at one position, [H] in the run as it is and in the changed one."""

    before: np.ndarray
    after: np.ndarray
    site: str


def draw_written(view: WrittenView, names: Mapping[str, str], head: int) -> sheet.Sheet:
    """Two bars a head ("before", "after"); "head" and "length" name the axes. The chosen head stands out."""
    figure = sheet.Sheet()
    heads = [str(h) for h in range(len(view.before))]
    for name, values, role in (("before", view.before, "residual"), ("after", view.after, "value")):
        hover = f"{theme.plain(names['head'])} %{{x}}<br>{theme.plain(names[name])}: <b>%{{y:.4f}}</b>"
        bars.upward(figure, values, theme.ROLES[role], columns=heads, name=names[name], hover=hover, extra=view.site)
    axes.columns(figure, heads, names["head"], bold=[head], type="category")
    axes.upward(figure, names["length"], grid=True, nticks=5)
    return theme.finished(figure, height=300, margin={"t": 30}, legend="above")
