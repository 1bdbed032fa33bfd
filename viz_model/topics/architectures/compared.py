"""Two runs in one picture: what each expects, a head of each, their streams, and how far their heads lie apart."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from viz_model.drawing.heatmap import HeatmapView
from viz_model.drawing.scene import Scene, seen
from viz_model.drawing.short_repr import short_repr
from viz_model.island.look import Look
from viz_model.topics.architectures import choices, depth, heads, pair
from viz_model.topics.architectures.choices import ChoicesView
from viz_model.topics.architectures.depth import DepthView
from viz_model.topics.architectures.heads import ApartView

NARROWEST = 320
"""Pixels of a part: two stand side by side across a page and in a notebook, and one on a phone."""


@short_repr
class ComparedView(NamedTuple):
    """What two runs differ in.

    Attributes:
        places: layer, head and token that are looked at in each.
        choices: what each expects at its token; None of a model without logits.
        patterns: that head of each; None of a model in which layers hold states.
        depth: the length of the residual stream.
        apart: how far the patterns of all heads lie apart; None where heads or tokens of the two are not as many.
    """

    names: tuple[str, str]
    places: tuple[tuple[int, int, int], tuple[int, int, int]]
    choices: tuple[ChoicesView | None, ChoicesView | None]
    patterns: tuple[HeatmapView | None, HeatmapView | None]
    depth: DepthView
    apart: ApartView | None


def parts(look: Look) -> dict[str, Scene]:
    """Each picture for itself, at the selected place, by its name."""
    first, second = pair.both(look)
    drawn = {
        "choices0": choices.draw(look, first),
        "choices1": choices.draw(look, second),
        "head0": heads.draw(look, first),
        "head1": heads.draw(look, second),
        "depth": depth.draw(look).scene if depth.view(look) else None,
        "distances": heads.draw_distances(look),
    }
    return {name: seen(scene, look.place) for name, scene in drawn.items() if scene is not None}


def view(look: Look, made: Mapping[str, Scene]) -> ComparedView:
    """What all parts were drawn from."""
    data: dict[str, Any] = {name: scene.data for name, scene in made.items()}
    return ComparedView(
        (pair.both(look)[0].name, pair.both(look)[1].name),
        (place(look, 0), place(look, 1)),
        (data.get("choices0"), data.get("choices1")),
        (data.get("head0"), data.get("head1")),
        data["depth"],
        data.get("distances"),
    )


def place(look: Look, which: int) -> tuple[int, int, int]:
    """The layer, head and token of one of the two."""
    one = pair.both(look)[which]
    layer, head = pair.layers_of(look, one)[look.layer], pair.heads_of(look, one)[look.head]
    return int(layer), int(head), int(pair.tokens_of(look, one)[look.token])


def joined(look: Look, made: Mapping[str, Scene]) -> Scene:
    """Scenes of one panel each as one, in this order, under the legends of all."""
    panels = [
        replace(panel, id=name, min=max(panel.min, NARROWEST)) for name, part in made.items() for panel in part.panels
    ]
    first, second = (one.name for one in pair.both(look))
    return Scene(
        id="compare",
        panels=panels,
        title=look.words("compared_title", first=first, second=second),
        description=" ".join(part.title for part in made.values()),
        words={name: text for part in made.values() for name, text in part.words.items()},
        keys=[key for part in made.values() for key in part.keys],
        note=" ".join(dict.fromkeys(part.note for part in made.values() if part.note)),
        series=[series for part in made.values() for series in part.series],
        sites=tuple(dict.fromkeys(site for part in made.values() if part.own for site in part.sites)),
        data=view(look, made),
    )
