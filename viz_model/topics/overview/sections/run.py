"""What the sections of this page tell of: the whole run. Parts of it stay as they are while a visitor looks around."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.writing import percent
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import Token
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
def best_of(run: runs.RunKey, side: Side, token: int) -> tuple[Token, float]:
    """The first guess after a token, and its probability."""
    return runs.trace(run).at(side).next_tokens(token, 1)[0]


@cached()
def ascent_of(run: runs.RunKey, side: Side) -> numbers.Ascent:
    """Dimension 0 and the length of every vector on its way up."""
    return numbers.ascent(runs.trace(run).at(side))


@dataclass(frozen=True)
class Run:
    """The whole run, and for prose the chosen token with the best guess after it."""

    page: Page

    @functools.cached_property
    def view(self) -> OverviewView:
        page = self.page
        block = functools.partial(block_of, page.run_key, page.trace.stack.side)
        return views.overview_view(page.trace, page.token, page.view.layer, block, self.look)

    def look(self, attention: str) -> numbers.Look | None:
        return look_of(self.page.run_key, self.page.trace.stack.side, self.page.token, attention)

    @property
    def best(self) -> tuple[Token, float] | None:
        """The first guess after the chosen token, and its probability; None of a stack that predicts nothing."""
        page = self.page
        return best_of(page.run_key, page.trace.stack.side, page.token) if "logits" in page.trace else None

    @property
    def facts(self) -> dict[str, str]:
        best = self.best
        guess, chance = (literal(best[0].label), percent(best[1])) if best else ("", "")
        return {"token": self.page.token_name(), "guess": guess, "chance": chance}

    @property
    def ascent(self) -> numbers.Ascent:
        return ascent_of(self.page.run_key, self.page.trace.stack.side)
