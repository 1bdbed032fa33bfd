"""What each position scheme does differently, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

import streamlit as st

from viz_model.app import elements
from viz_model.app.ahead import DIMENSIONS, Dimension
from viz_model.app.elements import Said
from viz_model.app.page import Page
from viz_model.config import Position
from viz_model.topics.position import numbers

COLUMNS = ("sees", "beyond", "used")


D = TypeVar("D")


class Shown(Protocol):
    """What any layout of the page gives its sections."""

    @property
    def page(self) -> Page: ...


def own(page: Page) -> Position:
    """The scheme of the layer that is looked at."""
    return numbers.scheme_of(page.trace, page.view.layer)


def name(page: Page, scheme: Position) -> str:
    """What a scheme is called; one without a text of its own by its type."""
    return _words(page, f"scheme_{numbers.scheme_name(scheme)}") or type(scheme).__name__


def drawn(given: Page, draw: Callable[[Page], D]) -> Callable[[Page], D | None]:
    """What is drawn of the scheme of a page's layer: nothing where another layer has another."""
    return lambda page: draw(page) if own(page) == own(given) else None


def told(
    given: Page, tell: Callable[[Page], Iterable[Said | str]], key: str, by: Sequence[Dimension] = DIMENSIONS
) -> None:
    """Say what there is to say of the scheme of a page's layer: nothing where another layer has another."""
    elements.told(given, lambda page: drawn(given, tell)(page) or (), key, by=by)


def present(page: Page) -> set[Position]:
    """Those of all layers of the stack."""
    return {numbers.scheme_of(page.trace, layer) for layer in range(page.trace.n_layers)}


def differ(page: Page) -> None:
    """Which layers have which scheme, where they differ."""
    if len(present(page)) > 1:
        elements.told(page, _differ, "layers_differ", by=("layer",))


def _differ(page: Page) -> Iterator[str]:
    names = [name(page, numbers.scheme_of(page.trace, layer)) for layer in range(page.trace.n_layers)]
    listed = ", ".join(f"{layer}: {each}" for layer, each in enumerate(names))
    yield page.prose("layers_differ", layer=page.view.layer, scheme=names[page.view.layer], layers=listed)


def section(given: Shown) -> None:
    """One row a scheme, this model's own in bold."""
    page, scheme_here = given.page, own(given.page)
    st.subheader(page.words("schemes", present=name(page, scheme_here)), anchor=False)
    head = [*(page.words(f"schemes_{column}") for column in ("scheme", "place", "trained", *COLUMNS))]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for scheme in numbers.schemes(scheme_here):
        facts, key = numbers.scheme_facts(scheme, page.lm.config), numbers.scheme_name(scheme)
        keys = (f"place_{facts.acts_on}", *(f"scheme_{key}_{column}" for column in COLUMNS))
        place, *others = (_words(page, each) or page.words("scheme_other") for each in keys)
        cells = [name(page, scheme), place, f"{facts.n_trained:,}", *others]
        if scheme == scheme_here:
            cells = [f"**{cell}**" for cell in cells]
            cells[0] = f"▶\u00a0{cells[0]}"
        lines.append("| " + " | ".join(cells) + " |")
    st.markdown("\n".join(lines))
    st.caption(page.words("schemes_note"))


def _words(page: Page, key: str) -> str:
    """A text that only known schemes have; else nothing."""
    try:
        return page.words(key)
    except KeyError:
        return ""
