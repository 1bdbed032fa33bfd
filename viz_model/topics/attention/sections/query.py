"""What the sections of this page tell of: the chosen head, and what the chosen token reads there."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.app.page import Page
from viz_model.topics.attention.pictures import attention


class Query(NamedTuple):
    """The chosen token in the chosen head.

    Attributes:
        steps: from its products to its mixed value.
        strongest: the position that it reads most.
        facts: its names, for texts.
        shared: about keys and values that heads share; empty where they do not.
    """

    page: Page
    steps: attention.StepsView
    strongest: int
    facts: dict[str, object]
    shared: dict[str, str]

    @classmethod
    def of(cls, page: Page) -> Query:
        layer, head = page.view.layer, page.view.head
        steps = attention.StepsView.of(page.trace, layer, head, page.token)
        strongest = int(steps.pattern.argmax())
        names = {"token": page.token_name(), "key": page.token_name(strongest)}
        shared = attention.shared_facts(page.lm.config, head)
        return cls(page, steps, strongest, {"head": head, "layer": layer, **names}, shared)
