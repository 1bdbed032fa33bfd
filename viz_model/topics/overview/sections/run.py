"""What the sections of this page tell of: the whole run. Parts of it stay as they are while a visitor looks around."""

from __future__ import annotations

import functools
from typing import NamedTuple

from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.app.texts import literal
from viz_model.config import Side
from viz_model.drawing.writing import percent
from viz_model.topics.overview import numbers
from viz_model.topics.overview.numbers import views
from viz_model.topics.overview.pictures.overview import BlockView, OverviewView


@cached()
def block_of(run: runs.RunKey, side: Side, layer: int, pool: int) -> BlockView:
    """A block of the picture."""
    return views.block_view(runs.trace(run).at(side), layer, pool)


@cached()
def look_of(run: runs.RunKey, side: Side, token: int, attention: str) -> numbers.Look | None:
    """Where a token looks hardest."""
    return numbers.strongest_look(runs.trace(run).at(side), token, attention)


@cached()
def ascent_of(run: runs.RunKey, side: Side) -> numbers.Ascent:
    """Dimension 0 and the length of every vector on its way up."""
    return numbers.ascent(runs.trace(run).at(side))


class Run(NamedTuple):
    """The whole run, and for prose the chosen token with the best guess after it."""

    page: Page
    view: OverviewView
    facts: dict[str, str]

    @classmethod
    def of(cls, page: Page) -> Run:
        place = page.run_key, page.trace.stack.side
        block, look = functools.partial(block_of, *place), functools.partial(look_of, *place, page.token)
        view = views.overview_view(page.trace, page.token, page.view.layer, block, look)
        facts = {"token": page.token_name(), "guess": "", "chance": ""}
        if view.next_tokens:
            best, probability = view.next_tokens[0]
            facts |= {"guess": literal(best), "chance": percent(probability)}
        return cls(page, view, facts)

    @property
    def ascent(self) -> numbers.Ascent:
        return ascent_of(self.page.run_key, self.page.trace.stack.side)
