"""A table: each target token, and the source token it reads most, by head, layer and model."""

from __future__ import annotations

from collections.abc import Iterator

from viz_model.app import elements
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.sections.weights import Weights


def section(weights: Weights) -> None:
    page, view, source = weights.page, weights.page.view, weights.source
    elements.told(page, _tell, "reading")
    columns: dict[str, list[object]] = {page.words("axis_target"): list(page.token_labels)}
    for which, (positions, shares) in cross.reading(page.trace, view.layer, view.head)._asdict().items():
        title = page.words(f"by_{which}", layer=view.layer, head=view.head)
        columns[title] = [source[i] for i in positions]
        columns[f"{title}: {page.words('weight')}"] = shares.tolist()
    elements.records(page, "reading", columns)


def _tell(page: Page) -> Iterator[Said | str]:
    facts = Weights.of(page).facts
    yield title(page.words("reading_title", **facts))
    yield page.prose("reading", **facts)
