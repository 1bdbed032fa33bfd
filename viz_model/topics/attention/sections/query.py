"""What the sections of this page tell of: the chosen head, and what the chosen token reads there."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.app import ahead
from viz_model.app.page import Page
from viz_model.measures.heads import Largest, largest
from viz_model.topics.attention.numbers import views
from viz_model.topics.attention.numbers.layer import shared_facts
from viz_model.topics.attention.pictures.steps import StepsView


class Query(NamedTuple):
    """The chosen token in the chosen head.

    Attributes:
        steps: from its products to its mixed value.
        largest: the position that it reads most, and its weight.
        facts: its names, for texts.
        shared: about keys and values that heads share; empty where they do not.
    """

    page: Page
    steps: StepsView
    largest: Largest
    facts: dict[str, object]
    shared: dict[str, str]

    @classmethod
    def of(cls, page: Page) -> Query:
        layer, head = page.view.layer, page.view.head
        steps = ahead.once(views.steps_view, page.trace, layer, head, page.token)
        row = largest(steps.pattern, steps.n_seen)
        names = {"token": page.token_name(), "key": page.token_name(row.at)}
        shared = shared_facts(page.lm.config, head)
        return cls(page, steps, row, {"head": head, "layer": layer, **names}, shared)
