"""What is added to the scores: curves, matrices, one row, and the layout that all such schemes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from viz_model.app import elements
from viz_model.app.drawn import Drawn
from viz_model.app.elements import Guess, Said, title
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs
from viz_model.drawing.sheet import Sheet
from viz_model.topics.position import figures
from viz_model.topics.position.choices import KEY, RANGE
from viz_model.topics.position.numbers import Buckets, by_hand
from viz_model.topics.position.numbers.attention_views import added_view
from viz_model.topics.position.pictures.added import MATRICES, AddedView, draw_added
from viz_model.topics.position.pictures.row import draw_row
from viz_model.topics.position.sections import key as chosen_key
from viz_model.topics.position.sections import schemes
from viz_model.topics.position.sections.worked import worked


@dataclass(frozen=True)
class Scores:
    """One head's scores with what position adds to them.

    ``key`` is the one that is worked out for the chosen token, ``hand`` its arithmetic for prose.
    """

    page: Page
    view: AddedView
    key: int
    hand: dict[str, str]

    @classmethod
    def of(cls, page: Page) -> Scores:
        view = _added(page)
        key = chosen_key.shown(page)
        names = {"token": page.token_name(), "key": page.token_name(key), "head": str(page.view.head)}
        return cls(page, view, key, {**by_hand.bias_by_hand(view, key), **names})


def _added(page: Page) -> AddedView:
    return added_view(page.trace, page.view.layer, page.view.head, page.token)


def words(page: Page, prefix: str, *names: str) -> dict[str, str]:
    """Labels of a figure: ``{name: the page's prefix_name}``."""
    return {name: page.words(f"{prefix}_{name}") for name in names}


def curves(page: Page, alt: str, buckets: Callable[[Page], Buckets | None] = lambda page: None) -> None:
    """What heads add over the distance, as far as this sentence goes, or as far as there is something to see."""
    options = {"help": None, "label_visibility": "collapsed"}
    whole = elements.choose(page, RANGE, ("text", "all"), **options) == "all"

    def drawn(page: Page) -> Drawn:
        return figures.curves(page.subject, alt, whole=whole, buckets=buckets(page))

    elements.shown(page, schemes.drawn(page, drawn), "curves")
    elements.source(page, page.at("attn.bias"))


def self_only(page: Page) -> None:
    """Where there is cross-attention, that it gets nothing of the kind."""
    if page.lm.config.kind == "encoder_decoder":
        elements.see(page, "self_only")


def matrices(given: schemes.Shown, other: str = "", of: Callable[[Page], Page] = lambda page: page) -> None:
    """Scores + bias = what the softmax reads. Of another run than the page's, ``other`` begins its keys and texts.

    Then ``of`` makes of a page, at any layer, head and token, that of the other run.
    """
    page = given.page
    schemes.told(page, _title, f"{other}added", ("layer", "head"))
    sites = [page.at(f"attn.{which}") for which in MATRICES]
    for column, which in zip(st.columns(3, gap="medium"), MATRICES, strict=True):
        with column:
            name = page.words(f"added_{which}")
            drawn = partial(_matrix, of=of, which=which, title=name, alone=bool(other) and which == "bias")
            elements.figure(page, schemes.drawn(page, drawn), other + which, name, own=not other)
    elements.source(of(page), *sites)
    st.caption(page.words(f"{other}scale" if other else "added_axes"))


def _title(page: Page) -> Iterator[Said]:
    yield title(page.words("added", head=page.view.head, layer=page.view.layer))


def _matrix(page: Page, of: Callable[[Page], Page], which: str, title: str, alone: bool) -> Sheet:
    """One of the three; ``alone`` on a colour scale of its own."""
    page = of(page)
    axes = page.t("common.axis_query"), page.t("common.axis_key")
    matrix = _added(page).matrix(which, f"{page.at(f'attn.{which}')}[{page.view.head}]", axes)
    if alone:
        matrix = matrix._replace(limit=float(np.nanmax(np.abs(matrix.values))) or 1.0)
    return draw_added(matrix, title)


def row(given: Scores) -> None:
    """One row's attention with and without what is added, and one key of it in words."""
    page = given.page
    schemes.told(page, _row_title, "row_title", ("token",))
    wide, narrow = st.columns([2, 1], gap="large")
    with wide:
        labels = words(page, "row", "with", "without", "weight")
        drawn = schemes.drawn(page, lambda page: draw_row(_added(page), labels))
        elements.figure(page, drawn, "row", page.words("row_alt"))
        elements.source(page, page.at("attn.pattern"))
    with narrow:
        chosen_key.choose(page)
        schemes.told(page, _tell, "row")


def _row_title(page: Page) -> Iterator[Said]:
    yield title(page.words("row", token=page.token_name()))


def _tell(page: Page) -> Iterator[str]:
    yield page.prose("added_see", **Scores.of(page).hand)


def hand(given: Scores) -> None:
    """What is added to one score, and the sum."""
    page = given.page
    cell = (page.view.head, page.token, given.key)
    worked(page, (page.at("attn.bias"), cell), (page.at("attn.masked"), cell))


def code(given: Scores) -> None:
    names = ("bias", "scores", "masked", "pattern")
    elements.code(given.page, sites=[given.page.at(f"attn.{name}") for name in names])


def table(given: Scores) -> None:
    """The bias of every visible pair."""
    page = given.page
    name = f"{page.at('attn.bias')}[{page.view.head}]"
    elements.table(page, name, given.view.head_values.bias, page.token_labels, page.token_labels, "bias")


def _guess(page: Page) -> Guess | None:
    """Which head favours the chosen token over the first one most, by what is added to their scores."""
    token = page.token or len(page.trace) - 1
    row = page.trace[page.at("attn.bias")][:, token]
    heads = elements.of_heads(page, (row[:, token] - row[:, 0]).tolist())
    tokens = {"token": page.token_name(token), "first": page.token_name(0)}
    return elements.largest(page, heads, "{:+.2f}".format, "guess_bias", layer=page.view.layer, **tokens)


def layout(
    told: str,
    facts: Callable[[Page], dict[str, str]],
    first: tuple[Callable[[Scores], None], ...],
    tables: Callable[[Scores], None],
) -> Layout[Scores]:
    """Of a scheme that adds to the scores: its own sections ``first``; ``told`` begins the names of its texts."""

    def formula(given: Scores) -> None:
        sites = (given.page.at(f"attn.{name}") for name in ("scores", "bias", "masked", "pattern"))
        elements.formula(given.page, *sites)
        elements.see(given.page, f"{told}_formula", **facts(given.page))

    def question(given: Scores) -> None:
        texts = f"{told}_question", f"{told}_answer"
        elements.question(given.page, *texts, guess=schemes.drawn(given.page, _guess), **facts(given.page))

    return Layout(
        of=Scores.of,
        sections=(*first, Door("scores", (matrices, row), (KEY,))),
        tabs=Tabs(formula, hand, code, tables),
        question=question,
    )
