"""The position page: one layout for each scheme that has a story of its own, and one for any other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Topic, show
from viz_model.island.page import Trials
from viz_model.topics.position import choices, numbers
from viz_model.topics.position.sections import (
    alibi,
    beyond,
    buckets,
    declared,
    learned,
    nothing,
    places,
    relative,
    rotation,
    schemes,
    waves,
)

OWN: dict[str, Layout[Any]] = {
    "sinusoidal": waves.LAYOUT,
    "learned": learned.LAYOUT,
    "rope": rotation.LAYOUT,
    "alibi": alibi.LAYOUT,
    "t5bias": buckets.LAYOUT,
    "noposition": nothing.LAYOUT,
}

TRIALS = Trials(("position", "shuffle"), ("angles", "waves"))
OF_ALL = (
    Door("longer", (beyond.section,), (choices.BEYOND,)),
    Door("schemes", (schemes.section, relative.section), (choices.RELATIVE,)),
)


def layout(page: Page) -> Layout[Any]:
    """Of the scheme of the layer that is looked at. Of any other than these, what it declares is shown."""
    schemes.differ(page)
    scheme = schemes.own(page)
    # That order is lost where nothing tells it is true of a model, not of a layer among others.
    alone = scheme.acts_on != "nothing" or schemes.present(page) == {scheme}
    found = OWN.get(numbers.scheme_name(scheme), declared.LAYOUT) if alone else declared.LAYOUT
    return _whole(found)


def _whole(own: Layout[Any]) -> Layout[Any]:
    """What a scheme has of its own, then what is told of all."""
    return replace(own, sections=(*own.sections, *OF_ALL), trials=TRIALS)


TOPIC = Topic(
    name="position",
    layout=layout,
    layouts=tuple(map(_whole, (*OWN.values(), declared.LAYOUT))),
    choices=choices.ALL,
    pictures=replace(places.LAYOUT, trials=Trials(("position", "shuffle"))),
    pictures_need="embed.position",
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
