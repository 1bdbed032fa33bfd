"""What the sections of this page tell of: trained twins side by side, or one model measured on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

import viz_model as vm
from viz_model.app import elements, runs
from viz_model.app.ahead import Dimension
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.measures.passage import norm_name, sets_length
from viz_model.topics.norm_placement.pictures import look

Facts = Mapping[str, str]


class Comparison(NamedTuple):
    """The runs by the place of their norm, Pre-LN first; of a model without a twin that run alone.

    Attributes:
        own: the place in the stack that the visitor looks at, of the model that is chosen in the sidebar.
        keys, traces: of each run; a trace is seen from that stack.
    """

    page: Page
    own: str
    keys: Mapping[str, runs.RunKey]
    traces: Mapping[str, vm.Trace]

    @classmethod
    def of(cls, page: Page) -> Comparison:
        own, side = page.trace.norm_at, page.trace.stack.side
        names: dict[str, str] = {own: page.view.model}
        if page.lm.twin in runs.names():
            names[runs.model(page.lm.twin).config.norm_place(side)] = page.lm.twin
        keys = {place: page.run_key._replace(model=names[place]) for place in look.NAMES if place in names}
        return cls(page, own, keys, {place: runs.trace(key).at(side) for place, key in keys.items()})

    @property
    def alone(self) -> bool:
        """Whether there is no twin."""
        return len(self.traces) < 2

    @property
    def sets_length(self) -> bool:
        """Whether the norms bring vectors to a length."""
        return sets_length(self.page.trace)

    @property
    def values(self) -> dict[str, object]:
        """What the texts of all sections may name."""
        page = self.page
        return {
            "token": page.token_name(),
            "layer": page.view.layer,
            "place": look.NAMES[self.own],
            "norm": norm_name(page.trace),
        }

    def listed(self, facts: Mapping[str, Facts]) -> dict[str, str]:
        """Facts by place of the norm -> each with the names of the places: for a headline."""
        names = [name for name in next(iter(facts.values()), {})]
        return {
            name: " · ".join(
                own[name] if self.alone else f"{look.NAMES[place]} {own[name]}" for place, own in facts.items()
            )
            for name in names
        }

    def sites(self, *names: str) -> list[str]:
        """Those of the selected block's sites that the model has."""
        return [self.page.at(name) for name in names if self.page.at(name) in self.page.trace]


def finding(
    shown: Comparison,
    place: Any,
    name: str,
    figure: Sheet | Callable[[Page], Sheet],
    facts: Facts | Callable[[Page], Facts],
    *sites: str,
    each: Mapping[str, Facts] | None = None,
    lines: Iterable[str] = (),
    by: Sequence[Dimension] = (),
) -> None:
    """A picture under what it shows: its headline, what is general, and a line for each place of the norm.

    ``each`` are facts by place, for the headline and for the text ``name_each``; ``lines`` are claims that are made;
    ``by`` is what makes a difference to picture, headline and what is general
    (:func:`viz_model.app.elements.figure`).
    """
    page, each = shown.page, each or {}

    def values_of(page: Page) -> dict[str, object]:
        own = facts(page) if callable(facts) else facts
        return {**shown._replace(page=page).values, **shown.listed(each), **own}

    values, told = values_of(page), list[str]()
    with place:
        elements.told(
            page, lambda page: [f"#### {page.words(f'{name}_title', **values_of(page))}"], f"{name}_title", by=by
        )
        elements.figure(page, figure, name, page.words(f"{name}_alt"), by=by)
        elements.told(page, lambda page: [page.prose(name, **values_of(page))], f"{name}_told", by=by)
        for at, own in each.items():
            if page.t.knows(key := f"{page.text_key}.{name}_each"):
                told.append(page.t.prose(key, **{**values, **own, "place": look.NAMES[at]}))
        st.markdown("\n".join(f"- {line}" for line in (*told, *lines)))
        elements.source(page, *sites)
