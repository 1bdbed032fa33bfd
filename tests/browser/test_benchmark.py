"""The benchmark of interactions counts no page as painted on which a picture is missing."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks import interactions
from browser_driver import WIDE, Visit

pytestmark = pytest.mark.browser

BLANK = """([name, n, marks]) => {
  const canvas = [...document.querySelectorAll('.stBidiComponent *')].map(e => e.shadowRoot).filter(Boolean)
    .flatMap(root => [...root.querySelectorAll('canvas')]).filter(e => e.closest(`[aria-label="${name}"]`))[n]
  canvas.getContext('2d').reset()
  if (marks) canvas.parentElement.querySelectorAll('svg').forEach(svg => svg.replaceChildren())
}"""
"""Takes the cells of one panel of a picture away, and its marks."""


@pytest.fixture
def page(visit: Visit) -> Any:
    # Nothing is drawn ahead, which would paint the picture again.
    page = visit(
        "/attention", options={**WIDE, "reduced_motion": "reduce"}, saves_data=True, text="The cat sat", lang="en"
    )
    page.evaluate(interactions._SETTLED, interactions.QUIET)
    return page


def test_a_page_as_it_is_counts_as_painted(page: Any) -> None:
    painted = interactions.demand_painted(page)
    assert len(painted) > 1 and sum(painted.values()) > 5
    assert interactions.demand_painted(page, painted) == painted


def test_a_picture_without_marks_and_cells_is_named(page: Any) -> None:
    name = next(iter(interactions.demand_painted(page)))
    page.evaluate(BLANK, [name, 0, True])
    with pytest.raises(SystemExit) as wrong:
        interactions.demand_painted(page)
    assert name in str(wrong.value.code) and "/attention" in str(wrong.value.code)


def test_cells_that_were_there_before_the_sentence_are_missed(page: Any) -> None:
    painted = interactions.demand_painted(page)
    name, n = max(painted.items(), key=lambda each: each[1])
    page.evaluate(BLANK, [name, n - 1, False])
    with pytest.raises(SystemExit) as wrong:
        interactions.demand_painted(page, painted)
    assert name in str(wrong.value.code)
