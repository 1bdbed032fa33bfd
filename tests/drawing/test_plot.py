"""A sheet as a scene: bars, points and cells stand where their values are, and say what the sheet has them say."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scenes import Sent, read

from viz_model.drawing import axes, bars, curves, plot, sheet, theme
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.heatmap import HeatmapView, on_sheet
from viz_model.drawing.palettes import PALETTES
from viz_model.drawing.scene import Run, encode
from viz_model.drawing.scene.svg import svg

WIDTH = 500


def drawn(figure: sheet.Sheet, **more: Any) -> Sent:
    return read(encode(plot.scene(figure, "figure", "what it shows", **more)))


def px(lengths: np.ndarray) -> np.ndarray:
    """Lengths [..., 2] of a picture that is WIDTH wide, in pixels."""
    found: np.ndarray = lengths[..., 0] * WIDTH + lengths[..., 1]
    return found


def straight(places: np.ndarray, values: Any) -> bool:
    """Whether places follow values evenly."""
    return bool(np.allclose(np.polyval(np.polyfit(values, places, 1), values), places, atol=0.02))


def test_bars_reach_from_nought_to_their_values() -> None:
    figure, values = sheet.Sheet(), np.array([3.0, -1.0, 0.5])
    bars.across(figure, values, theme.POSITIVE, hover="<b>%{x:.2f}</b> of %{y}", outside=["a", "b", "<b>c</b>"])
    axes.rows(figure, ["one", "two", "three"])
    theme.finished(figure, height=200)
    sent = drawn(figure)
    items, texts = sent.mark("bars.0"), sent.mark("bars.0.text")
    left, right = px(items["x"]), px(items["x"]) + px(items["width"])
    assert straight(right, values) and np.allclose(left, left[0])
    assert items["labels"] == ["3.00 of 0", "−1.00 of 1", "0.50 of 2"] and items["fill"] == "positive" and items["down"]
    assert list(np.argsort(items["y"])) == [0, 1, 2]
    np.testing.assert_allclose(px(texts["x"]), right + np.array([4, -4, 4]), atol=0.01)
    assert texts["anchor"] == ["start", "end", "start"] and texts["texts"][2] == [[["c", True, ""]]]


@pytest.mark.parametrize(("mode", "ends"), [("stack", [[2, 3], [6, 4]]), ("overlay", [[2, 3], [4, 1]])])
def test_bars_stand_behind_or_over_each_other(mode: str, ends: list[list[int]]) -> None:
    figure = sheet.Sheet(sheet.bar(x=[0, 1], y=[2, 3]), sheet.bar(x=[0, 1], y=[4, 1]))
    figure.update_layout(barmode=mode)
    theme.layout(figure, height=300)
    sent = drawn(figure)
    found = [sent.mark(f"bars.{n}") for n in range(2)]
    tops = np.concatenate([one["y"] + one["height"] for one in found])
    assert straight(tops, np.ravel(ends))
    assert np.allclose(px(found[0]["x"]), px(found[1]["x"]))


def test_bars_of_a_group_stand_side_by_side() -> None:
    figure = sheet.Sheet(*(sheet.bar(x=[0, 1], y=[2, 3], name=name) for name in "ab"))
    figure.update_layout(barmode="group", bargap=0.2)
    theme.finished(figure, height=300, legend="above")
    sent = drawn(figure)
    first, second = (sent.mark(f"bars.{n}") for n in range(2))
    np.testing.assert_allclose(px(first["x"]) + px(first["width"]), px(second["x"]), atol=0.01)
    assert [key["name"] for key in sent.header["keys"]] == ["a", "b"]


def test_a_logarithmic_axis_has_its_powers_evenly() -> None:
    figure, values = sheet.Sheet(), np.array([1.0, 10.0, 100.0, 1000.0])
    curves.line(figure, values, values, curves.Style(theme.POSITIVE), marks=8, hover="%{x}", name="a")
    axes.powers(figure, "x", "size", 1, 1000)
    figure.update_yaxes(type="log")
    sent = drawn(theme.layout(figure, height=300))
    points = sent.mark("points.0")
    assert straight(px(points["x"]), range(4)) and straight(points["y"], range(4)) and points["y"][0] > points["y"][3]
    assert points["labels"] == ["1", "10", "100", "1,000"]
    assert sent.mark("names x")["texts"] == ["10⁰", "10¹", "10²", "10³"]


def test_a_line_is_cut_where_its_axis_ends() -> None:
    figure = sheet.Sheet(sheet.scatter(x=[0, 1, 2], y=[0, 10, 0], mode="lines", hoverinfo="skip"))
    figure.update_yaxes(range=[0, 5])
    sent = drawn(theme.layout(figure, height=300))
    line = sent.mark("line.0")
    known = line["y"][np.isfinite(line["y"])]
    x = px(line["x"])[np.isfinite(line["y"])]
    assert len(known) == 4 and np.isclose(known[1], known[2]) and known.min() >= 7
    assert straight(x, [0, 0.5, 1.5, 2])


def test_a_matrix_keeps_its_cells_whichever_way_its_axis_runs() -> None:
    values = np.arange(6.0).reshape(2, 3)
    for is_reversed in (False, True):
        figure = sheet.Sheet(
            sheet.heatmap(
                z=values, meta=Cells("x", (ROW, COLUMN)).meta, zmin=-6, zmax=6, colorscale=theme.diverging(),
                hovertemplate="%{z:.2f}<br>%{y}",
            )
        )  # fmt: skip
        figure.update_yaxes(autorange="reversed" if is_reversed else None)
        sent = drawn(theme.layout(figure, height=300))
        ((where, shown),) = sent.cells()
        for row, column in np.ndindex(2, 3):
            asked = where.at(row, column)
            assert asked is not None and shown[row, column] == values[asked[1]]
        assert np.array_equal(shown, values if is_reversed else values[::-1])
        cells = sent.mark("cells.0")
        assert cells["look"] == "signed" and cells["told"] == "{value}\n{row}" and cells["digits"] == 2


def test_masked_cells_are_told_apart_from_empty_ones() -> None:
    values = np.array([[1.0, -np.inf], [0.5, 0.5]])
    view = HeatmapView(values, ("a", "b"), ("c", "d"), "site", "pattern", "probability")
    masked = drawn(on_sheet(view)).mark("cells.0")
    assert np.isnan(masked["values"][0, 1]) and not masked.get("empty") and masked["names_of_rows"] == ["0: a", "1: b"]
    plain = drawn(
        theme.layout(
            sheet.Sheet(sheet.heatmap(z=values, zmin=0, zmax=1, colorscale=[[0, "#fff000"], [1, "#000fff"]])), height=90
        )
    )
    assert plain.mark("cells.0")["empty"]


def test_writing_keeps_its_lines_and_what_is_bold() -> None:
    figure = sheet.Sheet()
    figure.add_annotation(x=0, y=0, text="<b>1 &lt; 2</b> so<br>it is", showarrow=False)
    text = drawn(theme.layout(figure, height=100)).mark("note.0")["text"]
    assert text == [[list(Run("1 < 2", bold=True)), list(Run(" so"))], [list(Run("it is"))]]


def test_clicks_are_told_only_where_somebody_listens() -> None:
    figure = sheet.Sheet(sheet.scatter(x=[0, 1], y=[0, 1], mode="markers", customdata=[[1, "a"], [2, "b"]]))
    theme.layout(figure, height=100)
    assert "picks" not in drawn(figure).mark("points.0")
    assert drawn(figure, has_picks=True).mark("points.0")["picks"] == [[1, "a"], [2, "b"]]


def test_round_numbers_stand_along_an_axis() -> None:
    figure = sheet.Sheet(sheet.scatter(x=[0, 97], y=[0.0, 0.83], mode="lines", hoverinfo="skip"))
    axes.across(figure, "n", nticks=6)
    axes.upward(figure, "share", tickformat=".0%")
    sent = drawn(theme.layout(figure, height=300))
    assert sent.mark("names x")["texts"] == ["0", "20", "40", "60", "80"]
    assert sent.mark("names y")["texts"] == ["0%", "20%", "40%", "60%", "80%"]
    assert sent.mark("title x")["text"] == "n"


def test_a_plot_is_written_to_a_file() -> None:
    figure = sheet.Sheet()
    bars.upward(figure, [3.0, -1.0, 2.0], theme.POSITIVE, outside=["three", "", "<b>two</b>"])
    curves.line(figure, [0, 1, 2], [1.0, 2.0, 0.0], curves.Style(theme.NEGATIVE), marks=8)
    axes.columns(figure, ["a", "b", "c"])
    picture = svg(plot.scene(theme.layout(figure, height=200), "figure", "what it shows"), 400)
    ElementTree.fromstring(picture)
    assert picture.count("A4,4 0 1 1 4,0") == 3 and ">three</text>" in picture and ">two</tspan>" in picture
    assert picture.count(f'fill="{PALETTES["light"]["positive"]}"') == 3 and ">b</text>" in picture
