"""A Plotly figure as a scene: where its points and bars stand, and what it says of them."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from viz_model.drawing import plotted, theme
from viz_model.drawing.scene import Items, Path, Rect, Scene, Text
from viz_model.drawing.scene.svg import svg


def _mark(scene: Scene, id: str) -> Items | Path | Rect | Text:
    (found,) = [mark for mark in scene.panels[0].marks if mark.id == id]
    assert isinstance(found, Items | Path | Rect | Text)
    return found


def _curves() -> go.Figure:
    figure = go.Figure(layout={"xaxis": {"type": "log", "title": "tokens"}, "yaxis": {"title": "work"}})
    line = {"color": theme.ROLES["ffn"], "dash": "dash"}
    figure.add_scatter(x=[1, 10, 100], y=np.array([0.0, 50.0, 100.0]), name="a &lt;b&gt;", mode="lines", line=line)
    figure.add_scatter(
        x=[1, 100], y=[100, None], name="c", mode="markers", marker={"symbol": "diamond", "size": [4, 8]}
    )
    plotted.marked(figure, 10, "here")
    return figure


def test_points_stand_along_linear_and_logarithmic_axes() -> None:
    scene = plotted.scene("x.y", "a picture", _curves())
    line, points = _mark(scene, "line.0"), _mark(scene, "points.1")
    assert isinstance(line, Path) and isinstance(points, Items)
    assert (line.stroke, line.dash) == ("ffn", "7,4")
    np.testing.assert_allclose(np.asarray(line.x)[:, 0], [0, 0.5, 1], atol=1e-6)
    down = np.asarray(line.y)[:, 1]
    assert down[1] == pytest.approx((down[0] + down[2]) / 2)
    assert np.asarray(points.y)[0] == pytest.approx(down[2])
    assert np.isnan(np.asarray(points.y)[1])
    assert points.symbol == "diamond" and list(points.size) == [4.0, 8.0]  # type: ignore[arg-type]
    marked, named = _mark(scene, "shape.0"), _mark(scene, "note.0")
    assert isinstance(marked, Path) and isinstance(named, Text) and isinstance(named.x, tuple)
    assert np.asarray(marked.x)[0, 0] == named.x[0] == 0.5
    assert [key.name for key in scene.keys] == ["a <b>", "c"]
    assert svg(scene, 600).count("here") == 1


@pytest.mark.parametrize("mode", ["stack", "group"])
def test_bars_stand_on_each_other_or_side_by_side(mode: str) -> None:
    figure = go.Figure(layout={"barmode": mode, "yaxis": {"range": [0, 1]}})
    figure.add_bar(x=["a", "b"], y=[0.25, 0.5], name="one", marker={"color": theme.ROLES["key"]})
    figure.add_bar(x=["a", "b"], y=[0.5, 0.25], name="two", marker={"pattern": {"shape": "/"}})
    scene = plotted.scene("x.y", "a picture", figure)
    one, two = _mark(scene, "bars.0"), _mark(scene, "bars.1")
    assert isinstance(one, Items) and isinstance(two, Items) and one.height is not None and two.width is not None
    whole = one.height[1] * 2
    np.testing.assert_allclose(one.height, [whole / 4, whole / 2], rtol=1e-5)
    below = one.height if mode == "stack" else 0
    np.testing.assert_allclose(one.y + one.height - two.y - two.height, below, atol=1e-3)
    assert (two.x[0, 0] == one.x[0, 0]) == (mode == "stack")
    assert two.hatch == "ink" and one.hatch is None


def test_what_is_not_known_is_refused() -> None:
    for trace in (go.Pie(values=[1, 2]), go.Scatter(x=[1], y=[1], yaxis="y2"), go.Bar(x=[1], y=["a"], orientation="h")):
        with pytest.raises(ValueError, match=r"x\.y"):
            plotted.scene("x.y", "a picture", go.Figure(trace))
