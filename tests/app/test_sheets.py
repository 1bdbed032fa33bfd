"""The style sheets of the pages: what a browser asks of every element, it asks often."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from viz_model.app import frame

SHEETS = sorted(Path(frame.__file__).parent.glob("*.css"))
PART_OF_A_CLASS = re.compile(r"""\[class\s*[*^$~|]?=""")


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.stem)
def test_no_rule_asks_for_a_part_of_a_class(sheet: Path) -> None:
    """A class that changes anywhere would have a browser ask such a rule again, and each run changes most of them."""
    rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.S)
    assert rules.strip() and not PART_OF_A_CLASS.findall(rules)
