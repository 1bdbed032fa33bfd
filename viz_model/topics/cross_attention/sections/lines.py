"""Target and source as two columns, joined by lines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from viz_model.app import elements, state
from viz_model.app.elements import Said, note, title
from viz_model.app.page import Page
from viz_model.app.saving import Known
from viz_model.drawing import lines
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.scene import Scene
from viz_model.measures.heads import STRONGEST, largest
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.choices import SHOWN
from viz_model.topics.cross_attention.sections.weights import Weights


def section(weights: Weights) -> None:
    page = weights.page
    picture, see = elements.split()
    with picture:
        elements.choose(page, SHOWN, ("head", "average"))
        names = weights.labels("lines", lines.WORDS)

        def drawn(page: Page) -> Scene:
            name, picks = page.words("lines_title"), "token" in page.without
            return lines.scene(_view(Weights.of(page)), "cross_attention.lines", name, names, picks=picks)

        elements.picture(page, drawn, "lines", on_pick=follow, known=partial(_known, weights))
        elements.source(page, page.at("cross.pattern"))
    with see:
        elements.told(page, _tell, "see")


def _view(weights: Weights) -> lines.LinesView:
    target = cross.target_labels(weights.page.trace)
    return lines.LinesView.of(weights.pattern, target, weights.source, weights.page.token)


def _tell(page: Page) -> Iterator[Said | str]:
    weights = Weights.of(page)
    view, row = _view(weights), largest(weights.pattern[page.token])
    yield title(STRONGEST.label(page.t.language, row, **weights.facts))
    of = page.words(f"of_{weights.shown}", **weights.facts)
    yield page.verdict(STRONGEST, row, **weights.facts, of=of)
    yield page.prose(f"see_{weights.shown}", **weights.facts)
    if view.weights.shape != weights.pattern.shape:
        yield note(page.words("window", share=f"{view.share:.0%}"))


def _known(weights: Weights) -> Known:
    page = weights.page
    if weights.shown != "head":
        return Known()
    return Known(where=(Cells(page.at("cross.pattern"), (page.view.head, ROW, COLUMN)),))


def follow(position: int) -> None:
    """Select a token of the target."""
    state.update(side="decoder", token=position)
