"""ALiBi: every head subtracts its slope times the distance."""

from __future__ import annotations

import math
from collections.abc import Iterator

from viz_model.app import elements
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.topics.position import numbers
from viz_model.topics.position.claims import REACH
from viz_model.topics.position.pictures.curves import draw_slopes
from viz_model.topics.position.sections import schemes, scores
from viz_model.topics.position.sections.scores import Scores


def _facts(page: Page) -> dict[str, str]:
    slopes = numbers.slopes(page.trace, page.view.layer)
    slope = float(slopes[page.view.head])
    steepest, flattest = float(slopes.max()), float(slopes.min())
    return {
        "head": str(page.view.head),
        "slope": f"{slope:.6g}",
        "factor": f"{math.exp(-slope):.4f}",
        "tenth": f"{math.log(10) / slope:,.1f}",
        "n_heads": str(len(slopes)),
        "steepest": f"{steepest:.4g}",
        "flattest": f"{flattest:.4g}",
        "steep_factor": f"{math.exp(-10 * steepest):.3g}",
        "flat_factor": f"{math.exp(-10 * flattest):.3g}",
    }


def curves(given: Scores) -> None:
    page = given.page
    elements.see(page, "alibi_lead")
    picture, see = elements.split()
    with picture:
        scores.curves(page, page.words("alibi_curves_alt"))
    with see:
        schemes.told(page, _tell, "see", ("layer", "head"))
        scores.self_only(page)


def slopes(given: Scores) -> None:
    page = given.page
    schemes.told(page, _slopes_title, "slopes_title", ("layer",))
    labels = scores.words(page, "bias", "head", "slope")
    drawn = schemes.drawn(
        page, lambda page: draw_slopes(numbers.slopes(page.trace, page.view.layer), page.view.head, labels)
    )
    elements.figure(page, drawn, "slopes", page.words("alibi_slopes_alt"), by=("layer", "head"))
    schemes.told(page, _tell_slopes, "slopes", ("layer",))


def _tell(page: Page) -> Iterator[str]:
    yield page.prose("alibi_see", **_facts(page))


def _slopes_title(page: Page) -> Iterator[Said]:
    yield title(page.words("alibi_slopes", **_facts(page)))


def _tell_slopes(page: Page) -> Iterator[str]:
    yield page.prose("alibi_slopes", **_facts(page))
    reach = numbers.reach(page.trace, page.view.layer)
    yield page.verdict(REACH, reach, near=f"{reach.steepest:.1f}", far=f"{reach.flattest:.1f}")


def tables(given: Scores) -> None:
    values = numbers.slopes(given.page.trace, given.page.view.layer)
    elements.records(given.page, "alibi_slopes", {"head": range(len(values)), "slope": values.tolist()})
    scores.table(given)


LAYOUT = scores.layout("alibi", _facts, (curves, slopes), tables)
