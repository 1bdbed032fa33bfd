"""A picture for other libraries: its numbers as a data frame, and drawn anew by Plotly and Matplotlib."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz_model.drawing.scene import Cells, Items, Scene
from viz_model.drawing.scene import numbers as tables
from viz_model.drawing.theme import PALETTES


def frame(scene: Scene) -> pd.DataFrame:
    """A row for each number: part, row, column, value; a masked cell has NaN."""
    found = pd.DataFrame(list(tables.lines(scene)), columns=list(tables.HEADER))
    found["value"] = pd.to_numeric(found["value"])  # a masked cell is empty, and so NaN
    return found


def matrices(scene: Scene) -> list[Cells]:
    """The cells of a picture that are numbers of the run."""
    return [
        mark
        for panel in scene.panels
        for mark in panel.marks
        if isinstance(mark, Cells) and np.size(mark.values) and not mark.id.startswith(tables.SCALE)
    ]


def has_bars(scene: Scene) -> bool:
    return any(isinstance(mark, Items) and mark.width is not None for panel in scene.panels for mark in panel.marks)


def plotly(scene: Scene, theme: str) -> go.Figure:
    """Cells as heatmaps, one under the other; else bars or lines."""
    cells, colors = matrices(scene), PALETTES[theme]
    if not cells:
        kind: Any = go.Bar if has_bars(scene) else go.Scatter
        series = [kind(x=list(map(str, one.at)), y=list(one.values), name=one.name) for one in scene.series]
        return go.Figure(series).update_layout(title=scene.title)
    made = make_subplots(rows=len(cells), cols=1, subplot_titles=[mark.name for mark in cells])
    for n, mark in enumerate(cells):
        values, rows, columns = _table(mark)
        low = -mark.top if mark.look == "signed" else 0.0
        heat = go.Heatmap(
            z=values,
            x=list(range(len(columns))),
            y=list(range(len(rows))),
            zmin=low,
            zmax=mark.top,
            colorscale=_scale(mark, colors),
            showscale=n == 0,
        )
        made.add_trace(heat, row=n + 1, col=1)
        made.update_xaxes(tickvals=heat.x, ticktext=columns, title=mark.column_axis, row=n + 1, col=1)
        made.update_yaxes(tickvals=heat.y, ticktext=rows, title=mark.row_axis, autorange="reversed", row=n + 1, col=1)
    return made.update_layout(title=scene.title, height=max(360, 220 * len(cells)))


def matplotlib(scene: Scene, theme: str, ax: Any) -> Any:
    """The first cells as an image, else bars or lines, on axes of Matplotlib."""
    from matplotlib.colors import LinearSegmentedColormap

    cells = matrices(scene)
    if cells:
        mark = cells[0]
        values, rows, columns = _table(mark)
        colors = LinearSegmentedColormap.from_list(mark.look, [color for _, color in _scale(mark, PALETTES[theme])])
        ax.imshow(values, vmin=-mark.top if mark.look == "signed" else 0.0, vmax=mark.top, cmap=colors, aspect="auto")
        if len(columns) <= 64:
            ax.set_xticks(range(len(columns)), columns, rotation=90)
        if len(rows) <= 64:
            ax.set_yticks(range(len(rows)), rows)
        ax.set(xlabel=mark.column_axis, ylabel=mark.row_axis)
        return ax
    draw = ax.bar if has_bars(scene) else ax.plot
    for one in scene.series:
        draw(list(map(str, one.at)), list(one.values), label=one.name)
    if len(scene.series) > 1:
        ax.legend()
    return ax


def _table(mark: Cells) -> tuple[np.ndarray, Sequence[str], Sequence[str]]:
    """Numbers [rows, columns] with the names of both."""
    values = np.atleast_2d(np.asarray(mark.values, dtype=float))
    return values, tables.names(mark.rows, len(values)), tables.names(mark.columns, values.shape[1])


def _scale(mark: Cells, colors: Any) -> list[tuple[float, str]]:
    if mark.look == "signed":
        return [(0.0, colors["negative"]), (0.5, colors["paper"]), (1.0, colors["positive"])]
    return [(0.0, colors["paper"]), (1.0, colors.get(mark.role, mark.role))]
