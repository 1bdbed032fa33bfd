"""A batch's tables mark what nobody wrote, and leave out what has no room; the norms' frames stand where they say."""

from __future__ import annotations

import islands
import numpy as np
import pytest
from scenes import sent

import viz_model as vm
from viz_model.drawing.scene import Cells, Texts, seen
from viz_model.topics.batch import PAGE, norms
from viz_model.topics.batch.tables import draw, ids_view, loss_view, mask_view

TEXT = "The cat sat on the mat"
PADDING = np.array([[False, False, False], [False, True, True]])


@pytest.fixture(scope="module")
def story() -> vm.LanguageModel:
    return vm.load("story-pre-ln")


def test_padding_is_marked_as_what_nobody_wrote(story: vm.LanguageModel) -> None:
    ids = ids_view("ids", ("a", "b"), np.array([[11, 12, 13], [14, 0, 0]]), PADDING, (("x", "y", "z"), ("w",)))
    look = islands.look(story.trace(TEXT), PAGE)
    (panel,) = draw(look, "batch.ids", "", [ids, mask_view("mask", ("a", "b"), PADDING)]).panels
    tables = [mark for mark in panel.marks if isinstance(mark, Cells)]
    written = [mark for mark in panel.marks if isinstance(mark, Texts)]
    assert len(tables) == len(written) == 2
    for cells, texts in zip(tables, written, strict=True):
        assert not cells.empty
        np.testing.assert_array_equal(np.isnan(cells.values), PADDING)
        assert len(texts.texts) == PADDING.size and texts.rooms is not None
        np.testing.assert_allclose(texts.rooms[:, 0], 1.2 / 3, rtol=1e-6)
    assert [label.split("\n") for label in tables[0].labels] == [
        ["x", "11"], ["y", "12"], ["z", "13"], ["w", "14"], ["0"], ["0"],
    ]  # fmt: skip
    assert list(tables[1].labels) == ["1", "1", "1", "1", "0", "0"]


def test_a_loss_that_nobody_asks_for_is_no_cell() -> None:
    view = loss_view("loss", ("a",), np.array([[0.5, np.nan, 2.0]]), "-100")
    assert view.texts == [[("0.50",), ("-100",), ("2.00",)]]
    np.testing.assert_allclose(view.strength, [[0.25, np.nan, 1.0]])


@pytest.mark.parametrize(("layer", "token"), [(0, 0), (2, 3), (3, 5)])
def test_the_frames_of_both_norms_are_of_the_selection(layer: int, token: int, story: vm.LanguageModel) -> None:
    look = islands.look(story.trace(TEXT), PAGE)
    made = sent(seen(norms.draw(look), {"layer": layer, "token": token, "head": 0}))
    known = norms.layers(look)
    x = story.trace(TEXT)[f"blocks.{layer}.resid.in"].numpy()
    feature = int(np.abs(x[token]).argmax())
    first, last = (int(name) for name in made.mark("ends")["texts"][:2])
    assert first <= feature <= last and last - first == norms.MOST_FEATURES - 1
    cells = made.mark("cells")
    rows = known.vectors[layer]
    step = norms.MOST_FEATURES + 1
    for n, row in enumerate(rows):
        drawn = cells["values"][: len(row), n * step : n * step + norms.MOST_FEATURES]
        np.testing.assert_allclose(drawn, row[:, first : last + 1], rtol=1e-6)
        column = n * step + feature - first
        assert made.mark(f"batch.{n}")["x"][0] == pytest.approx(column / cells["values"].shape[1])
    np.testing.assert_allclose(rows[0], x, atol=1e-5)
    assert made.mark("layer")["y"] == pytest.approx(cells["y"] + token * cells["height"] / len(cells["values"]))


def test_the_strips_are_the_vector_of_the_selection(story: vm.LanguageModel) -> None:
    look = islands.look(story.trace(TEXT), PAGE)
    made = sent(seen(norms.draw_strips(look), {"layer": 2, "token": 4, "head": 0}))
    x = story.trace(TEXT)["blocks.2.resid.in"][4].numpy()
    np.testing.assert_allclose(np.ravel(made.mark("cells.0")["values"]), x[: norms.MOST_DIMENSIONS], rtol=1e-5)
    normed = (x - x.mean()) / np.sqrt(x.var() + norms.EPS)
    for strip in ("cells.1", "cells.2"):
        np.testing.assert_allclose(np.ravel(made.mark(strip)["values"]), normed[: norms.MOST_DIMENSIONS], atol=1e-4)
