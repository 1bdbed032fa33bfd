"""Embedding: rows picked from a table, the vector of one token, and what lies near it."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import heatmap, sheet, theme
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.spans import around
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.topics.embedding import numbers as tables
from viz_model.topics.embedding.numbers import Geometry

MAX_NAMED_ROWS = 28
MAX_ROWS = 64
"""Tokens whose rows are drawn beside the table at the most."""
MAX_CELLS = 14_000
"""Cells of those rows; of wider models neighbouring dimensions share one."""
"""Rows of the picked matrix that are named; beyond, the names would touch."""


STRIP_QUANTILE = 0.97


class LookupView(NamedTuple):
    """The table and the rows that a sentence picks from it.

    ``strip`` is the table [V, D] with groups of neighbouring rows and columns averaged; ``ids``
    [N] are the picked rows and ``rows`` [N, D] their values, as they stand in the table: of all T
    tokens, or of a long text of the N around the ``selected`` one, from position ``first`` on.
    ``selected`` counts among them.
    """

    strip: np.ndarray
    n_vocab: int
    ids: np.ndarray
    rows: np.ndarray
    labels: tuple[str, ...]
    selected: int
    first: int = 0
    n_tokens: int = 0

    @property
    def strip_top(self) -> float:
        """Where the strip's colours are full: a few rows of bytes that no text holds dwarf all others."""
        return float(np.quantile(np.abs(self.strip), STRIP_QUANTILE)) or 1.0

    @property
    def group(self) -> tuple[int, int]:
        """How many rows and columns of the table one cell of the strip averages, at the most."""
        return -(-self.n_vocab // self.strip.shape[0]), -(-self.rows.shape[1] // self.strip.shape[1])

    @classmethod
    def of(cls, trace: Trace, geometry: Geometry, token: int) -> LookupView:
        shown = around(token, len(trace), MAX_ROWS)
        ids = np.array(trace.own_ids[shown])
        return cls(
            strip=geometry.strip,
            n_vocab=len(geometry.table),
            ids=ids,
            rows=geometry.table[ids],
            labels=tuple(t.label for t in trace.tokens[shown]),
            selected=token - shown.start,
            first=shown.start,
            n_tokens=len(trace),
        )


def draw_lookup(view: LookupView, words: Mapping[str, str]) -> go.Figure:
    """The whole table as a strip, and a line from every picked row to its place in the matrix.

    ``words`` holds the headings ``table`` and ``rows``, and for the hover text ``row``,
    ``token``, ``dimension`` and ``mean``.
    """
    length, width = view.rows.shape
    height = 440 if length <= MAX_NAMED_ROWS else 600
    named = length <= MAX_NAMED_ROWS
    # Rows of a short text stay as flat as those of a longer one, in the middle of the picture.
    half = min(0.5, 18 * length / height)
    top = heatmap_limit(view.rows)
    pool = heatmap.Pool(1, -(-view.rows.size // MAX_CELLS))
    strip_top = view.strip_top
    step = view.n_vocab / len(view.strip)
    figure = sheet.Sheet()
    figure.add_trace(
        sheet.heatmap(
            z=view.strip,
            y=(np.arange(len(view.strip)) + 0.5) * step - 0.5,
            zmin=-strip_top,
            zmax=strip_top,
            colorscale=theme.diverging(),
            showscale=False,
            hovertemplate=f"{theme.plain(words['row'])} ≈ %{{y:.0f}}<br>{theme.plain(words['mean'])} "
            "<b>%{z:.4f}</b><extra>E</extra>",
        )
    )
    figure.add_trace(
        sheet.heatmap(
            z=heatmap.extremes(view.rows, pool).astype(np.float32),
            x=np.arange(0, width, pool.columns),
            zmin=-top,
            zmax=top,
            colorscale=theme.diverging(),
            showscale=False,
            xaxis="x3",
            yaxis="y3",
            ygap=2 if named else 0,
            y=[f"{view.first + n}: {theme.plain(label)}" for n, label in enumerate(view.labels)],
            hovertemplate=f"<b>%{{z:.4f}}</b><br>{theme.plain(words['token'])} %{{y}}"
            f"<br>{theme.plain(words['dimension'])} %{{x}}<extra>E</extra>",
        )
    )
    names = [theme.shorten(label, 10) for label in view.labels]
    longest = max(map(_columns, names))
    end = 0.94 - 0.055 * min(longest, 11) if named else 1.0
    # The lines of one colour are one trace, as a trace each would be slow for long texts.
    lines: dict[tuple[bool, str], list[int]] = {}
    for position in range(length):
        colour = theme.token_colour(view.first + position)
        lines.setdefault((position == view.selected, colour), []).append(position)
    for (chosen, colour), positions in sorted(lines.items()):
        x, y, ids = _curves(view, positions, end, half)
        figure.add_trace(
            sheet.scatter(
                x=x,
                y=y,
                customdata=ids,
                xaxis="x2",
                yaxis="y2",
                mode="lines",
                line={"color": colour, "width": 3 if chosen else 1.2},
                opacity=1.0 if chosen else 0.75 if named else 0.35,
                hovertemplate=f"{theme.plain(words['row'])} %{{customdata}}<extra></extra>",
            )
        )
    if named:
        figure.add_trace(
            sheet.scatter(
                x=[end + 0.02] * length,
                y=0.5 - half + (np.arange(length) + 0.5) / length * 2 * half,
                text=names,
                xaxis="x2",
                yaxis="y2",
                mode="text",
                textposition="middle right",
                textfont={"size": 13, "family": "monospace", "color": theme.INK},
                hoverinfo="skip",
                cliponaxis=False,
            )
        )
    edge = {"color": theme.rgba(theme.ROLES["token"], 0.6), "width": 1}
    figure.add_shape(type="rect", xref="x domain", yref="y domain", x0=0, x1=1, y0=0, y1=1, line=edge)
    figure.add_shape(
        type="rect",
        xref="x3",
        yref="y3",
        x0=-0.5,
        x1=width - 0.5,
        y0=view.selected - 0.5,
        y1=view.selected + 0.5,
        line={"color": theme.token_colour(view.first + view.selected), "width": 2},
    )
    said: dict[str, object] = {}
    if length < view.n_tokens:
        said["part"] = {"first": view.first, "last": view.first + length - 1, "n": view.n_tokens}
    if pool.columns > 1:
        said["pool"] = pool._asdict()
    figure.update_layout(meta=said or None)
    for side, anchor, text in ((0.0, "left", "table"), (1.0, "right", "rows")):
        figure.add_annotation(
            x=side,
            y=1.0,
            xref="paper",
            yref="paper",
            xanchor=anchor,
            yanchor="bottom",
            text=theme.plain(words[text]),
            showarrow=False,
            font={"size": 12, "color": theme.INK},
        )
    theme.layout(figure, height=height, margin={"t": 40})
    hidden = {"visible": False, "fixedrange": True}
    figure.update_layout(
        xaxis={"domain": [0.0, 0.11], **hidden},
        yaxis={
            "range": [view.n_vocab - 0.5, -0.5],
            "tickvals": [0, view.n_vocab - 1],
            "ticktext": ["0", f"{view.n_vocab - 1}"],
            "ticklabeloverflow": "allow",
            "tickfont": {"size": 11},
            "fixedrange": True,
        },
        xaxis2={"domain": [0.11, 0.56], "range": [0, 1], **hidden},
        yaxis2={"range": [1, 0], "anchor": "x2", **hidden},
        xaxis3={"domain": [0.56, 1.0], **hidden},
        yaxis3={
            "type": "category",
            "domain": [0.5 - half, 0.5 + half],
            "range": [length - 0.5, -0.5],
            "anchor": "x3",
            **hidden,
        },
    )
    return figure.drawn()


def _curves(view: LookupView, positions: Sequence[int], end: float, half: float) -> tuple[np.ndarray, ...]:
    """x, y and id of S-shaped lines from table rows to matrix rows, with a gap (NaN) after each."""
    along = np.append(np.linspace(0.0, 1.0, 14), np.nan)
    bend = along * along * (3 - 2 * along)
    places = np.array(positions)
    start = (view.ids[places, None] + 0.5) / view.n_vocab
    stop = 0.5 - half + (places[:, None] + 0.5) / len(view.ids) * 2 * half
    y = start + (stop - start) * bend
    return np.tile(along * end, len(places)), y.ravel(), np.repeat(view.ids[places], len(along))


def _columns(label: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in label)


def matrix_view(trace: Trace, token: int, axes: tuple[str, str]) -> heatmap.HeatmapView:
    """``embed.token``, [T, D]: the picked rows as they enter the model."""
    values = trace["embed.token"].numpy()
    return heatmap.HeatmapView(
        values=values,
        rows=tuple(t.label for t in trace.tokens),
        columns=tuple(str(d) for d in range(values.shape[1])),
        site="embed.token",
        role="residual",
        row_axis=axes[0],
        column_axis=axes[1],
        selected_row=token,
        limit=heatmap_limit(values),
        cells=Cells("embed.token", (ROW, COLUMN)),
    )


def draw_matrix(view: heatmap.HeatmapView) -> go.Figure:
    """The heatmap with so few dimensions named that they also fit a narrow screen."""
    view = heatmap.fitted(view)
    named = range(0, len(view.columns), max(1, len(view.columns) // 6))
    figure = heatmap.on_sheet(view)
    figure.update_xaxes(tickvals=list(named), ticktext=[view.columns[d] for d in named], tickangle=0)
    return figure.drawn()


def heatmap_limit(values: np.ndarray) -> float:
    """Where colours are full. A few tokens have rows many times larger, and would grey out the rest."""
    return float(np.quantile(np.abs(values), 0.98)) or 1.0


class VectorView(NamedTuple):
    """One token's ``embed.token`` [D]."""

    values: np.ndarray
    label: str
    token: int = 0

    @property
    def largest(self) -> int:
        """The dimension with the largest absolute value."""
        return int(np.abs(self.values).argmax())

    @classmethod
    def of(cls, trace: Trace, token: int) -> VectorView:
        return cls(trace["embed.token"][token].numpy(), trace.tokens[token].label, token)


def draw_vector(view: VectorView, axis: str) -> go.Figure:
    """A bar a dimension; the colours of the signs are those of the heatmap."""
    figure = sheet.Sheet(
        sheet.bar(
            x=np.arange(len(view.values)),
            y=view.values,
            meta=Cells("embed.token", (view.token, COLUMN)).meta,
            marker={"color": np.where(view.values < 0, theme.NEGATIVE, theme.POSITIVE).tolist(), "line": {"width": 0}},
            hovertemplate=f"{theme.plain(axis)} %{{x}}<br><b>%{{y:.4f}}</b><extra>{theme.plain(view.label)}</extra>",
        )
    )
    figure.update_layout(bargap=0.1)
    theme.layout(figure, height=210)
    figure.update_xaxes(title=theme.plain(axis), fixedrange=True, range=[-1, len(view.values)])
    figure.update_yaxes(fixedrange=True, zeroline=True, zerolinewidth=1)
    return figure.drawn()


class NeighboursView(NamedTuple):
    """The rows nearest to row ``id`` by cosine: ``ids`` [k], ``cosines`` [k], nearest first."""

    id: int
    label: str
    ids: np.ndarray
    cosines: np.ndarray
    labels: tuple[str, ...]
    position: int

    @classmethod
    def of(cls, trace: Trace, geometry: Geometry, token: int, k: int = 12) -> NeighboursView:
        ids, cosines = tables.nearest(geometry, trace.own_ids[token], k)
        return cls(
            id=trace.own_ids[token],
            label=trace.tokens[token].label,
            ids=ids,
            cosines=cosines,
            labels=_names(trace.tokenizer, ids.tolist()),
            position=token,
        )


def _names(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, ...]:
    """Labels of table rows. A table may have more rows than its vocabulary has tokens."""
    return tuple(tokenizer.token(id).label if id < tokenizer.n_vocab else f"[{id}]" for id in ids)


def draw_neighbours(view: NeighboursView, words: Mapping[str, str], height: int = 430) -> go.Figure:
    """A bar a neighbour, the nearest on top. ``words`` holds ``cosine`` and ``id``."""
    colour = theme.token_colour(view.position)
    rows = np.arange(len(view.ids))
    figure = sheet.Sheet(
        sheet.bar(
            orientation="h",
            x=view.cosines,
            y=rows,
            text=[f"{cosine:.2f}" for cosine in view.cosines],
            textposition="outside",
            textfont={"size": 12, "color": theme.INK},
            cliponaxis=False,
            marker={"color": theme.rgba(colour, 0.55), "line": {"color": colour, "width": 1}},
            customdata=[[theme.plain(label), id] for label, id in zip(view.labels, view.ids.tolist(), strict=True)],
            hovertemplate=f"<b>%{{customdata[0]}}</b><br>{theme.plain(words['id'])} %{{customdata[1]}}"
            f"<br>{theme.plain(words['cosine'])} %{{x:.4f}}<extra></extra>",
        )
    )
    theme.layout(figure, height=height)
    figure.update_xaxes(
        range=[min(0.0, float(view.cosines.min(initial=0.0))), 1.08],
        title=theme.plain(words["cosine"]),
        tickvals=[0, 0.5, 1],
        fixedrange=True,
    )
    figure.update_yaxes(
        tickvals=rows.tolist(),
        ticktext=[theme.shorten(label) for label in view.labels],
        tickfont={"family": "monospace", "size": 13, "color": theme.INK},
        autorange="reversed",
        fixedrange=True,
    )
    return figure.drawn()


CELLS = 72
"""Cells along a side of the density behind the map."""


class MapView(NamedTuple):
    """The table seen along its two widest directions.

    ``density`` [CELLS, CELLS] counts the rows of the table in each cell between ``x_edges`` and
    ``y_edges``; ``points`` [n, 2] are the named rows: first the sentence's tokens, each once, from
    the selected one on, then the selected token's neighbours. ``positions`` [n] are the tokens'
    first places in the sentence, −1 for neighbours. The picture holds all of these and the bulk of
    the table; ``outside`` rows lie beyond its edges.
    """

    density: np.ndarray
    x_edges: np.ndarray
    y_edges: np.ndarray
    points: np.ndarray
    labels: tuple[str, ...]
    ids: tuple[int, ...]
    positions: np.ndarray
    explained: np.ndarray
    outside: int
    selected: int

    @classmethod
    def of(cls, trace: Trace, geometry: Geometry, token: int, neighbours: NeighboursView) -> MapView:
        first: dict[int, int] = {trace.own_ids[token]: token}
        for position, id in enumerate(trace.own_ids):
            first.setdefault(id, position)
        near = [id for id in neighbours.ids.tolist() if id not in first]
        ids = [*first, *near]
        shown = geometry.points[ids]
        low, high = np.quantile(geometry.points, (0.05, 0.95), axis=0)
        pad = 0.3 * (high - low) + 1e-6
        low = np.minimum(low - pad, shown.min(axis=0) - 0.2 * pad)
        high = np.maximum(high + pad, shown.max(axis=0) + 0.2 * pad)
        x_edges, y_edges = (np.linspace(low[i], high[i], CELLS + 1) for i in (0, 1))
        counts, _, _ = np.histogram2d(geometry.points[:, 1], geometry.points[:, 0], bins=(y_edges, x_edges))
        return cls(
            density=counts.astype(int),
            x_edges=x_edges,
            y_edges=y_edges,
            points=shown,
            labels=_names(trace.tokenizer, ids),
            ids=tuple(ids),
            positions=np.array([*first.values(), *[-1] * len(near)]),
            explained=geometry.explained,
            outside=len(geometry.points) - int(counts.sum()),
            selected=token,
        )


def draw_map(view: MapView, words: Mapping[str, str], height: int = 430) -> go.Figure:
    """Grey: how many rows of the table lie there. Dots: the sentence. Rings: the neighbours.

    ``words`` holds ``count`` and ``id`` for the hover text and the axes' names ``first`` and
    ``second``.
    """
    some = view.density > 0
    figure = sheet.Sheet(
        sheet.heatmap(
            z=np.where(some, np.log1p(view.density), np.nan).astype(np.float32),
            x=_middles(view.x_edges),
            y=_middles(view.y_edges),
            customdata=view.density,
            colorscale=[[0, theme.rgba(theme.ROLES["token"], 0.10)], [1, theme.rgba(theme.ROLES["token"], 0.62)]],
            showscale=False,
            hoverongaps=False,
            hovertemplate=f"{theme.plain(words['count'])} %{{customdata}}<extra></extra>",
        )
    )
    token = view.positions >= 0
    accent = theme.token_colour(view.selected)
    colours = [theme.token_colour(p) if p >= 0 else accent for p in view.positions.tolist()]
    boxes = label_boxes(view, width=330, height=height - 60)
    for kind, symbol in ((~token, "circle-open"), (token, "circle")):
        shown = np.flatnonzero(kind).tolist()
        figure.add_trace(
            sheet.scatter(
                x=view.points[shown, 0],
                y=view.points[shown, 1],
                mode="markers",
                marker={
                    "symbol": symbol,
                    "size": [14 if view.positions[i] == view.selected else 9 for i in shown],
                    "color": [colours[i] for i in shown],
                    "line": {"width": 2, "color": [colours[i] for i in shown]},
                },
                customdata=[[theme.plain(view.labels[i]), view.ids[i]] for i in shown],
                hovertemplate=f"<b>%{{customdata[0]}}</b><br>{theme.plain(words['id'])} %{{customdata[1]}}"
                "<br>(%{x:.2f}, %{y:.2f})<extra></extra>",
            )
        )
    placed = [(i, box.place) for i, box in enumerate(boxes) if box]
    written = [i for i, _ in placed]
    figure.add_trace(
        sheet.scatter(
            x=view.points[written, 0],
            y=view.points[written, 1],
            # The unseen markers keep the labels clear of the dots.
            mode="markers+text",
            marker={"size": 11, "opacity": 0},
            text=[_bold(view, i) for i in written],
            textposition=[place for _, place in placed],
            textfont={"size": 12, "family": "monospace", "color": theme.INK},
            hoverinfo="skip",
            cliponaxis=False,
        )
    )
    theme.layout(figure, height=height)
    figure.update_xaxes(
        range=view.x_edges[[0, -1]].tolist(), title=theme.plain(words["first"]), fixedrange=True, nticks=5
    )
    figure.update_yaxes(
        range=view.y_edges[[0, -1]].tolist(), title=theme.plain(words["second"]), fixedrange=True, nticks=5
    )
    return figure.drawn()


def _bold(view: MapView, i: int) -> str:
    text = theme.shorten(view.labels[i])
    return f"<b>{text}</b>" if view.positions[i] == view.selected else text


def _middles(edges: np.ndarray) -> np.ndarray:
    return (edges[1:] + edges[:-1]) / 2


class LabelBox(NamedTuple):
    """Where a label goes: Plotly's name for the place, and its (left, bottom, right, top)."""

    place: str
    edges: tuple[float, float, float, float]


# Where a label may stand beside its point, best first: pixels to the right, plus a share of the
# label's own width, and pixels up.
PLACES = {
    "middle right": (7.0, 0.0, 0),
    "middle left": (-7.0, -1.0, 0),
    "top center": (0.0, -0.5, 13),
    "bottom center": (0.0, -0.5, -13),
    "top right": (5.0, 0.0, 12),
    "bottom right": (5.0, 0.0, -12),
    "top left": (-5.0, -1.0, 12),
    "bottom left": (-5.0, -1.0, -12),
}


def label_boxes(view: MapView, width: float, height: float) -> list[LabelBox | None]:
    """For each point a place for its label that covers no dot and no other label, or None.

    The points come in the order of their importance, and each takes the first place that is free.
    ``width`` and ``height`` are those of a narrow picture, in pixels: on a wider one the labels
    only stand further apart.
    """
    low = np.array([view.x_edges[0], view.y_edges[0]])
    size = np.array([view.x_edges[-1], view.y_edges[-1]]) - low
    centres = ((view.points - low) / size * [width, height]).tolist()
    dots = [(x - 6, y - 6, x + 6, y + 6) for x, y in centres]
    boxes: list[LabelBox | None] = []
    for i, (x, y) in enumerate(centres):
        # The selected token, which comes first, is always named, at worst across another dot.
        taken = [*dots[:i], *dots[i + 1 :], *(box.edges for box in boxes if box)] if i else []
        wide = 7.4 * _columns(theme.shorten(view.labels[i])) + 2
        found = None
        for place, (shift, share, dy) in PLACES.items():
            dx = shift + share * wide
            edges = (x + dx, y + dy - 7, x + dx + wide, y + dy + 7)
            inside = edges[0] >= 0 and edges[1] >= 0 and edges[2] <= width and edges[3] <= height
            if inside and not any(overlap(edges, other) for other in taken):
                found = LabelBox(place, edges)
                break
        boxes.append(found)
    return boxes


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    """Whether two boxes (left, bottom, right, top) share some area."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def facts(trace: Trace, geometry: Geometry, token: int) -> dict[str, str]:
    """Numbers of the selected token's row, for prose."""
    id, (n_vocab, width) = trace.own_ids[token], geometry.table.shape
    total = sum(parameter.numel() for parameter in trace.model.parameters())
    scale = trace.model.embedding_scale
    return {
        "id": f"{id}",
        "n_vocab": f"{n_vocab:,}",
        "n_rows": f"{n_vocab}",
        "others": f"{n_vocab - 1:,}",
        "width": f"{width}",
        "length": f"{len(trace)}",
        "norm": f"{geometry.norms[id]:.2f}",
        "scaled": f"{geometry.norms[id] * scale:.2f}",
        "root": f"\\sqrt{{{width}}}" if trace.model.config.scale_embedding else "1",
        "scale": f"{scale:.4f}",
        "size": f"{n_vocab * width:,}",
        "share": f"{n_vocab * width / total:.0%}",
        "two": f"{geometry.explained.sum():.0%}",
        "rest": f"{1 - geometry.explained.sum():.0%}",
    }


def added(trace: Trace) -> tuple[str, ...]:
    """The sites of what happens to the rows before the first block; none where they go in as they are."""
    return tuple(name for name in ("embed.segment", "embed.position", "embed.norm.out") if name in trace)


def repeats(trace: Trace) -> list[int]:
    """The positions of the token that stands at most places, if it stands at more than one."""
    places: dict[int, list[int]] = {}
    for position, id in enumerate(trace.own_ids):
        places.setdefault(id, []).append(position)
    most = max(places.values(), key=len)
    return most if len(most) > 1 else []


def by_hand(trace: Trace, geometry: Geometry, token: int, other: int) -> dict[str, str]:
    """One looked-up value, and the cosine of the token's row with row ``other``, as sums."""
    id = trace.own_ids[token]
    a, b = (geometry.table[i].astype(np.float64) for i in (id, other))
    recorded = trace["embed.token"][token].numpy()
    d = int(np.abs(recorded).argmax())
    products = a * b
    largest = np.argsort(-np.abs(products), kind="stable")[:3]
    terms = " + ".join(f"{theme.signed(a[i])} \\cdot {theme.signed(b[i])}" for i in largest)
    return {
        "id": str(id),
        "other_id": str(other),
        "d": str(d),
        "value": f"{a[d]:.6f}",
        "product": f"{a[d] * trace.model.embedding_scale:.4f}",
        "recorded": f"{recorded[d]:.4f}",
        "dimensions": ", ".join(str(i) for i in largest),
        "terms": terms,
        "n_rest": str(len(a) - len(largest)),
        "rest": theme.signed(products.sum() - products[largest].sum()),
        "dot": f"{products.sum():.4f}",
        "norm_a": f"{np.linalg.norm(a):.4f}",
        "norm_b": f"{np.linalg.norm(b):.4f}",
        "exact": f"{products.sum() / (np.linalg.norm(a) * np.linalg.norm(b)):.4f}",
    }
