"""The benchmark of interactions counts no page as painted on which a picture is missing."""

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


def test_a_picture_is_named_without_its_marks_or_cells(visit: Visit) -> None:
    # Nothing is drawn ahead, which would paint the picture again.
    options = {**WIDE, "reduced_motion": "reduce"}
    page = visit("/attention", options=options, saves_data=True, text="The cat sat", lang="en")
    page.evaluate(interactions._SETTLED, interactions.QUIET)
    painted = interactions.demand_painted(page)
    assert len(painted) > 1 and sum(painted.values()) > 5
    assert interactions.demand_painted(page, painted) == painted
    most, count = max(painted.items(), key=lambda each: each[1])
    for name, n, marks, before in ((most, count - 1, False, painted), (next(iter(painted)), 0, True, None)):
        page.evaluate(BLANK, [name, n, marks])
        with pytest.raises(SystemExit) as wrong:
            interactions.demand_painted(page, before)
        assert name in str(wrong.value.code) and "/attention" in str(wrong.value.code)
