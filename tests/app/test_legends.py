"""What a legend tells apart is told apart by everybody: by color, or by the form of its mark."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from app_driver import figures, open_page
from coloraide import Color

from viz_model.app import frame
from viz_model.drawing import theme

PLOTTED = ("norm_placement", "cost")
"""The pages with plots that have a legend."""
SIGHTS = (None, "protan", "deutan", "tritan")
APART = 10.0
"""ΔE2000 as in ``tests/drawing/test_colors.py``."""


class Mark(NamedTuple):
    """What stands for a name in a legend: its form, its color, and how much of the page shines through."""

    name: str
    form: tuple[object, ...]
    color: str
    opacity: float

    @classmethod
    def of(cls, trace: dict[str, Any]) -> Mark | None:
        """Nothing where each of its points has a color of its own."""
        line, marker = trace.get("line", {}), trace.get("marker", {})
        drawn = "lines" in trace.get("mode", "") if trace["type"] == "scatter" else False
        color = line.get("color") if drawn else marker.get("color")
        if not isinstance(color, str):
            return None
        form = (
            trace["type"],
            trace.get("mode", ""),
            line.get("dash", "solid"),
            str(marker.get("symbol", "")),
            str(marker.get("pattern", {}).get("shape", "")),
        )
        opacity = 1 if drawn else marker.get("opacity", 1)
        return cls(trace["name"], form, color, trace.get("opacity", 1) * opacity if isinstance(opacity, float) else 1)

    def seen(self, page: str, sight: str | None) -> Color:
        """On a light or a dark page."""
        color = Color(self.color)
        color["alpha"] = float(color["alpha"]) * self.opacity
        solid = Color.layer([color, theme.PAGES[page]], space="srgb")
        return solid if sight is None else solid.filter(sight, method="machado").clip("srgb")


def legend(figure: dict[str, Any]) -> list[Mark]:
    """The marks of a figure's legend; of those that share a name the first."""
    if not figure["layout"].get("showlegend", True):
        return []
    named = [trace for trace in figure["data"] if trace.get("name") and trace.get("showlegend", True)]
    marks = [mark for trace in named if trace["type"] in ("scatter", "bar") and (mark := Mark.of(trace))]
    return list({mark.name: mark for mark in reversed(marks)}.values())


def alike(one: Mark, other: Mark) -> bool:
    return one.form == other.form and any(
        one.seen(page, sight).delta_e(other.seen(page, sight), method="2000") < APART
        for page in theme.PAGES
        for sight in SIGHTS
    )


@pytest.mark.parametrize("page", PLOTTED)
def test_what_a_legend_names_is_told_apart(page: str) -> None:
    app = open_page(page, {"text": "The cat sat on the mat", "layer": "1"})
    named = [pair for figure in figures(app) for pair in combinations(legend(figure), 2)]
    assert named
    assert not [(one.name, other.name, one.color, other.color) for one, other in named if alike(one, other)]


SHEETS = sorted(Path(frame.__file__).parent.glob("*.css"))
PART_OF_A_CLASS = re.compile(r"""\[class\s*[*^$~|]?=""")


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.stem)
def test_no_rule_asks_for_a_part_of_a_class(sheet: Path) -> None:
    """A class that changes anywhere would have a browser ask such a rule again, and each run changes most of them."""
    rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.S)
    assert rules.strip() and not PART_OF_A_CLASS.findall(rules)
