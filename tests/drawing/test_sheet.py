"""A sheet means what Plotly's own methods mean, and what is drawn on one is a figure that Plotly accepts."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from app_driver import figures, open_page
from plotly.subplots import make_subplots
from plotly_form import form_of

from viz_model.app.frame import SECTIONS
from viz_model.drawing import sheet, theme

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page for pages in SECTIONS.values() for page in pages]
MODULES = [
    path
    for path in sorted([*ROOT.glob("pages/*.py"), *ROOT.glob("viz_model/**/*.py")])
    if path.name != "sheet.py" and path.parent.name != "plot" and "plotly" in path.read_text(encoding="utf-8")
]
"""But for :mod:`viz_model.plot`, which hands figures of Plotly to whoever asks."""


def content(figure: go.Figure) -> Any:
    """What a figure says, as the browser reads it; an empty mapping says nothing."""

    def said(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: value for name, inner in part.items() if (value := said(inner)) != {}}
        return [said(inner) for inner in part] if isinstance(part, list) else part

    return said(json.loads(figure.to_json(validate=False)))


# Whatever figure another test draws is shown to Plotly too.
@pytest.mark.full
@pytest.mark.parametrize("model", ["story-pre-ln", "story-modern", "story-bert", "translate-t5"])
@pytest.mark.parametrize("page", PAGES)
def test_plotly_accepts_every_figure_of_a_page(page: str, model: str) -> None:
    for spec in figures(open_page(page, {"model": model, "lang": "en"})):
        go.Figure(spec)


@pytest.mark.parametrize("trace", [sheet.scatter(colour="red"), sheet.bar(marker={"color": "no colour"})])
def test_what_plotly_does_not_accept_is_found(trace: sheet.Trace) -> None:
    with pytest.raises(ValueError, match="Invalid"):
        sheet.Sheet(trace).drawn()


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        (sheet.bar(opacity=0.5, x=[1, 2]), sheet.bar(opacity=1.5, x=[1, 2])),
        (sheet.bar(marker={"color": ["red", "blue"]}), sheet.bar(marker={"color": ["red", "bleu"]})),
        (sheet.scatter(mode="lines", y=[0.5]), sheet.scatter(mode="waves", y=[0.5])),
        (sheet.scatter(x=[1], name="a"), sheet.scatter(x=[1], nom="a")),
    ],
)
def test_figures_that_plotly_tells_apart_have_other_forms(accepted: sheet.Trace, refused: sheet.Trace) -> None:
    assert form_of(accepted) != form_of(refused)
    sheet.Sheet(accepted).drawn()
    with pytest.raises(ValueError, match="Invalid"):
        sheet.Sheet(refused).drawn()


def test_figures_of_other_data_have_the_same_form() -> None:
    first = sheet.scatter(x=[1, 2.5], y=np.zeros(2), text=["a", "b"], marker={"color": ["red", "red"]}, opacity=0.2)
    second = sheet.scatter(x=[7.5, 2, 3], y=np.ones(3), text=["c"] * 3, marker={"color": ["red"] * 2}, opacity=0.7)
    assert form_of(first) == form_of(second)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_figures_are_made_in_one_place(path: Path) -> None:
    """Of Plotly, other modules know the name of what they return; save those whose pictures are plots of its own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "go"}
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert "Plot" in called or (used <= {"Figure"} and "go.Figure" not in called)
    assert not any(name and name.startswith("plotly") for name in imported)


