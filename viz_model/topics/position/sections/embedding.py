"""What is added to the embedding: how alike its rows are, the sum, and the tabs that all such schemes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.topics.position import numbers
from viz_model.topics.position.choices import WHOLE
from viz_model.topics.position.claims import ALIKE
from viz_model.topics.position.numbers import by_hand, views
from viz_model.topics.position.pictures.similarity import SimilarityView, draw_by_distance, draw_similarity
from viz_model.topics.position.pictures.sum import draw_normed, draw_sum, draw_sums
from viz_model.topics.position.sections.schemes import Shown


def alike(page: Page, view: SimilarityView, name: str, told: str, curves: tuple[str, ...] = ()) -> None:
    """Two pictures of how alike positions are; ``told`` begins the names of their texts."""
    st.subheader(name, anchor=False)
    square, curve = st.columns(2, gap="large")
    axis = page.t("common.axis_token")
    with square:
        elements.figure(
            page,
            lambda page: draw_similarity(view._replace(token=page.token), (axis, axis)),
            "similarity",
            page.words(f"{told}similarity_alt"),
            by=("token",),
        )
    with curve:
        drawn = draw_by_distance(view, (page.words("distance"), page.words("cosine")), curves)
        elements.figure(page, drawn, "distance", page.words(f"{told}distance_alt"), by=())
    elements.source(page, "embed.position")
    elements.say(page, ALIKE, view.spread, spread=f"{view.spread:.2g}")


def context(page: Page) -> dict[str, str]:
    """The context in words, and how much of it is compared."""
    size = page.lm.config.n_context
    return {"context": f"{size:,}", "last_position": f"{size - 1:,}", "compared": f"{min(size, numbers.MAX_ROWS):,}"}


def total(page: Page, columns: Callable[[Page], tuple[int, ...]]) -> None:
    """Embedding + position = what block 0 reads; ``columns`` are marked."""
    axis, view = page.t("common.axis_dimension"), views.sum_view(page.trace, page.token)
    elements.told(page, _sum_title, "sum_title", by=("token",))
    names = [page.words("strip_" + site.removeprefix("embed.")) for site in view.sites[:-1]]
    names = [name if n == 0 else f"+ {name}" for n, name in enumerate(names)]
    strips = (*names, page.words("strip_total" if view.normed is None else "strip_read"))
    is_whole = elements.control(page, WHOLE, st.toggle, help=None)

    def drawn(page: Page) -> Sheet:
        if is_whole:
            matrices = views.sum_views(page.trace, page.token, (page.t("common.axis_token"), axis))
            return draw_sums(matrices, strips, axis, columns(page))
        return draw_sum(views.sum_view(page.trace, page.token), strips, axis, columns(page))

    elements.figure(page, drawn, "sum", page.words("sum_alt"), by=("token",))
    if view.normed is not None:
        name = page.words("strip_normed")
        elements.figure(
            page,
            lambda page: draw_normed(views.sum_view(page.trace, page.token), name, axis, columns(page)),
            "normed",
            name,
            by=("token",),
        )
    elements.source(page, *view.named)
    elements.told(page, _tell_sum, "sum", by=("token",))


def _sum_title(page: Page) -> Iterator[Said]:
    is_sum = views.sum_view(page.trace, page.token).normed is None
    yield title(page.words("sum" if is_sum else "sum_normed", token=page.token_name()))


def _tell_sum(page: Page) -> Iterator[str]:
    yield page.prose("sum", token=page.token_name(), **views.sum_view(page.trace, page.token).text_values)


def sum_by_hand(page: Page, column: int) -> None:
    """One cell of what the token brings and what its position adds."""
    facts = by_hand.row_by_hand(page.trace, page.token, column)
    elements.see(page, "hand_sum", **facts, token=page.token_name())


def code(given: Shown) -> None:
    """Where position enters, then the embedding's other parts."""
    others = (name for name in given.page.trace.sites if name.startswith("embed."))
    elements.code(given.page, sites=tuple(dict.fromkeys(("embed.position", *others))))


def tables(given: Shown) -> None:
    """The rows that are added up for the token, and the positions of all."""
    page = given.page
    view = views.sum_view(page.trace, page.token)
    elements.table(page, f"embed[{page.token}]", view.strips, view.sites, page.dimension_labels, "sum")
    rows = page.trace["embed.position"].numpy()
    elements.table(page, "embed.position", rows, page.token_labels, page.dimension_labels, "waves")
