"""Every kind of mark in a file: where it stands there, and how it looks."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import pytest
from svg_files import found, numbers, one, scene

from viz_model.drawing.palettes import PALETTES
from viz_model.drawing.scene import Cells, Items, Labels, Path, Run, Text, Texts


@pytest.mark.parametrize("as_lengths", [False, True])
def test_bars_stand_where_their_values_say(as_lengths: bool) -> None:
    values, zero = np.array([3.0, -2.0, np.nan]), 50.0
    left = np.array([[0.0, 10], [0.5, 0], [1, -10]]) if as_lengths else np.array([10.0, 100, 190])
    bars = Items(
        id="b",
        x=left,
        y=np.full(3, zero) * (values / values),
        width=np.full(3, 20.0),
        height=-10 * values,
        fill=["ffn", "key", "key"],
        stroke="ink",
        thick=[0, 2, 1],
        opacity=0.5,
    )
    up, down = found(scene(bars), "rect", width=200)
    assert numbers(up, "x", "y", "width", "height") == [10, 20, 20, 30]
    assert numbers(down, "x", "y", "width", "height") == [100, 50, 20, 20]
    light = PALETTES["light"]
    assert [up.get("fill"), down.get("fill"), down.get("stroke")] == [light["ffn"], light["key"], light["ink"]]
    assert up.get("stroke") is None and up.get("fill-opacity") == "0.5" and down.get("stroke-width") == "2"


@pytest.mark.parametrize("slant", ["/", "\\"])
def test_lines_across_a_bar_end_at_its_edges(slant: Literal["/", "\\"]) -> None:
    x, y, width, height = (np.array([n]) for n in (10.0, 5.0, 20.0, 8.0))
    path = one(scene(Items(id="b", x=x, y=y, width=width, height=height, fill="key", hatch="ink", slant=slant)), "path")
    ends = np.array([[float(n) for n in pair.split(",")] for pair in re.split("[ML]", path.get("d", ""))[1:]])
    assert len(ends) == 8 and path.get("stroke") == PALETTES["light"]["ink"]
    assert ends[:, 0].min() >= 10 and ends[:, 0].max() <= 30 and ends[:, 1].min() >= 5 and ends[:, 1].max() <= 13
    falls = np.sign(np.diff(ends.reshape(-1, 2, 2), axis=1)[:, 0]).prod(axis=1)
    assert set(falls) == {-1.0 if slant == "/" else 1.0}


def test_points_have_their_symbol_and_size() -> None:
    names = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "line-ns", "circle-open", ""]
    points = Items(id="p", x=np.arange(10.0), y=np.arange(10.0), symbol=names, size=[*range(10, 20)], fill="key")
    drawn = found(scene(points), "path")
    assert len(drawn) == 9, "what is only pointed at is not drawn"
    for part, name, n in zip(drawn, names, range(10), strict=False):
        assert part.get("transform") == f"translate({n},{n})"
        corners = np.array(re.findall(r"(-?[\d.]+),(-?[\d.]+)", part.get("d", "")), float)
        reach = (10 + n) / 2
        assert 0.8 * reach <= np.abs(corners).max() <= 1.3 * reach
        is_line = name in ("x", "line-ns", "circle-open")
        hue = PALETTES["light"]["key"]
        assert (part.get("fill"), part.get("stroke")) == (("none", hue) if is_line else (hue, "none"))


def test_an_arrow_ends_in_its_head_and_a_gap_breaks_the_line() -> None:
    xs = np.array([10.0, 50, np.nan, 60, 100])
    arrow = Path(id="p", x=xs, y=np.where(np.isnan(xs), np.nan, 30.0), stroke="muted", head=10)
    line, head = found(scene(arrow), "path")
    assert line.get("d") == "M10,30L50,30M60,30L93,30"
    assert head.get("d") == "M100,30L90,34.5L90,25.5Z" and head.get("fill") == PALETTES["light"]["muted"]


def test_runs_keep_their_look_and_lines_stand_under_each_other() -> None:
    words = ((Run("a "), Run("b", bold=True)), (Run("猫", fill="ffn"),))
    text = one(scene(Text(id="t", text=words, x=7, y=50, size=20, mono=True)), "text")
    first, bold, second = list(text)
    assert [part.text for part in text] == ["a ", "b", "猫"] and "monospace" in text.get("font-family", "")
    assert bold.get("font-weight") == "700" and bold.get("x") is None
    assert second.get("fill") == PALETTES["light"]["ffn"] and numbers(second, "x") == numbers(first, "x") == [7]
    assert (numbers(first, "y")[0], numbers(second, "y")[0]) == (37.5, 62.5)


def test_what_no_file_may_hold_is_replaced() -> None:
    assert one(scene(Text(id="t", text="a\x00b\ud800 <&")), "text").text == "a\ufffdb\ufffd <&"


def test_writing_without_room_is_left_out() -> None:
    rooms = np.array([[0.0, 20], [0.5, 0], [0.05, 0]])
    xs = np.array([[0.5, 0.0]] * 3)
    many = Texts(
        id="t",
        texts=["wide words", "wide words", ((Run("1"),),)],
        x=xs,
        y=np.array([1.0, 2, 3]),
        anchor=["end", "start", "middle"],
        fill=["ink", "muted", "ink"],
        rooms=rooms,
    )
    assert [part.get("y") for part in found(scene(many), "text", width=400)] == ["2", "3"]
    (narrow,) = found(scene(many), "text", width=200)
    assert ["".join(narrow.itertext()), narrow.get("text-anchor")] == ["wide words", "start"]
    assert numbers(narrow, "x") == [100] and narrow.get("fill") == PALETTES["light"]["muted"]


@pytest.mark.parametrize("turn", ["auto", "never", "always"])
def test_names_stand_at_their_places_and_do_not_touch(turn: Literal["auto", "never", "always"]) -> None:
    places = np.stack([np.linspace(0, 1, 30), np.zeros(30)], axis=1)
    names = [f"name {n}" for n in range(30)]
    edge = Labels(id="l", texts=names, length=(1, 0), y=10, places=places, turn=turn, size=11, fill="muted", marked=4)
    written = found(scene(edge), "text", width=600)
    assert all(part.get("font-size") == "11" and part.get("fill") == PALETTES["light"]["muted"] for part in written)
    assert [part.text for part in written if part.get("font-weight")] == ["name 4"]
    slanted = [part.get("transform", "").startswith("rotate(-45") for part in written]
    assert all(slanted) == any(slanted) == (turn != "never")
    expected = [600 * float(places[names.index(part.text or ""), 0]) for part in written]
    off = 0 if turn == "never" else 4
    np.testing.assert_allclose([numbers(part, "x")[0] - off for part in written], expected, atol=0.01)
    if turn == "never":
        assert np.diff(expected).min() > 11 * 0.5 * 6


def test_stops_colour_by_the_nearer_one_and_what_is_empty_stays_so() -> None:
    stops = [(0.0, "key", 0.0), (1.0, "key", 1.0), (3.0, "#112233", 0.5)]
    values = np.array([-1.0, 0.5, 1.5, 2.5, 9.0, np.nan])
    cells = Cells(id="c", height=20, values=values, look="stops", stops=stops, empty=True)
    shapes = found(scene(cells), "rect", width=600)
    key = PALETTES["light"]["key"]
    looks = [(part.get("fill"), float(part.get("fill-opacity", ""))) for part in shapes]
    assert looks == [(key, 0.5), (key, 0.875), ("#112233", 0.625), ("#112233", 0.5)]
    assert [numbers(part, "x")[0] for part in shapes] == [100, 200, 300, 400]
    many = Cells(id="c", height=60, values=np.tile(values, (400, 1)), look="stops", stops=stops, empty=False)
    masked = [part for part in found(scene(many), "rect", width=600) if part.get("fill") == "url(#hidden)"]
    assert len(masked) == 400 and len(found(scene(many), "image")) == 1
