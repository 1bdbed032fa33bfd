"""A strip with more numbers than pixels shows the mean of what each pixel covers, at any ratio of pixels."""

from __future__ import annotations

import numpy as np
import pytest
from browser_driver import Visit

import viz_model as vm

pytestmark = pytest.mark.browser

TEXT = "Tom had a cat"
TOP, STEP = 44.0, 30.0
"""Pixels above the first row of the overview, and of a row of a short text."""
ALPHA = """(canvas, [top, step, rows]) => {
  const ratio = devicePixelRatio, pen = canvas.getContext('2d')
  return Array.from({ length: rows }, (_, row) => {
    const y = Math.round((top + (row + 0.5) * step) * ratio)
    return Array.from(pen.getImageData(0, y, canvas.width, 1).data).filter((_, n) => n % 4 === 3)
  })
}"""


@pytest.mark.parametrize("ratio", [1, 1.25, 2])
@pytest.mark.parametrize("panel", [1, 2], ids=["embedding", "position"])
def test_each_pixel_of_a_strip_is_a_mean(ratio: float, panel: int, visit: Visit) -> None:
    options = {"viewport": {"width": 1366, "height": 768}, "device_scale_factor": ratio}
    page = visit("/overview", options=options, text=TEXT, model="story-pre-ln", lang="en", token="0")
    trace = vm.load("story-pre-ln").trace(TEXT)
    values = [np.abs(trace[f"embed.{name}"].numpy()) for name in ("token", "position")]
    opaque = values[panel - 1] / max(one.max() for one in values)
    canvas = page.locator(".viz-island .viz-scene .panel canvas").nth(panel)
    painted = np.array(canvas.evaluate(ALPHA, [TOP, STEP, len(trace)])) / 255
    wide, cells = painted.shape[1], opaque.shape[1]
    assert wide != cells
    if wide > cells:  # each cell is one color then
        middles = ((np.arange(cells) + 0.5) * wide / cells).astype(int)
        np.testing.assert_allclose(painted[:, middles], opaque, atol=0.01)
        return
    edges = np.concatenate([np.zeros((len(opaque), 1)), opaque.cumsum(1)], 1)
    at = np.arange(wide + 1) * cells / wide
    sums = np.stack([np.interp(at, np.arange(cells + 1), row) for row in edges])
    np.testing.assert_allclose(painted, np.diff(sums, axis=1) * wide / cells, atol=0.01)
