"""Looks at runs as the page on what comes out has them."""

from dataclasses import replace
from typing import Any

import islands

import viz_model as vm
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.topics import next_token as topic
from viz_model.topics.next_token import asked as asking


def look_at(
    trace: vm.Trace,
    sampling: vm.Sampling = asking.USUAL,
    lang: str = "en",
    options: dict[str, str] | None = None,
    **place: Any,
) -> Look:
    """A look at a run as its page has it where so is sampled."""
    page = topic.TOPIC.page(trace.config)
    assert page is not None
    look = islands.look(trace, page, lang, **place)
    return replace(look, options={**asking.written(sampling), **(options or {})})


def mark(scene: Scene, id: str) -> Any:
    """A mark of a picture's first panel."""
    return next(mark for mark in scene.panels[0].marks if mark.id == id)
