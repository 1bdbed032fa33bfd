"""No position scheme: what order is left, measured."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.app.topic import Layout, Tabs
from viz_model.topics.position import numbers
from viz_model.topics.position.numbers import OrderEffect, by_hand
from viz_model.topics.position.pictures.order import draw_effect
from viz_model.topics.position.sections import schemes, scores


@dataclass(frozen=True)
class Reordered:
    """What another order changes; None where there is none to try."""

    page: Page
    effect: OrderEffect | None

    @classmethod
    def of(cls, page: Page) -> Reordered:
        return cls(page, numbers.order_effect(page.trace, page.token))


def effect(given: Reordered) -> None:
    page, measured = given.page, given.effect
    elements.see(page, "none_lead")
    picture, see = elements.split()
    with picture:
        if measured is None:
            st.info(page.words("none_short"), icon=":material/swap_horiz:")
        else:
            labels = scores.words(page, "none", "own_mask", "no_mask", "layer", "change")
            elements.figure(page, draw_effect(measured, labels), "effect", page.words("none_alt"))
        elements.source(page, page.at("resid.out"))
    if measured is not None:
        with see:
            elements.see(
                page,
                "none_see",
                token=page.token_name(),
                count=page.token,
                first=f"{measured.own_mask[0]:.2g}",
                last=f"{measured.own_mask[-1]:.2g}",
                largest=f"{measured.no_mask.max():.2g}",
            )
            elements.see(page, f"none_{measured.verdict}")


def formula(given: Reordered) -> None:
    page = given.page
    sites = (page.at(f"attn.{name}") for name in ("scores", "mask", "masked", "pattern"))
    elements.formula(page, "embed.out", *sites)
    elements.see(page, "none_formula")


def hand(given: Reordered) -> None:
    page, view = given.page, given.page.view
    mixture = by_hand.mixture_by_hand(page.trace, view.layer, view.head, page.token)
    terms = "  \n".join(f"{page.token_name(key)}: ${term}$" for key, term in mixture.terms)
    facts = {"layer": view.layer, "head": view.head, "sum": mixture.total, "recorded": mixture.recorded}
    elements.see(page, "none_hand", token=page.token_name(), terms=terms, **facts)


def code(given: Reordered) -> None:
    elements.code(given.page, "position_none")


def tables(given: Reordered) -> None:
    page = given.page
    if given.effect is not None:
        own, bare = given.effect.own_mask.tolist(), given.effect.no_mask.tolist()
        elements.records(page, "order_effect", {"layer": range(len(own)), "own_mask": own, "no_mask": bare})
    names = page.token_labels, page.dimension_labels
    elements.table(page, "embed.out", page.trace["embed.out"].numpy(), *names, "input")


def question(given: Reordered) -> None:
    elements.question(given.page, "none_question", "none_answer")


LAYOUT = Layout(
    of=Reordered.of,
    sections=(effect, schemes.section),
    tabs=Tabs(formula, hand, code, tables),
    question=question,
)
