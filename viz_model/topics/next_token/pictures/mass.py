"""All of the probability as one bar: what is kept, and what is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import note
from viz_model.topics.next_token.pictures.choice import DROPPED, ChoiceView


def draw_mass(view: ChoiceView, names: Mapping[str, str]) -> sheet.Sheet:
    """``names`` holds "kept_mass" and "dropped_mass"."""
    figure = sheet.Sheet()
    mass = 1.0 if view.kept.all() else min(1.0, view.kept_mass)
    # What is kept is named above the bar and what is dropped below, so that neither needs room in it.
    parts: list[tuple[str, float, Any, dict[str, Any]]] = [
        (names["kept_mass"], mass, {"color": theme.ROLES["output"]}, {"x": 0, "y": 1, "xanchor": "left"})
    ]
    if mass < 1:
        parts.append((names["dropped_mass"], 1 - mass, bars.hatched(DROPPED), {"x": 1, "y": 0, "xanchor": "right"}))
    for name, share, fill, place in parts:
        bars.across(figure, [share], fill, width=None, hover=[theme.plain(name)])
        upward = "bottom" if place["y"] else "top"
        colour = theme.INK if place["y"] else DROPPED
        note(figure, name, colour=colour, xref="paper", yref="paper", yanchor=upward, **place)
    figure.update_layout(barmode="stack", bargap=0)
    axes.hidden(figure, [0, 1], automargin=False)
    return theme.finished(figure, height=84, margin={"t": 26, "b": 26, "l": 0, "r": 0})
