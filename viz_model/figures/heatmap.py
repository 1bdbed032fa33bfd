"""A matrix as coloured cells: the commonest picture of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.figures import theme
from viz_model.figures.cells import Cells


class HeatmapView(NamedTuple):
    """A matrix with names for its rows and columns.

    ``values`` is [rows, columns]; NaN or −∞ cells are masked. ``site`` names the values in the
    hover text. Scale "signed" is symmetric about 0; "probability" runs from 0 to 1;
    "positive" from 0 to the largest value. ``cells`` says which numbers of the run these are.
    """

    values: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    site: str
    role: str
    scale: Literal["signed", "probability", "positive"] = "signed"
    row_axis: str = ""
    column_axis: str = ""
    selected_row: int | None = None
    limit: float | None = None
    cells: Cells | None = None


def draw(
    view: HeatmapView,
    *,
    height: int | None = None,
    title: str = "",
    cell: int = 26,
    show_rows: bool = True,
    show_columns: bool = True,
    colour_bar: bool = True,
    square: bool = False,
) -> go.Figure:
    """Every cell with its row, column and value on hover. Rows read downwards, as in print."""
    masked = ~np.isfinite(view.values)
    values = np.where(masked, np.nan, view.values).astype(np.float32)
    top = view.limit or float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    low, high, colours = {
        "signed": (-top, top, theme.diverging()),
        "probability": (0.0, 1.0, theme.sequential(view.role)),
        "positive": (0.0, top, theme.sequential(view.role)),
    }[view.scale]
    rows, columns = theme.unique(view.rows), theme.unique(view.columns)
    meta = None if view.cells is None else view.cells.meta
    figure = go.Figure(
        go.Heatmap(
            z=values,
            meta=meta,
            zmin=low,
            zmax=high,
            colorscale=colours,
            showscale=colour_bar,
            colorbar={"thickness": 10, "len": 0.9, "outlinewidth": 0, "tickfont": {"size": 11}},
            hoverongaps=False,
            x=columns,
            y=rows,
            hovertemplate=f"<b>%{{z:.4f}}</b><br>{theme.plain(view.row_axis)} %{{y}}"
            f"<br>{theme.plain(view.column_axis)} %{{x}}<extra>{theme.plain(view.site)}</extra>",
        )
    )
    if masked.any():
        figure.add_trace(
            go.Heatmap(
                z=np.where(masked, 1.0, np.nan).astype(np.float32),
                x=columns,
                y=rows,
                colorscale=[[0, theme.MASKED], [1, theme.MASKED]],
                showscale=False,
                meta=meta,
                hoverinfo="skip" if meta is None else "none",  # what is skipped cannot be clicked
                hoverongaps=False,
            )
        )
    row_ticks = theme.ticks(view.rows) if show_rows else {"showticklabels": False}
    column_ticks = theme.ticks(view.columns) if show_columns else {"showticklabels": False}
    figure.update_yaxes(type="category", autorange="reversed", title=theme.plain(view.row_axis) or None, **row_ticks)
    figure.update_xaxes(type="category", title=theme.plain(view.column_axis) or None, **column_ticks)
    if view.selected_row is not None:
        figure.add_shape(
            type="rect",
            x0=-0.5,
            x1=len(view.columns) - 0.5,
            y0=view.selected_row - 0.5,
            y1=view.selected_row + 0.5,
            line={"color": theme.HIGHLIGHT, "width": 2},
        )
    tall = height or min(560 if square else 720, max(260 if square else 180, 90 + cell * len(view.rows)))
    return theme.layout(figure, height=tall, title=title)


def strip(
    cells: np.ndarray,
    columns: Sequence[str],
    name: str,
    *,
    probability: bool,
    written: bool = True,
    which: Cells | None = None,
) -> list[go.Heatmap | go.Scatter]:
    """One row [columns] of cells, with their numbers where ``written``: what is finite in colour, the rest in grey.

    ``which`` says which numbers of the run they are.
    """
    meta = None if which is None else which.meta
    finite = np.isfinite(cells)
    top = 1.0 if probability else float(np.abs(cells[finite]).max(initial=0.0)) or 1.0
    parts: list[go.Heatmap | go.Scatter] = [
        go.Heatmap(
            z=np.where(finite, cells, np.nan).astype(np.float32)[None],
            meta=meta,
            x=columns,
            y=[name],
            zmin=0 if probability else -top,
            zmax=top,
            colorscale=theme.sequential("pattern") if probability else theme.diverging(),
            showscale=False,
            hoverongaps=False,
            xgap=2,
            hovertemplate=f"%{{x}}<br><b>%{{z:.4f}}</b><extra>{name}</extra>",
        )
    ]
    if not finite.all():
        parts.append(
            go.Heatmap(
                z=np.where(finite, np.nan, 1.0).astype(np.float32)[None],
                meta=meta,
                x=columns,
                y=[name],
                colorscale=[[0, theme.MASKED], [1, theme.MASKED]],
                showscale=False,
                hoverongaps=False,
                xgap=2,
                hovertemplate=f"%{{x}}<br><b>−∞</b><extra>{name}</extra>",
            )
        )
    if not written:
        return parts
    # Not the heatmap's own text: that is black or white by the cell's hue alone, blind to
    # how much of a light or dark page shines through it.
    strong = np.abs(np.where(finite, cells, 0.0)) > 0.55 * top
    parts.append(
        go.Scatter(
            x=columns,
            y=[name] * len(columns),
            mode="text",
            text=[f"{value:.2f}" if ok else "−∞" for value, ok in zip(cells, finite, strict=True)],
            textfont={"size": 12, "color": ["#ffffff" if s else theme.INK for s in strong]},
            hoverinfo="skip",
        )
    )
    return parts
