"""The benchmark of interactions counts no page as painted on which a picture is missing."""

from __future__ import annotations

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


@pytest.mark.parametrize("marks", [True, False], ids=["marks and cells", "cells that were there before"])
def test_a_page_as_it_is_counts_as_painted_and_what_is_missing_is_named(visit: Visit, marks: bool) -> None:
    # Nothing is drawn ahead, which would paint the picture again.
    still = {**WIDE, "reduced_motion": "reduce"}
    page = visit("/attention", options=still, saves_data=True, text="The cat sat", lang="en")
    page.evaluate(interactions._SETTLED, interactions.QUIET)
    painted = interactions.demand_painted(page)
    assert len(painted) > 1 and interactions.demand_painted(page, painted) == painted
    name, n = max(painted.items(), key=lambda each: each[1])
    page.evaluate(BLANK, [name, n - 1, marks])
    with pytest.raises(SystemExit) as wrong:
        interactions.demand_painted(page, painted)
    assert name in str(wrong.value.code) and "/attention" in str(wrong.value.code)
