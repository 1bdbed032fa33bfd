"""Which tokens a vector pushes up, and which down: for several sections."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from viz_model.app import elements
from viz_model.app.ahead import Dimension
from viz_model.topics.attribution.pictures.pushes import PushesView, draw_pushes
from viz_model.topics.attribution.sections.question import Question


def draw(question: Question, view: Callable[[Question], PushesView], key: str, by: Sequence[Dimension]) -> None:
    words = question.page.words
    labels = {name: words(f"pushes_{name}") for name in ("up", "down", "axis")}
    elements.figure(
        question.opened,
        lambda page: draw_pushes(view(Question.of(page)), labels),
        f"pushes_{key}",
        words("pushes_alt"),
        by=by,
    )
