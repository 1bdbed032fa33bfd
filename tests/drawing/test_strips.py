"""Rows of cells are sent as they are: every number, what it stands for, and what is masked."""

from __future__ import annotations

import numpy as np
import pytest
import scenes

from viz_model.drawing import heatmap, strips
from viz_model.drawing.cells import COLUMN, ROW, Cells, span_of
from viz_model.drawing.heatmap import HeatmapView, Pool

WORDS = {"masked": "hidden"}


def matrix(shape: tuple[int, int], *, scale: str = "signed", masked: bool = False, first: int = 0) -> HeatmapView:
    values = np.random.default_rng(0).normal(size=shape)
    if masked:
        values[np.triu_indices(*shape[:1], 1)] = -np.inf
    if scale != "signed":
        values = np.abs(values)
    rows, columns = (tuple(f"{axis}{n}" for n in range(size)) for axis, size in zip("rc", shape, strict=True))
    shown = span_of(slice(first, first + shape[0])), span_of(slice(first, first + shape[1]))
    which = Cells("blocks.0.attn.scores", (3, ROW, COLUMN), *shown)
    return HeatmapView(values, rows, columns, "site", "pattern", scale, "from", "to", 1, None, which)  # type: ignore[arg-type]


def drawn(view: strips.StripsView) -> scenes.Sent:
    return scenes.sent(strips.scene(view, "picture", "title", WORDS, "what it shows"))


@pytest.mark.parametrize("scale", ["signed", "probability", "positive"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 40), (88, 88)])
def test_a_matrix_is_sent_number_by_number(shape: tuple[int, int], scale: str) -> None:
    view = matrix(shape, scale=scale)._replace(selected_row=0)
    found = drawn(strips.matrix(view))
    cells = found.mark("cells")
    np.testing.assert_array_equal(cells["values"], view.values.astype(np.float32))
    assert cells["top"] == (1.0 if scale == "probability" else np.abs(view.values).max()), "one scale for all rows"
    assert found.mark("rows")["texts"] == list(view.rows) and found.mark("columns")["texts"] == list(view.columns)
    assert found.mark("row axis")["text"] == "from" and found.mark("column axis")["text"] == "to"
    assert found.mark("selected")["y"] == cells["y"] and found.mark("selected")["x"] == cells["x"]
    assert found.header["title"] == "title" and found.header["words"] == WORDS


def test_a_cell_says_which_number_it_is() -> None:
    found = drawn(strips.matrix(matrix((6, 6), first=10)))
    names = found.mark("cells")
    assert names["names_of_rows"][2] == "12: r2" and names["names_of_columns"][5] == "15: c5"
    ((which, _),) = found.cells()
    assert which.at(2, 5) == ("blocks.0.attn.scores", (3, 12, 15))


def test_strips_have_scales_and_cells_of_their_own() -> None:
    first = strips.Strip("a", np.array([1.0, -4.0]), top=4.0, cells=Cells("embed.out", (2, COLUMN)))
    second = strips.Strip("b", np.array([0.5, np.nan]), "bars", 0.5, "value", behind="length 1")
    found = drawn(strips.StripsView((first, second), ("x", "y"), 200))
    assert [found.mark(f"cells.{r}")["top"] for r in range(2)] == [4.0, 0.5]
    ((which, values),) = found.cells()
    assert which.at(0, 1) == ("embed.out", (2, 1)) and values.tolist() == [[1.0, -4.0]]
    assert found.mark("behind.1")["text"] == "length 1"
    assert found.mark("cells.1")["height"] > found.mark("cells.0")["height"]
    np.testing.assert_array_equal(found.mark("cells.1")["values"], np.array([0.5, np.nan], np.float32))


def test_a_large_matrix_is_pooled_and_asks_nothing() -> None:
    view = matrix((300, 300))
    picture = strips.matrix(view)
    cells = drawn(picture).mark("cells")
    assert picture.pool != Pool() and cells["values"].size <= heatmap.MOST_CELLS and "where" not in cells
    assert np.abs(cells["values"]).max() == np.float32(np.abs(view.values).max())


def test_steps_are_numbered_and_each_has_a_scale_of_its_own() -> None:
    scores, weights = np.array([2.0, -8.0, -np.inf]), np.array([0.75, 0.25, 0.0])
    found = [strips.scaled("a", scores), strips.scaled("b", weights, "share"), strips.scaled("c", weights, "bars")]
    view = strips.steps(found, ("x", "y", "z"))
    assert [strip.name for strip in view.strips] == ["1  a", "2  b", "3  c"] and view.written
    assert [strip.top for strip in view.strips] == [8.0, 1.0, 0.75]
    assert view.height > strips.steps(found[:2], ("x", "y", "z")).height + strips.BARS_HEIGHT - 1
