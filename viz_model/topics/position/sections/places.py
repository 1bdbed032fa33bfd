"""Places in a picture: a learnt vector for each, and how alike they are, as maps."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from viz_model.app import elements
from viz_model.app.elements import Guess, Option, Worked
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs
from viz_model.drawing.scene import Scene
from viz_model.drawing.writing import signed
from viz_model.measures import patches
from viz_model.topics.position.choices import WHOLE
from viz_model.topics.position.numbers.places import Places, places
from viz_model.topics.position.pictures.places import scene
from viz_model.topics.position.sections import embedding


@dataclass(frozen=True)
class Seen:
    """The places of a run's picture."""

    page: Page
    view: Places

    @classmethod
    def of(cls, page: Page) -> Seen:
        return cls(page, places(page.trace))


def section(given: Seen) -> None:
    page, view = given.page, given.view
    elements.picture(page, _drawn, "places", by=("token",))
    elements.source(page, "embed.position")
    near, far = view.neighbours()
    facts = {"near": signed(near), "far": signed(far)}
    elements.see(page, "see_places", n=len(page.trace), d_model=page.lm.config.d_model, **facts)


def _drawn(page: Page) -> Scene:
    view, names = places(page.trace), patches.names(page.trace, page.t)
    words = page.words("place_one", token=page.token_name()), page.words("place_every")
    pixels, title = patches.pixels(page.trace), page.words("places_alt")
    return scene(view, pixels, names, page.token, "position.places", title, words)


def total(given: Seen) -> None:
    """Patch + place = what block 0 reads."""
    embedding.total(given.page, lambda page: (_column(page),))


def _column(page: Page) -> int:
    return int(page.trace["embed.position"][page.token].abs().argmax())


def formula(given: Seen) -> None:
    elements.formula(given.page, "embed.position", "embed.out")


def hand(given: Seen) -> None:
    at = (given.page.token, _column(given.page))
    elements.worked(
        given.page,
        [Worked(("position.hand_row",), "embed.position", at), Worked(("position.hand_added",), "embed.out", at)],
        token=given.page.token_name(),
        column=at[1],
    )


def code(given: Seen) -> None:
    elements.code(given.page, sites=("embed.position", "embed.out"))


def tables(given: Seen) -> None:
    page = given.page
    rows, names = page.trace["embed.position"].numpy(), patches.names(page.trace, page.t)
    elements.table(page, "embed.position", rows, names, page.dimension_labels, "places")


def question(given: Seen) -> None:
    elements.question(given.page, guess=_guess)


def _guess(page: Page) -> Guess | None:
    """Whose place is most like that of the chosen patch."""
    names = patches.names(page.trace, page.t)
    alike = torch.from_numpy(places(page.trace).cosines[page.token]).clone()
    alike[page.token] = -1
    others = [n for n in range(1, len(names)) if n != page.token]
    picked = {*(others[n] for n in elements.spread(len(others), 4)), 1 + int(alike[1:].argmax())}
    options = {n: Option(names[n], float(alike[n]), names[n]) for n in sorted(picked)}
    return elements.largest(page, options, "{:.3f}".format, "guess_place_like", token=page.token_name())


LAYOUT = Layout(
    of=Seen.of,
    sections=(section, Door("sum", (total,), (WHOLE,))),
    tabs=Tabs(formula, hand, code, tables),
    question=question,
)
