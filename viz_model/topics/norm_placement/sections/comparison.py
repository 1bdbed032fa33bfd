"""What the sections of this page tell of: trained twins side by side, or one model measured on its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import plotly.graph_objects as go
import streamlit as st

import viz_model as vm
from viz_model.app import elements, runs
from viz_model.app.page import Page
from viz_model.app.texts import literal
from viz_model.topics.block.numbers.block import sets_length
from viz_model.topics.norm_placement.pictures import look


class Comparison(NamedTuple):
    """The runs by the place of their norm, Pre-LN first; of a model without a twin that run alone.

    Attributes:
        own: the place in the model that is chosen in the sidebar.
        keys, traces: of each run; a trace is seen from the stack that the visitor looks at.
    """

    page: Page
    own: str
    keys: Mapping[str, runs.RunKey]
    traces: Mapping[str, vm.Trace]

    @classmethod
    def of(cls, page: Page) -> Comparison:
        own, side = page.lm.config.norm_at, page.trace.stack.side
        names: dict[str, str] = {own: page.view.model}
        if page.lm.twin in runs.names():
            names[runs.model(page.lm.twin).config.norm_at] = page.lm.twin
        keys = {place: page.run_key._replace(model=names[place]) for place in look.NAMES if place in names}
        return cls(page, own, keys, {place: runs.trace(key).at(side) for place, key in keys.items()})

    @property
    def alone(self) -> str:
        """The end of the keys of texts: "" for twins, "_alone" for a model without one."""
        return "" if len(self.traces) > 1 else "_alone"

    @property
    def sets_length(self) -> bool:
        """Whether the norms bring vectors to a length."""
        return sets_length(self.page.trace)

    def values(self, facts: Mapping[str, str]) -> dict[str, object]:
        """Facts for the texts; those of a model alone lose the name of the place it has its norm.

        Those whose key ends in ``_top`` are tokens, in ``_word`` keys of texts.
        """
        page = self.page
        found: dict[str, object] = {
            "token": page.token_name(),
            "layer": page.view.layer,
            "n": len(page.trace),
            "place": look.NAMES[self.own],
            "norm": type(page.lm.config.norm).__name__,
        }
        for key, value in facts.items():
            key = key.removeprefix(f"{self.own}_") if self.alone else key
            is_word = key.endswith("_word")
            found[key] = literal(value) if key.endswith("_top") else page.words(value) if is_word else value
        return found

    def sites(self, *names: str) -> list[str]:
        """Those of the selected block's sites that the model has."""
        return [self.page.at(name) for name in names if self.page.at(name) in self.page.trace]


def heading(page: Page, name: str) -> None:
    """The heading of a part of the page, with what it asks."""
    st.divider()
    st.subheader(page.words(f"part_{name}"), anchor=False)
    elements.see(page, f"part_{name}")


def finding(
    shown: Comparison, place: Any, name: str, figure: go.Figure, facts: Mapping[str, str], *sites: str, end: str = ""
) -> None:
    """A picture under what it shows; ``end`` is the end of the texts' keys."""
    page, values = shown.page, shown.values(facts)
    with place:
        st.markdown(f"#### {page.words(f'{name}_title{end}', **values)}")
        elements.figure(page, figure, name, page.words(f"{name}_alt"))
        elements.see(page, f"{name}{end}", **values)
        elements.source(page, *sites)
