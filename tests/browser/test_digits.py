"""A number is written alike by Python, in files and for screen readers, and by the browser."""

from pathlib import Path
from typing import Any

import pytest

from viz_model.drawing.digits import written

pytestmark = pytest.mark.browser
SOURCE = Path(__file__).resolve().parents[2] / "frontend/src/digits.js"
NUMBERS = [
    sign * n
    for n in (0, 3.4e-7, 1.2e-5, 0.00995, 0.125, 0.5, 0.9996, 1, 2.5, 9.995, 1234.5, 4.2e17)
    for sign in (1, -1)
]
RULES = ("0", "2", "+2", "%0", "%1", "whole", "whole1", "g1", "g3", "percent", "share")
WRITE = """async ([source, numbers, rules]) => {
  const { written } = await import(`data:text/javascript;charset=utf-8,${encodeURIComponent(source)}`)
  return rules.map(rule => numbers.map(number => written(number, rule)))
}"""


def test_both_write_the_same(chromium: Any) -> None:
    page = chromium.new_page()
    found = page.evaluate(WRITE, [SOURCE.read_text("utf-8"), NUMBERS, RULES])
    page.close()
    for rule, shown in zip(RULES, found, strict=True):
        assert dict(zip(NUMBERS, shown, strict=True)) == {n: written(n, rule) for n in NUMBERS}, rule
        assert not {"−0", "-0", "−0.00", "−0%"} & set(shown)
