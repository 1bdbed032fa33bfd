"""Which tokens a vector pushes up, and which down: for several sections."""

from __future__ import annotations

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.topics.attribution.pictures.pushes import PushesView, draw_pushes


def draw(page: Page, view: PushesView, key: str) -> None:
    labels = {name: page.words(f"pushes_{name}") for name in ("up", "down", "axis")}
    elements.figure(page, draw_pushes(view, labels), f"pushes_{key}", page.words("pushes_alt"))
