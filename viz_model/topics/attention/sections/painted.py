"""Where the chosen patch looks, painted over the picture, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator

from viz_model.app import elements
from viz_model.app.elements import Guess, Option
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs
from viz_model.drawing.writing import percent
from viz_model.island.page import Trials
from viz_model.measures import patches
from viz_model.topics.attention import figures
from viz_model.topics.attention.numbers import painted
from viz_model.topics.attention.sections import heads, one_query, taken_apart, together
from viz_model.topics.attention.sections.query import Query


def section(query: Query) -> None:
    page = query.page
    picture, see = elements.split()
    with picture:
        elements.shown(page, lambda page: figures.of_picture(page.subject, heads.of_page(page)), "painted")
        elements.source(page, page.at("attn.pattern"))
    with see:
        elements.told(page, _tell, "see_painted")


def _tell(page: Page) -> Iterator[str]:
    query = Query.of(page)
    weights = painted.looks(page.trace, page.view.layer, page.token).weights[page.view.head]
    shares = painted.shares(weights, patches.of(page.trace), page.token)
    facts = {name: percent(share) for name, share in shares._asdict().items()}
    yield page.prose("see_painted", weight=percent(query.largest.weight), **query.facts, **facts)


def grid(query: Query) -> None:
    """The whole maps of the layer's heads."""
    page = query.page
    elements.shown(page, lambda page: figures.of_layer(page.subject, heads.of_page(page)), "grid", by=("layer",))
    elements.source(page, page.at("attn.pattern"))
    elements.see(page, "see_grid", n=len(page.trace))


def question(query: Query) -> None:
    elements.question(query.page, guess=_guess)


def _guess(page: Page) -> Guess | None:
    """Which patch [CLS] reads most in this layer."""
    layer = page.view.layer
    mean = page.trace.row(page.at("attn.pattern"), 0).mean(0)
    names = patches.names(page.trace, page.t)
    options = {n: Option(names[n], float(mean[n]), names[n]) for n in elements.spread(len(names))}
    options |= {int(mean.argmax()): Option(names[int(mean.argmax())], float(mean.max()), names[int(mean.argmax())])}
    return elements.largest(page, dict(sorted(options.items())), percent, "guess_class", layer=layer)


LAYOUT = Layout(
    of=Query.of,
    sections=(
        section,
        Door("grid", (grid,)),
        Door("steps", (one_query.section,)),
        Door("together", (together.section,), formerly="section=together"),
    ),
    tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
    trials=Trials(("head", "scale")),
    question=question,
)
