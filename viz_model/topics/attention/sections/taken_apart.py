"""The four tabs of this page, and its question."""

from __future__ import annotations

from typing import Any

from viz_model.app import ahead, elements
from viz_model.app.elements import Guess
from viz_model.app.page import Page
from viz_model.drawing.writing import percent
from viz_model.runs.trace import Trace
from viz_model.topics.attention.choices import MATRIX
from viz_model.topics.attention.numbers import layer
from viz_model.topics.attention.sections import by_hand
from viz_model.topics.attention.sections.query import Query


def formula(query: Query) -> None:
    elements.formula(query.page, *layer.formulas(query.page.trace, query.page.view.layer))


def hand(query: Query) -> None:
    page, view = query.page, query.page.view
    elements.see(page, "hand", **query.facts)
    numbers = by_hand.parts(page.trace, view.layer, view.head, page.token, query.largest.at)
    config = page.lm.config
    caps: dict[str, Any] = {"root_of": f"{config.root_of:g}", "cap": f"{config.score_cap or 0:g}"}
    elements.worked(page, numbers, n_seen=query.steps.n_seen, d_head=config.d_head, **caps)


def code(query: Query) -> None:
    elements.code(query.page, sites=layer.code(query.page.trace, query.page.view.layer))


def numbers(query: Query) -> None:
    page, trace, head = query.page, query.page.trace, query.page.view.head
    matrix = elements.on_offer(page, MATRIX, layer.matrices(trace, page.view.layer))
    site = page.at(f"attn.{matrix}")
    exact, labels = trace.head(site, head).numpy(), page.token_labels
    elements.table(page, f"{trace.full_name(site)}[{head}]", exact, labels, labels, "matrix")


def question(query: Query) -> None:
    page = query.page
    suffix = "_two_way" if page.trace.stack.side == "encoder" else ""
    asked = f"question{suffix}", f"answer{suffix}"
    if len(page.trace) < 2:
        elements.question(page, *asked)
        return
    elements.question(page, *asked, guess=_guess, in_this_run=_here)


def _here(page: Page) -> str:
    """Which head it is."""
    before = _to_the_one_before(page)
    most = max(range(len(before)), key=before.__getitem__)
    return page.prose("here", layer=page.view.layer, most=most, share=percent(before[most]))


def _guess(page: Page) -> Guess | None:
    heads = elements.of_heads(page, _to_the_one_before(page))
    return elements.largest(page, heads, percent, layer=page.view.layer)


def _to_the_one_before(page: Page) -> list[float]:
    """For each head of the layer the mean weight of the token just before."""
    return ahead.once(_before, page.trace, page.at("attn.pattern"))


def _before(trace: Trace, pattern: str) -> list[float]:
    weights: list[float] = trace[pattern].diagonal(offset=-1, dim1=-2, dim2=-1).mean(-1).tolist()
    return weights
