"""The row of the selected token: what all parts of the page are given."""

from __future__ import annotations

from dataclasses import dataclass

from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.texts.markdown import literal
from viz_model.topics.embedding.numbers import Geometry, by_hand, views
from viz_model.topics.embedding.numbers import geometry as geometry_of
from viz_model.topics.embedding.pictures.neighbours import NeighboursView


@cached()
def geometry(model: str) -> Geometry:
    """Nearest rows and principal directions of a model's embedding table."""
    return geometry_of(runs.model(model).model.embedding.weight.detach().numpy())


@cached()
def _near(run: runs.RunKey, side: Side, token: int) -> NeighboursView:
    return views.neighbours_view(runs.trace(run).at(side), geometry(run.model), token)


@dataclass(frozen=True)
class Row:
    """The selected token's row among those of the table; ``facts`` are its numbers and names, for texts."""

    page: Page
    geometry: Geometry
    near: NeighboursView
    facts: dict[str, str]

    @classmethod
    def of(cls, page: Page) -> Row:
        table = geometry(page.view.model)
        near = _near(page.run_key, page.trace.stack.side, page.token)
        names = {
            "token": page.token_name(),
            "near": literal(near.labels[0]) if near.labels else "",
            "cosine": f"{near.cosines[0]:.2f}" if near.labels else "",
        }
        return cls(page, table, near, {**by_hand.facts(page.trace, table, page.token), **names})

    @property
    def axes(self) -> tuple[str, str]:
        return self.page.t("common.axis_token"), self.page.t("common.axis_dimension")