def test_one_plot_is_what_plotly_makes_of_it() -> None:
    ours = sheet.Sheet(sheet.bar(x=np.arange(3), y=[1.0, None, 2.0], name=None, marker={"color": "red", "line": None}))
    figure = go.Figure(go.Bar(x=np.arange(3), y=[1.0, None, 2.0], marker={"color": "red"}))
    for drawing, trace in ((ours, sheet.scatter(x=[0, 1], y=[1, 0])), (figure, go.Scatter(x=[0, 1], y=[1, 0]))):
        drawing.add_trace(trace)
        drawing.add_annotation(x=1, y=2, text="here", showarrow=False, font={"size": 12, "color": None})
        drawing.add_shape(type="rect", x0=0, x1=1, y0=0, y1=1, line={"width": 1})
        drawing.add_vline(x=1, line={"color": "red"})
        drawing.add_vrect(x0=0, x1=1, fillcolor="blue", line={"width": 0}, layer="below")
        drawing.add_hline(y=2, line={"dash": "dash"})
        drawing.update_layout(height=300, margin={"l": 8, "r": 8}, legend={"font": {"size": 12}}, meta={"part": 1})
        drawing.update_layout(margin={"r": 50}, legend={"font": {"color": "red"}}, meta={"pool": 2}, height=None)
        drawing.update_xaxes(title="named", range=[0, 1], tickvals=np.arange(2))
        drawing.update_xaxes(title={"text": "renamed", "standoff": 4}, range=None)
        drawing.update_yaxes(type="log", title=None)
    assert content(ours.drawn()) == content(figure)


@pytest.mark.parametrize(
    ("rows", "cols", "options"),
    [
        (3, 1, {"shared_xaxes": True, "vertical_spacing": 0.05, "row_heights": [1, 2, 3]}),
        (1, 3, {"shared_yaxes": True, "horizontal_spacing": 0.03}),
        (2, 2, {"subplot_titles": ["one", "two", "", "four"]}),
        (1, 1, {}),
    ],
)
def test_a_grid_is_what_plotly_makes_of_it(rows: int, cols: int, options: dict[str, Any]) -> None:
    ours, figure = sheet.Sheet.grid(rows=rows, cols=cols, **options), make_subplots(rows=rows, cols=cols, **options)
    places = [(row, col) for row in range(1, rows + 1) for col in range(1, cols + 1)]
    for drawing, scatter in ((ours, sheet.scatter), (figure, go.Scatter)):
        for row, col in places:
            drawing.add_trace(scatter(x=[row], y=[col]), row=row, col=col)
            drawing.add_annotation(x=row, y=col, text="here", row=row, col=col)
            drawing.add_annotation(x=0, xref="x domain", y=0, text="there", row=row, col=col)
            drawing.add_shape(type="line", x0=0, x1=1, y0=0, y1=1, row=row, col=col)
            drawing.add_vline(x=row, row=row, col=col)
            drawing.add_vrect(x0=row, x1=row + 1, row=row, col=col)
            drawing.add_hline(y=col, row=row, col=col)
        drawing.update_xaxes(showgrid=False)
        drawing.update_xaxes(title="last", row=rows, col=1)
        drawing.update_yaxes(title="first", col=1)
        drawing.update_yaxes(type="log", row=rows)
    assert content(ours.drawn()) == content(figure)


def test_grids_do_not_share_what_is_drawn_on_them() -> None:
    first, second = (sheet.Sheet.grid(rows=2, subplot_titles=["one", "two"]) for _ in range(2))
    first.update_xaxes(title="mine")
    first.annotations[0]["x"] = 0
    assert content(second.drawn()) == content(make_subplots(rows=2, subplot_titles=["one", "two"]))


def test_a_shared_style_is_not_changed_by_a_figure() -> None:
    legend = {"font": {"size": 12}}
    figure = sheet.Sheet()
    figure.update_layout(legend=legend)
    figure.update_layout(legend={"font": {"size": 20}})
    assert legend == {"font": {"size": 12}}


def test_a_figure_can_be_changed_as_any_other() -> None:
    figure = theme.layout(sheet.Sheet(sheet.bar(y=[1], meta={"cell": 1})), height=100).drawn()
    figure.data[0].meta = None
    figure.update_layout(height=200)
    assert "meta" not in content(figure)["data"][0] and figure.layout.height == 200
    with pytest.raises(ValueError, match="Invalid"):
        figure.layout.height = "tall"
