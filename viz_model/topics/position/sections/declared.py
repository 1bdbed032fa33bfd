"""Any scheme by what it declares: which value it makes, by which formula, and what that is in this run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.app.topic import Layout, Tabs
from viz_model.drawing.sheet import Sheet
from viz_model.topics.position import figures, numbers
from viz_model.topics.position.claims import BIAS
from viz_model.topics.position.numbers import views
from viz_model.topics.position.numbers.attention_views import offsets_view, turned_view
from viz_model.topics.position.pictures.lines import draw_offsets
from viz_model.topics.position.pictures.matrix import draw_matrix
from viz_model.topics.position.sections import embedding, rotation, schemes, scores
from viz_model.topics.position.sections import key as chosen_key
from viz_model.topics.position.sections.scores import Scores
from viz_model.topics.position.sections.worked import worked

PLACES = {"embedding": "embed.position", "queries": "attn.q_rotated", "scores": "attn.bias"}
"""Where a scheme may act, and the value that it declares there."""


@dataclass(frozen=True)
class Declared:
    """The values that the scheme makes in this layer, by place."""

    page: Page
    sites: dict[str, str]

    @classmethod
    def of(cls, page: Page) -> Declared:
        names = {place: name if place == "embedding" else page.at(name) for place, name in PLACES.items()}
        return cls(page, {place: name for place, name in names.items() if name in page.trace})


def lead(given: Declared) -> None:
    """The scheme's name, and a formula for each place."""
    page = given.page
    if not given.sites:
        elements.see(page, "declared_nothing", layer=page.view.layer)
    else:
        elements.see(page, "declared_lead", scheme=schemes.name(page, schemes.own(page)))
    for place, name in given.sites.items():
        site = page.trace.site(name)
        elements.see(page, f"declared_{place}", label=page.t.site_label(site), formula=site.formula)


def added(given: Declared) -> None:
    """Vectors that are added to the embedding."""
    page = given.page
    if "embedding" not in given.sites:
        return
    picture, see = elements.split()
    with picture:
        elements.shown(page, lambda page: figures.rows(page.subject), "matrix", by=("token",))
        elements.source(page, "embed.position")
    with see:
        elements.told(page, _tell_row, "row_added", by=("token",))
    alike = views.similarity_view(page.trace, page.token)
    near = f"{alike.at(1):.2f}"
    embedding.alike(page, alike, page.words("declared_similarity", near=near), "declared_")
    elements.see(page, "declared_similarity", near=near, **embedding.context(page))
    embedding.total(page, lambda page: (_column(page),))


def _column(page: Page) -> int:
    return figures.largest_column(page.trace["embed.position"][page.token].numpy())


def _tell_row(page: Page) -> Iterator[str]:
    row, column = page.trace["embed.position"][page.token].numpy(), _column(page)
    length = f"{np.linalg.norm(row):.3f}"
    facts = {"position": page.token, "column": column, "value": f"{row[column]:.4f}", "length": length}
    yield page.prose("declared_row", token=page.token_name(), **facts)


def turned(given: Declared) -> None:
    """Queries and keys that are changed by their position."""
    page = given.page
    if "queries" not in given.sites:
        return
    for role in ("query", "key"):
        for which, (column, name) in enumerate(zip(st.columns(2), ("declared_before", "declared_after"), strict=True)):
            with column:
                title = page.words(name, role=page.words(f"role_{role}"))
                st.markdown(f"**{title}**")
                drawn = schemes.drawn(page, partial(_turned, role=role, which=which))
                elements.figure(page, drawn, f"{name}_{role}", title)
        before = numbers.unrotated_site(page.trace, page.view.layer, role[0])
        elements.source(page, before, page.at(f"attn.{role[0]}_rotated"))
    st.subheader(page.words("declared_offsets"), anchor=False)
    picture, see = elements.split()
    with see:
        chosen_key.choose(page)
        schemes.told(page, _tell_offsets, "offsets")
    with picture:
        drawn = schemes.drawn(page, _offsets)
        elements.figure(page, drawn, "offsets", page.words("declared_offsets_alt"))
        elements.source(page, page.at("attn.scores"))
    scores.self_only(page)


def _tell_offsets(page: Page) -> Iterator[str]:
    key = page.token_name(chosen_key.shown(page))
    yield page.prose("declared_offsets", token=page.token_name(), key=key)


def _turned(page: Page, role: str, which: int) -> Sheet:
    """Queries or keys before (0) or after (1) position has its say."""
    axes = (page.t("common.axis_token"), page.words("rope_value"))
    return draw_matrix(turned_view(page.trace, page.view.layer, page.view.head, page.token, role, axes)[which])


def _offsets(page: Page) -> Sheet:
    """The chosen token's score with the chosen key, at every offset."""
    view = offsets_view(page.trace, page.view.layer, page.view.head, page.token, chosen_key.shown(page))
    return draw_offsets(view, scores.words(page, "rope", "offset", "score", "recorded"))


def biased(given: Declared) -> None:
    """Numbers that are added to the scores: by distance, if that is all they depend on, and in this sentence."""
    page = given.page
    if "scores" not in given.sites:
        return
    if numbers.knows_distance(page.trace, page.view.layer):
        scores.curves(page, page.words("declared_curves_alt"))
    schemes.told(page, _tell_bias, "bias", ("layer",))
    scores.self_only(page)
    of_head = Scores.of(page)
    scores.matrices(of_head)
    scores.row(of_head)


def _tell_bias(page: Page) -> Iterator[str]:
    diagonals = numbers.along_diagonals(page.trace[page.at("attn.bias")].numpy())
    yield page.verdict(BIAS, diagonals, change=f"{diagonals:.2g}")


def formula(given: Declared) -> None:
    page = given.page
    names = {
        "embedding": ("embed.position", "embed.out"),
        "queries": (page.at("attn.q_rotated"), page.at("attn.k_rotated"), page.at("attn.scores")),
        "scores": tuple(page.at(f"attn.{name}") for name in ("scores", "bias", "masked", "pattern")),
    }
    shown = [name for place in given.sites for name in names[place]]
    elements.formula(page, *(dict.fromkeys(shown) or (page.at("attn.scores"), page.at("attn.pattern"))))


def hand(given: Declared) -> None:
    page, head = given.page, given.page.view.head
    if "embedding" in given.sites:
        column = int(page.trace["embed.position"][page.token].abs().argmax())
        worked(page, ("embed.position", (page.token, column)))
        embedding.sum_by_hand(page, column)
    if "queries" in given.sites:
        worked(page, (given.sites["queries"], (head, page.token, 0)))
    if "scores" in given.sites:
        scores.hand(Scores.of(page))
    else:
        worked(page, (page.at("attn.scores"), (head, page.token, chosen_key.shown(page))))


def code(given: Declared) -> None:
    elements.code(given.page, sites=(*given.sites.values(), given.page.at("attn.scores")))


def tables(given: Declared) -> None:
    if "embedding" in given.sites:
        embedding.tables(given)
    if "queries" in given.sites:
        rotation.vectors(given.page)
    if "scores" in given.sites:
        scores.table(Scores.of(given.page))
    if not given.sites:
        page, name = given.page, given.page.at("attn.scores")
        values = page.trace.head(name, page.view.head).numpy()
        elements.table(page, f"{name}[{page.view.head}]", values, page.token_labels, page.token_labels, "scores")


def question(given: Declared) -> None:
    elements.question(given.page, "declared_question", "declared_answer")


LAYOUT = Layout(
    of=Declared.of,
    sections=(lead, added, turned, biased),
    tabs=Tabs(formula, hand, code, tables),
    question=question,
)
