"""Colors are told apart by everybody, on a light page and on a dark one, and so is what a legend names."""

import tomllib
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from app_driver import figures, open_page
from coloraide import Color

from viz_model.drawing import theme
from viz_model.topics.norm_placement.places import COLORS as PLACES

ROOT = Path(__file__).resolve().parents[2]
SIGHTS = (None, "protan", "deutan", "tritan")
"""Color vision as usual, and the three kinds of color blindness after Machado, Oliveira and Fernandes (2009)."""

APART = 10.0
"""ΔE2000 (Sharma, Wu and Dalal 2005) from which on two marks beside each other are told apart at a glance."""

HUES = {*theme.ROLES.values(), *theme.TOKENS}
PAPER = {hue for role, hue in theme.PALETTES["paper"].items() if role in theme.ROLES or role.startswith("token")}
PALETTES = {
    "roles and tokens": HUES,
    "on paper": PAPER,
    "signs": {theme.NEGATIVE, theme.POSITIVE},
    "places of the norm": {*PLACES.values(), theme.ROLES["residual"], theme.ROLES["norm"]},
}


def seen(color: str, sight: str | None) -> Color:
    return Color(color) if sight is None else Color(color).filter(sight, method="machado").clip("srgb")


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("palette", PALETTES)
def test_every_two_colors_of_a_palette_are_told_apart(palette: str, sight: str | None) -> None:
    close = {
        (one, other): round(distance, 1)
        for one, other in combinations(sorted(PALETTES[palette]), 2)
        if (distance := seen(one, sight).delta_e(seen(other, sight), method="2000")) < APART
    }
    assert not close


def test_figures_know_what_they_stand_on() -> None:
    themes = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    assert {name: themes[name]["backgroundColor"] for name in theme.PAGES} == theme.PAGES


@pytest.mark.parametrize("page", ["light", "dark"])
def test_every_color_stands_out_from_the_page(page: str) -> None:
    ratios = {c: Color(c).contrast(theme.PAGES[page]) for c in HUES}
    assert min(ratios.values()) >= 2, ratios


def test_every_color_stands_out_on_paper() -> None:
    assert len(PAPER) == len(HUES) and min(Color(hue).contrast("white") for hue in PAPER) >= 3


@pytest.mark.parametrize("page", ["light", "dark"])
def test_symbols_in_the_color_of_their_role_can_be_read(page: Literal["light", "dark"]) -> None:
    for role, hue in theme.ROLES.items():
        written = Color(theme.written(role, page))
        assert written.contrast(theme.PAGES[page]) >= 4.5, (role, written)
        assert abs((written.convert("oklch")["h"] - Color(hue).convert("oklch")["h"] + 180) % 360 - 180) < 25, role


def test_white_can_be_read_on_what_is_written_on_in_white() -> None:
    assert Color(theme.ROLES["pattern"]).contrast("white") >= 4.5


class Mark(NamedTuple):
    """What stands for a name in a legend: its form, its color, and how much of the page shines through."""

    form: tuple[object, ...]
    color: str
    opacity: float

    def on(self, page: str, sight: str | None) -> Color:
        color = Color(self.color)
        color["alpha"] = float(color["alpha"]) * self.opacity
        return seen(Color.layer([color, theme.PAGES[page]], space="srgb").to_string(), sight)


def legend(figure: dict[str, Any]) -> dict[str, Mark]:
    """The first mark of each name in a figure's legend, unless each of its points has a color of its own."""
    found: dict[str, Mark] = {}
    for trace in figure["data"] if figure["layout"].get("showlegend", True) else ():
        line, marker = trace.get("line", {}), trace.get("marker", {})
        drawn = trace["type"] == "scatter" and "lines" in trace.get("mode", "")
        color = (line if drawn else marker).get("color")
        if isinstance(color, str) and trace.get("name") and trace.get("showlegend", True):
            look = line.get("dash", "solid"), marker.get("symbol"), marker.get("pattern", {}).get("shape")
            opacity = 1 if drawn else marker.get("opacity", 1)
            solid = trace.get("opacity", 1) * opacity if isinstance(opacity, float) else 1
            found.setdefault(trace["name"], Mark((trace["type"], trace.get("mode"), *look), color, solid))
    return found


@pytest.mark.parametrize("page", ["norm_placement", "cost"])
def test_what_a_legend_names_is_told_apart_by_color_or_form(page: str) -> None:
    app = open_page(page, {"text": "The cat sat on the mat", "layer": "1"})
    pairs = [pair for figure in figures(app) for pair in combinations(legend(figure).values(), 2)]
    assert pairs
    for one, other in [pair for pair in pairs if pair[0].form == pair[1].form]:
        for ground, sight in product(theme.PAGES, SIGHTS):
            assert one.on(ground, sight).delta_e(other.on(ground, sight), method="2000") >= APART, (one, other)
