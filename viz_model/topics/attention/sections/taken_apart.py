"""The four tabs of this page, and its question."""

from __future__ import annotations

from viz_model.app import elements
from viz_model.topics.attention.choices import MATRIX
from viz_model.topics.attention.numbers import by_hand, layer
from viz_model.topics.attention.sections.query import Query


def formula(query: Query) -> None:
    page, config = query.page, query.page.lm.config
    elements.see(page, layer.heads_text(config), **layer.sizes(config))
    if query.shared:
        elements.see(page, "heads_shared", **query.shared, d_head=config.d_head)
    elements.formula(page, *layer.formulas(page.trace, page.view.layer))


def hand(query: Query) -> None:
    page, steps = query.page, query.steps
    elements.see(page, "hand", **query.facts)
    sums = by_hand.by_hand(steps, query.strongest)
    sums |= by_hand.heads_by_hand(page.trace, page.view.layer, page.token)
    for n, part in enumerate(layer.hand_parts(steps, page.lm.config), start=1):
        elements.see(page, f"hand_{part}", n=n, **sums)


def code(query: Query) -> None:
    elements.code(query.page, sites=layer.code(query.page.trace, query.page.view.layer))


def numbers(query: Query) -> None:
    page, trace, head = query.page, query.page.trace, query.page.view.head
    matrix = elements.on_offer(page, MATRIX, layer.matrices(trace, page.view.layer))
    site = page.at(f"attn.{matrix}")
    exact, labels = trace.head(site, head).numpy(), page.token_labels
    elements.table(page, f"{trace.full_name(site)}[{head}]", exact, labels, labels, "matrix")


def question(query: Query) -> None:
    two_way = "two_way" in layer.sight(query.page.trace, query.page.view.layer)
    elements.question(query.page, *(("question_two_way", "answer_two_way") if two_way else ()))
