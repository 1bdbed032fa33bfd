"""A batch's tables mark what nobody wrote, and leave out what has no room; the norms' frames stand where they say."""

from __future__ import annotations

import islands
import numpy as np
import pytest
from scenes import sent

import viz_model as vm
from viz_model.drawing.scene import seen
from viz_model.topics.batch import PAGE, norms

TEXT = "The cat sat on the mat"
PADDING = np.array([[False, False, False], [False, True, True]])


@pytest.fixture(scope="module")
def story() -> vm.LanguageModel:
    return vm.load("story-pre-ln")


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
