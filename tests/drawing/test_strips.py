"""Rows of cells are sent as they are: every number, what it stands for, and what is masked."""

from __future__ import annotations

import json

import numpy as np
import pytest

from viz_model.drawing import cells, heatmap, strips
from viz_model.drawing.cells import COLUMN, ROW, Cells, span_of
from viz_model.drawing.heatmap import HeatmapView, Pool

WORDS = {"alt": "what it shows", "masked": "hidden"}


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


@pytest.mark.parametrize("scale", ["signed", "probability", "positive"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 40), (88, 88)])
def test_a_matrix_is_sent_number_by_number(shape: tuple[int, int], scale: str) -> None:
    view = matrix(shape, scale=scale)
    header, numbers = strips.scene(strips.matrix(view), WORDS)
    assert numbers.dtype == np.float32 and numbers.shape == shape
    np.testing.assert_array_equal(numbers, view.values.astype(np.float32))
    assert [row["name"] for row in header["rows"]] == list(view.rows) and header["columns"] == view.columns
    tops = {row["top"] for row in header["rows"]}
    assert tops == {1.0 if scale == "probability" else np.abs(view.values).max()}, "one scale for all rows"
    assert header["selected"] == 1 and header["axes"] == ["from", "to"] and header["words"] == WORDS
    assert json.loads(json.dumps(header)) is not None


def test_what_is_masked_is_no_number() -> None:
    _, numbers = strips.scene(strips.matrix(matrix((6, 6), masked=True)), WORDS)
    np.testing.assert_array_equal(np.isnan(numbers), np.triu(np.ones((6, 6), bool), 1))


def test_a_matrix_of_nothing_but_masked_cells_has_a_scale() -> None:
    view = matrix((4, 4))._replace(values=np.full((4, 4), -np.inf))
    header, numbers = strips.scene(strips.matrix(view), WORDS)
    assert np.isnan(numbers).all() and all(row["top"] == 1.0 for row in header["rows"])


def test_a_cell_says_which_number_it_is() -> None:
    header, _ = strips.scene(strips.matrix(matrix((6, 6), first=10)), WORDS)
    assert header["places"] == header["rowPlaces"] == tuple(range(10, 16))
    which = cells.read(header)
    assert which is not None and which.at(2, 5) == ("blocks.0.attn.scores", (3, 12, 15))
    assert not any("cells" in row for row in header["rows"]), "said once, not for every row"


def test_strips_have_scales_and_cells_of_their_own() -> None:
    first = strips.Strip("a", np.array([1.0, -4.0]), top=4.0, cells=Cells("embed.out", (2, COLUMN)))
    second = strips.Strip("b", np.array([0.5, np.nan]), "bars", 0.5, "value", behind="length 1")
    header, numbers = strips.scene(strips.StripsView((first, second), ("x", "y"), 200), WORDS)
    assert [row["top"] for row in header["rows"]] == [4.0, 0.5]
    assert "cells" not in header and "cells" not in header["rows"][1]
    which = cells.read(header["rows"][0])
    assert which is not None and which.at(0, 1) == ("embed.out", (2, 1))
    assert header["rows"][1]["behind"] == "length 1" and header["weights"][0] == 1 < header["weights"][1]
    np.testing.assert_array_equal(numbers, np.array([[1, -4], [0.5, np.nan]], np.float32))


def test_a_large_matrix_is_pooled_and_asks_nothing() -> None:
    view = matrix((300, 300))
    picture = strips.matrix(view)
    header, numbers = strips.scene(picture, WORDS)
    assert picture.pool != Pool() and numbers.size <= heatmap.MOST_CELLS and "cells" not in header
    assert header["places"] == () and np.abs(numbers).max() == np.float32(np.abs(view.values).max())


def test_steps_are_numbered_and_each_has_a_scale_of_its_own() -> None:
    scores, weights = np.array([2.0, -8.0, -np.inf]), np.array([0.75, 0.25, 0.0])
    found = [strips.scaled("a", scores), strips.scaled("b", weights, "share"), strips.scaled("c", weights, "bars")]
    view = strips.steps(found, ("x", "y", "z"), (4, 5, 6))
    assert [strip.name for strip in view.strips] == ["1  a", "2  b", "3  c"] and view.written
    assert [strip.top for strip in view.strips] == [8.0, 1.0, 0.75]
    assert view.height > strips.steps(found[:2], ("x", "y", "z"), (4, 5, 6)).height + strips.BARS_HEIGHT - 1
