"""Where the block's parameters are."""

from __future__ import annotations

from collections.abc import Iterator

from viz_model.app import elements
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.topics.block.claims import PARAMETERS
from viz_model.topics.block.numbers import views
from viz_model.topics.block.pictures import weights
from viz_model.topics.block.pictures.weights import WeightsView
from viz_model.topics.block.sections.one_block import OneBlock


def section(block: OneBlock) -> None:
    page, view = block.page, views.weights_view(block.page.trace, block.page.view.layer)
    elements.told(page, _title, "weights_title", by=("layer",))
    picture, see = elements.split()
    with picture:
        labels = block.labels(*view.groups, "axis", of="weights_")
        elements.figure(
            page,
            lambda page: weights.draw_weights(views.weights_view(page.trace, page.view.layer), labels),
            "weights",
            page.words("weights_alt"),
            by=("layer",),
        )
    with see:
        elements.told(page, _tell, "weights_told", by=("layer",))
        config = page.lm.config
        if config.n_kv_heads < config.n_heads:
            elements.see(page, "weights_shared", n_heads=config.n_heads, n_kv_heads=config.n_kv_heads)


def _counted(page: Page) -> tuple[WeightsView, dict[str, object]]:
    view = views.weights_view(page.trace, page.view.layer)
    return view, OneBlock(page).facts | view.facts()


def _title(page: Page) -> Iterator[Said]:
    view, facts = _counted(page)
    yield title(page.verdict(PARAMETERS, view, **facts))


def _tell(page: Page) -> Iterator[str]:
    _, facts = _counted(page)
    yield page.prose(f"weights{OneBlock(page).crosses}", **facts)
