"""No position scheme: what order is left, measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st

from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.drawn import Drawn
from viz_model.app.elements import Guess, Option
from viz_model.app.page import Page
from viz_model.app.topic import Layout, Tabs
from viz_model.config import Side
from viz_model.drawing.writing import percent
from viz_model.topics.position import figures, numbers
from viz_model.topics.position.claims import ORDER
from viz_model.topics.position.numbers import OrderEffect
from viz_model.topics.position.sections.worked import worked


@cached()
def _effect(run: runs.RunKey, side: Side, token: int) -> OrderEffect | None:
    return numbers.order_effect(runs.trace(run).at(side), token)


@dataclass(frozen=True)
class Reordered:
    """What another order changes; None where there is none to try."""

    page: Page
    effect: OrderEffect | None

    @classmethod
    def of(cls, page: Page) -> Reordered:
        return cls(page, _effect(page.run_key, page.trace.stack.side, page.token))


def effect(given: Reordered) -> None:
    page, measured = given.page, given.effect
    elements.see(page, "none_lead")
    picture, see = elements.split()
    with picture:
        if measured is None:
            st.info(page.words("none_short"), icon=":material/swap_horiz:")
        else:

            def drawn(page: Page) -> Drawn | None:
                found = Reordered.of(page).effect
                return None if found is None else figures.effect(page.subject, found)

            elements.shown(page, drawn, "effect", by=("token",))
        elements.source(page, page.at("resid.out"))
    with see:
        elements.told(page, _tell, "see", by=("token",))


def _tell(page: Page) -> Iterator[str]:
    measured = Reordered.of(page).effect
    if measured is None:
        return
    ends = {"first": measured.own_mask[0], "last": measured.own_mask[-1], "largest": measured.no_mask.max()}
    facts = {name: f"{value:.2g}" for name, value in ends.items()}
    yield page.prose("none_see", token=page.token_name(), count=page.token, **facts)
    yield page.verdict(ORDER, measured, **facts)


def formula(given: Reordered) -> None:
    page = given.page
    sites = (page.at(f"attn.{name}") for name in ("scores", "mask", "masked", "pattern"))
    elements.formula(page, "embed.out", *sites)
    elements.see(page, "none_formula")


def hand(given: Reordered) -> None:
    page, view = given.page, given.page.view
    elements.see(page, "none_hand", token=page.token_name(), layer=view.layer, head=view.head)
    worked(page, (page.at("attn.z"), (view.head, page.token, 0)))


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
    elements.question(given.page, "none_question", "none_answer", guess=_guess)


def _guess(page: Page) -> Guess | None:
    """After which block the other order shows most."""
    effect = Reordered.of(page).effect
    if effect is None:
        return None
    changes = effect.own_mask
    blocks = {n: page.t("common.guess_block", n=n) for n in elements.spread(len(changes))}
    options = {n: Option(name, float(changes[n]), name) for n, name in blocks.items()}
    return elements.largest(page, options, percent, "guess_order", token=page.token_name())


LAYOUT = Layout(
    of=Reordered.of,
    sections=(effect,),
    tabs=Tabs(formula, hand, code, tables),
    question=question,
)
