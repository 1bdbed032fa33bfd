"""The page context under its former name, with its elements as methods."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from viz_model.app import elements, frame, topic
from viz_model.app.page import Page
from viz_model.app.topic import Layout, Topic
from viz_model.config import ModelConfig


class Stage(Page):
    """A :class:`Page` with methods for what are functions of :mod:`viz_model.app.elements`."""

    figure: Any = lambda self, *args, **named: elements.figure(self, *args, **named)
    strips: Any = lambda self, *args, **named: elements.heat_rows(self, *args, **named)
    source: Any = lambda self, *args, **named: elements.source(self, *args, **named)
    see: Any = lambda self, *args, **named: elements.see(self, *args, **named)
    formula: Any = lambda self, *args, **named: elements.formula(self, *args, **named)
    code: Any = lambda self, *args, **named: elements.code(self, *args, **named)
    table: Any = lambda self, *args, **named: elements.table(self, *args, **named)
    records: Any = lambda self, *args, **named: elements.records(self, *args, **named)
    tabs: Any = lambda self, *args: elements.four_tabs(self, *args)
    question: Any = lambda self, *args, **named: elements.question(self, *args, **named)
    split: Any = lambda self: elements.split()
    asked = Page.run_key

    @property
    def start(self) -> str:
        return frame.start(self.trace, self.t)


def show(
    name: str,
    draw: Callable[[Stage], None],
    told_as: Callable[[ModelConfig], str] | None = None,
    *,
    without: Collection[str] = (),
) -> None:
    def stage_of(page: Page) -> Stage:
        return Stage(**vars(page))

    topic.show(Topic(name, Layout(stage_of, (draw,)), without=frozenset(without), text_key=told_as))
