"""Two runs in one picture: its parts are those that the page shows one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from viz_model.drawing.brief import brief
from viz_model.drawing.heatmap import HeatmapView
from viz_model.drawing.scene import Scene
from viz_model.topics.architectures.pictures.apart import ApartView
from viz_model.topics.architectures.pictures.depth import DepthView
from viz_model.topics.architectures.pictures.predictions import ChoicesView

NARROWEST = 320
"""Pixels of a part: two stand side by side across a page and in a notebook, and one on a phone."""


@brief
class ComparedView(NamedTuple):
    """What two runs differ in.

    Attributes:
        places: layer, head and token that are looked at in each.
        choices: what each expects at its token; None of a model without logits.
        patterns: that head of each.
        depth: the length of the residual stream.
        apart: how far the patterns of all heads lie apart; None where heads or tokens of the two are not as many.
    """

    names: tuple[str, str]
    places: tuple[tuple[int, int, int], tuple[int, int, int]]
    choices: tuple[ChoicesView | None, ChoicesView | None]
    patterns: tuple[HeatmapView, HeatmapView]
    depth: DepthView
    apart: ApartView | None


def joined(parts: Mapping[str, Scene], key: str, title: str) -> Scene:
    """Scenes of one panel each as one, in this order, under the legends of all."""
    panels = [
        replace(panel, id=name, min=max(panel.min, NARROWEST)) for name, part in parts.items() for panel in part.panels
    ]
    return Scene(
        id=key,
        panels=panels,
        title=title,
        description=" ".join(part.title for part in parts.values()),
        words={name: text for part in parts.values() for name, text in part.words.items()},
        keys=[key for part in parts.values() for key in part.keys],
        note=" ".join(dict.fromkeys(part.note for part in parts.values() if part.note)),
        series=[series for part in parts.values() for series in part.series],
    )
