"""The run as it is and the changed one side by side: what they expect, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import elements, interventions
from viz_model.app.elements import Said, note
from viz_model.app.page import Page
from viz_model.drawing import heatmap
from viz_model.texts.markdown import literal
from viz_model.topics.ablations import claims
from viz_model.topics.ablations.numbers import breaking, views
from viz_model.topics.ablations.pictures import maps
from viz_model.topics.ablations.pictures.guesses import GuessesView, draw_guesses
from viz_model.topics.ablations.pictures.places import draw_places
from viz_model.topics.ablations.sections.ablation import Ablation
from viz_model.topics.ablations.sections.lab import Lab


def section(ablation: Ablation) -> None:
    lab = ablation.lab
    if not lab.page.trace.edits:
        return
    st.divider()
    left, right = st.columns(2, gap="large")
    with left:
        (_guesses if lab.plain.config.has_logits else _vectors)(lab)
    with right:
        _spread(lab)


def guesses(lab: Lab) -> GuessesView:
    """The first guesses of both runs, where their answer is read."""
    was, now = (run.at(lab.at.side) for run in (lab.plain, lab.page.trace))
    return views.guesses_view(was, now, lab.at.position)


def _guesses(lab: Lab) -> None:
    elements.told(lab.page, _guesses_title, "guesses_title", by=("token",))
    names = {name: lab.words(f"series_{name}") for name in ("before", "after")}
    elements.figure(
        lab.page,
        lambda page: draw_guesses(guesses(Lab.of(page)), names),
        "guesses",
        lab.words("guesses_alt"),
        by=("token",),
    )
    elements.told(
        lab.page, lambda page: [page.prose("compare", **guesses(Lab.of(page)).facts())], "compare", by=("token",)
    )


def _guesses_title(page: Page) -> Iterator[str]:
    lab = Lab.of(page)
    view = guesses(lab)
    before, after = (literal(view.labels[best]) for best in view.best)
    token = literal(lab.plain.at(lab.at.side).tokens[lab.at.position].label)
    said = page.verdict(claims.GUESSES, view, before=before, after=after, token=token, **view.facts())
    yield f"**{said}**"


def _vectors(lab: Lab) -> None:
    after = lab.page.trace
    elements.told(lab.page, _vectors_title, "vectors_title", by=("token",))
    places = views.places_view(lab.plain, after, lab.token)
    turn = lab.words("turn")
    elements.figure(
        lab.page,
        lambda page: draw_places(places._replace(token=Lab.of(page).token), turn),
        "places",
        lab.words("places_alt"),
        by=("token",),
    )


def _vectors_title(page: Page) -> Iterator[str]:
    lab = Lab.of(page)
    yield f"**{lab.words('vectors_title', amount=lab.amount(lab.cost(page.trace)))}**"


def _spread(lab: Lab) -> None:
    """The map of differences by depth and position."""
    found = interventions.effect(lab.page.run_key, lab.at.position)
    key = "spread_nowhere" if found.first is None else "spread_title"
    st.markdown(f"**{lab.words(key, site=literal(found.first or ''))}**")
    after = [token.label for token in lab.page.trace.tokens]  # of a shuffled text they are others
    axes = lab.words("axis_depth"), lab.words("axis_position")
    values = breaking.spread(lab.plain, lab.page.trace).values

    def spread_of(lab: Lab) -> maps.Spread:
        return maps.spread_view(values, lab.labels, after, lab.token, axes, lab.depths)

    def part(page: Page) -> Iterator[Said]:
        spread = spread_of(Lab.of(page))
        if spread.stop - spread.first < spread.n:
            yield note(page.words("spread_part", first=spread.first, last=spread.stop - 1, n=spread.n))

    elements.figure(
        lab.page,
        lambda page: heatmap.draw(spread_of(Lab.of(page)).view, cell=26),
        "spread",
        lab.words("spread_alt"),
        by=("token",),
    )
    elements.told(lab.page, part, "spread_part", by=("token",))
    elements.see(lab.page, "spread")
