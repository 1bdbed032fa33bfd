"""Vectors that are added: waves or trained rows, how alike two positions are, and the sum with the embedding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import heatmap, sheet, theme
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.runs.trace import Trace
from viz_model.topics.position import numbers as analysis

MAX_CELLS = 24_000
"""Cells of a matrix that go to the browser; of a longer text every n-th position is drawn."""
SHORTEST_AXIS = 16
WINDOW = 48
"""Positions along the axis at the most, unless the whole context is asked for."""
POINTS_PER_POSITION = 8
MAX_TICKS = 24
MAX_SIDE = 150
"""Tokens along a side of the square of similarities; of a longer text every n-th."""
PARTS = ("embed.token", "embed.segment", "embed.position")
"""The sites that are added up, where a model has them."""
SHARE_IN_RANGE = 0.99
"""Of trained numbers, the share that the colour scale tells apart."""
LEGEND = {"orientation": "h", "x": 0, "y": -0.22, "xanchor": "left", "yanchor": "top", "font": {"size": 12}}


class WavesView(NamedTuple):
    """One pair of dimensions, a sine and a cosine: the curves, and the values that the run recorded on them.

    ``at`` [P] are places along the axis, ``sine`` and ``cosine`` [P] the curves over them;
    ``slower`` and ``faster`` hold the sines of two pairs further along, or None at either end.
    ``recorded`` is [W, 2]: the two ``columns`` of ``embed.position``, from position ``start``
    on. Of a long text only the W positions around the selected one are shown.
    """

    start: int
    labels: tuple[str, ...]
    token: int
    pair: int
    columns: tuple[int, int]
    wavelength: float
    n_context: int
    at: np.ndarray
    sine: np.ndarray
    cosine: np.ndarray
    faster: tuple[int, np.ndarray] | None
    slower: tuple[int, np.ndarray] | None
    recorded: np.ndarray

    @classmethod
    def of(cls, trace: Trace, token: int, pair: int, *, whole_context: bool = False) -> WavesView:
        config = trace.config
        columns = analysis.wave_columns(config, pair)
        length = len(trace)
        start = 0 if whole_context else min(max(0, token - WINDOW + WINDOW // 4), max(0, length - WINDOW))
        end = length if whole_context else min(length, start + WINDOW)
        stop = config.n_context * 1.15 if whole_context else max(end, SHORTEST_AXIS) - 0.5
        at = np.linspace(start - 0.5, stop, int((stop - start) * POINTS_PER_POSITION))
        curves = analysis.waves(at, config.d_model, analysis.scheme(config).base)
        step, last = max(1, config.d_model // 16), config.d_model // 2 - 1
        faster, slower = (
            (other, curves[:, 2 * other]) if 0 <= other <= last else None for other in (pair - step, pair + step)
        )
        return cls(
            start=start,
            labels=tuple(t.label for t in trace.tokens[start:end]),
            token=token,
            pair=pair,
            columns=columns,
            wavelength=analysis.wavelength(config, pair),
            n_context=config.n_context,
            at=at,
            sine=curves[:, 2 * pair],
            cosine=curves[:, 2 * pair + 1],
            faster=faster,
            slower=slower,
            recorded=trace["embed.position"][start:end, list(columns)].numpy(),
        )


def draw_waves(view: WavesView, words: Mapping[str, str]) -> go.Figure:
    """Sine and cosine of one pair, a dot where a token reads them, two other pairs faint behind."""
    colour = theme.ROLES["position"]
    figure = sheet.Sheet()
    for other, dash in ((view.faster, "dot"), (view.slower, "dash")):
        if other is not None:
            index, values = other
            figure.add_trace(
                sheet.scatter(
                    x=view.at,
                    y=values.astype(np.float32),
                    mode="lines",
                    name=theme.plain(f"sin · {words['pair']} {index}"),
                    line={"color": theme.rgba(theme.ROLES["residual"], 0.7), "width": 1.2, "dash": dash},
                    legendrank=1001,  # after the chosen pair, though drawn behind it
                    hoverinfo="skip",
                )
            )
    curves = (("sin", view.sine, "solid"), ("cos", view.cosine, "5px,3px"))
    for (name, values, dash), dimension in zip(curves, view.columns, strict=True):
        figure.add_trace(
            sheet.scatter(
                x=view.at,
                y=values.astype(np.float32),
                mode="lines",
                name=theme.plain(f"{name} · {words['dimension']} {dimension}"),
                line={"color": colour, "width": 2.6, "dash": dash},
                hoverinfo="skip",
            )
        )
    positions = range(view.start, view.start + len(view.labels))
    few = len(view.labels) <= 64
    for position in positions if few else [view.token]:
        chosen = position == view.token
        figure.add_vline(
            x=position,
            line={
                "color": theme.HIGHLIGHT if chosen else theme.rgba(theme.token_colour(position), 0.45),
                "width": 2 if chosen else 1,
            },
            layer="below",
        )
    size = 7 if few else 3
    for column, dimension in enumerate(view.columns):
        figure.add_trace(
            sheet.scatter(
                x=list(positions),
                y=view.recorded[:, column],
                mode="markers",
                showlegend=False,
                marker={
                    "color": [theme.token_colour(position) for position in positions],
                    "size": [size + 5 if position == view.token else size for position in positions],
                    "line": {
                        "color": theme.HIGHLIGHT,
                        "width": [2 if position == view.token else 0 for position in positions],
                    },
                },
                text=[f"{n}: {theme.plain(label)}" for n, label in zip(positions, view.labels, strict=True)],
                hovertemplate=f"%{{text}}<br><b>%{{y:.4f}}</b><extra>embed.position[…, {dimension}]</extra>",
            )
        )
    if view.at[-1] > view.n_context:
        figure.add_vrect(
            x0=view.n_context - 0.5, x1=view.at[-1], fillcolor=theme.MASKED, line={"width": 0}, layer="below"
        )
        figure.add_annotation(
            x=view.n_context,
            y=1.0,
            xref="x",
            yref="paper",
            text=theme.plain(words["beyond"]),
            showarrow=False,
            xanchor="right",
            yanchor="bottom",
            font={"size": 12},
        )
        figure.update_xaxes(title=theme.plain(words["axis"]))
    else:
        every = -(-len(view.labels) // MAX_TICKS)
        ticktext = [theme.shorten(label) for label in view.labels[::every]]
        figure.update_xaxes(tickvals=list(positions[::every]), ticktext=ticktext)
    figure.update_xaxes(range=[view.at[0], view.at[-1]])
    figure.update_yaxes(range=[-1.12, 1.12], tickvals=[-1, 0, 1])
    theme.layout(figure, height=360, margin={"t": 44})
    figure.update_yaxes(zeroline=True, zerolinewidth=1, zerolinecolor=theme.MASKED)
    figure.update_layout(showlegend=True, legend=LEGEND)
    return figure.drawn()


def matrix_view(
    trace: Trace, site: str, token: int, axes: tuple[str, str], limit: float | None = None
) -> heatmap.HeatmapView:
    """A T×D site of the embedding. ``axes`` names rows and columns; long texts are thinned out."""
    values = trace[site].numpy()
    shown = tuple(range(0, len(values), _every(values)))
    found = rows_view(trace, values, site, token, axes, limit)
    return found._replace(cells=Cells(site, (ROW, COLUMN), rows=shown))


def _every(values: np.ndarray) -> int:
    """Of a long text, every how manyth row is drawn."""
    return -(-values.size // MAX_CELLS)


def rows_view(
    trace: Trace, values: np.ndarray, name: str, token: int, axes: tuple[str, str], limit: float | None = None
) -> heatmap.HeatmapView:
    """A matrix with one row for each token, [T, any]."""
    every = _every(values)
    labels = tuple(t.label for t in trace.tokens)
    return heatmap.HeatmapView(
        values=values[::every],
        rows=labels[::every],
        columns=tuple(str(d) for d in range(values.shape[1])),
        site=name,
        role="position",
        row_axis=axes[0],
        column_axis=axes[1],
        selected_row=token // every,
        limit=limit,
    )


def draw_matrix(view: heatmap.HeatmapView, columns: tuple[int, ...] = ()) -> go.Figure:
    """Rows by position, the chosen columns framed."""
    figure = heatmap.on_sheet(view, height=min(560, max(200, 110 + 22 * len(view.rows))))
    figure.update_yaxes(**theme.ticks(view.rows, MAX_TICKS))
    figure.update_xaxes(**theme.ticks(view.columns, 6), tickangle=0)
    for first, last in _frames(columns):
        figure.add_shape(
            type="rect",
            x0=first - 0.5,
            x1=last + 0.5,
            y0=-0.5,
            y1=len(view.rows) - 0.5,
            line={"color": theme.HIGHLIGHT, "width": 2},
        )
    return figure.drawn()


def _frames(columns: tuple[int, ...]) -> list[tuple[int, int]]:
    """First and last column of every frame: one round neighbours, else one round each."""
    if len(columns) == 2 and columns[1] == columns[0] + 1:
        return [(columns[0], columns[1])]
    return [(column, column) for column in columns]


class SimilarityView(NamedTuple):
    """How alike position rows are: cosine of the text's rows [T, T], and by distance over C positions.

    ``distance``, ``low`` and ``high`` hold one value for each distance from 0 to C − 1: the mean
    over all pairs that far apart, the smallest, and the largest. C is the context, or the part of
    it that is compared (:data:`viz_model.topics.position.numbers.MAX_ROWS`). ``waves`` [C] is the same
    curve for sinusoidal rows of this width. ``every`` n-th token is in the square.
    """

    labels: tuple[str, ...]
    token: int
    every: int
    cosine: np.ndarray
    first: np.ndarray
    distance: np.ndarray
    low: np.ndarray
    high: np.ndarray
    waves: np.ndarray

    @classmethod
    def of(cls, trace: Trace, token: int) -> SimilarityView:
        cosine = analysis.similarity(trace["embed.position"].numpy())
        every = -(-len(cosine) // MAX_SIDE)
        mean, low, high = analysis.by_distance(analysis.similarity(analysis.table(trace)))
        paper = analysis.waves(np.arange(len(mean)), trace.config.d_model // 2 * 2, analysis.PAPER_BASE)
        return cls(
            labels=tuple(t.label for t in trace.tokens),
            token=token,
            every=every,
            cosine=cosine[::every, ::every],
            first=cosine[0],
            distance=mean,
            low=low,
            high=high,
            waves=analysis.similarity(paper)[0],
        )

    @property
    def spread(self) -> float:
        """The largest difference between two pairs of positions that are equally far apart."""
        return float((self.high - self.low).max())

    def at(self, distance: int) -> float:
        """The similarity at a distance, or at the largest there is."""
        return float(self.distance[min(distance, len(self.distance) - 1)])


def draw_similarity(view: SimilarityView, axes: tuple[str, str]) -> go.Figure:
    """The square of similarities. Every stripe parallel to the diagonal has one colour."""
    square = heatmap.HeatmapView(
        values=view.cosine,
        rows=view.labels[:: view.every],
        columns=view.labels[:: view.every],
        site="cos(embed.position[s], embed.position[t])",
        role="position",
        scale="signed" if view.cosine.min() < 0 else "probability",  # that is, from 0 to 1
        row_axis=axes[0],
        column_axis=axes[1],
        selected_row=view.token // view.every,
        limit=1.0,
    )
    figure = heatmap.on_sheet(square, height=380)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(**theme.ticks(square.rows, MAX_TICKS))
    return figure.drawn()


def draw_by_distance(view: SimilarityView, axes: tuple[str, str], names: tuple[str, ...] | None = None) -> go.Figure:
    """Similarity over distance: the curve of the whole context, a dot for each distance in the text.

    With ``names`` (rows, their range, waves) the range between the least and the most alike pair is shaded, and
    the curve of sinusoidal rows drawn beside it.
    """
    colour = theme.ROLES["position"]
    reach = range(len(view.labels))
    shown = view.distance[: max(64, 2 * len(reach))]
    at = np.arange(len(shown))
    figure = sheet.Sheet()
    if names is not None:
        edges = np.concatenate([view.high[: len(shown)], view.low[: len(shown)][::-1]])
        figure.add_trace(
            sheet.scatter(
                x=np.concatenate([at, at[::-1]]),
                y=edges.astype(np.float32),
                fill="toself",
                mode="lines",
                line={"width": 0},
                fillcolor=theme.rgba(colour, 0.22),
                name=theme.plain(names[1]),
                hoverinfo="skip",
            )
        )
        figure.add_trace(
            sheet.scatter(
                x=at,
                y=view.waves[: len(shown)].astype(np.float32),
                mode="lines",
                line={"color": theme.ROLES["residual"], "width": 1.8, "dash": "dash"},
                name=theme.plain(names[2]),
                hovertemplate=f"{theme.plain(axes[0])} %{{x}}<br><b>%{{y:.4f}}</b>"
                f"<extra>{theme.plain(names[2])}</extra>",
            )
        )
    figure.add_trace(
        sheet.scatter(
            x=at,
            y=shown.astype(np.float32),
            mode="lines",
            line={"color": colour, "width": 2.6},
            name=theme.plain(names[0]) if names else None,
            hovertemplate=f"{theme.plain(axes[0])} %{{x}}<br><b>%{{y:.4f}}</b><extra></extra>",
        )
    )
    figure.add_trace(
        sheet.scatter(
            x=list(reach),
            y=view.first.astype(np.float32),
            mode="markers",
            showlegend=False,
            marker={"color": [theme.token_colour(n) for n in reach], "size": 8 if len(reach) <= 64 else 4},
            text=theme.unique(view.labels),
            hovertemplate=f"%{{text}}<br>{theme.plain(axes[0])} %{{x}}<br><b>%{{y:.4f}}</b><extra></extra>",
        )
    )
    figure.update_xaxes(title=theme.plain(axes[0]), range=[-1, len(shown)])
    figure.update_yaxes(title=theme.plain(axes[1]), range=[_lowest(view, len(shown), names is not None) - 0.02, 1.06])
    theme.layout(figure, height=380)
    if names is not None:
        figure.update_layout(showlegend=True, legend=LEGEND)
    figure.update_yaxes(zeroline=True, zerolinewidth=1, zerolinecolor=theme.MASKED)
    return figure.drawn()


def _lowest(view: SimilarityView, length: int, compared: bool) -> float:
    curves = (view.low, view.waves, view.first) if compared else (view.distance, view.first)
    return min(0.0, *(float(curve[:length].min()) for curve in curves))


def _total(trace: Trace) -> Any:
    """The sum of :data:`PARTS`, [T, D]: what block 0 reads, or what the norm before it reads."""
    return trace.norm_input("embed.norm") if "embed.norm.out" in trace else trace["embed.out"]


class SumView(NamedTuple):
    """What is added up to the input of block 0, for one token: ``strips`` [N, D].

    The last row of ``strips`` is the sum of the others. Where the model normalises the sum,
    ``normed`` [D] is what block 0 reads, else None. ``lengths`` are the rows' L2 lengths, ``limit``
    the largest magnitude in any of them.
    """

    sites: tuple[str, ...]
    strips: np.ndarray
    normed: np.ndarray | None
    lengths: tuple[float, ...]
    limit: float
    token: int = 0

    @classmethod
    def of(cls, trace: Trace, token: int) -> SumView:
        parts = tuple(site for site in PARTS if site in trace)
        has_norm = "embed.norm.out" in trace
        total = _total(trace)
        strips = np.stack([*(trace[site][token].numpy() for site in parts), total[token].numpy()])
        return cls(
            sites=(*parts, " + ".join(parts) if has_norm else "embed.out"),
            strips=strips,
            normed=trace["embed.out"][token].numpy() if has_norm else None,
            lengths=tuple(float(length) for length in np.linalg.norm(strips, axis=-1)),
            limit=float(np.abs(strips).max()) or 1.0,
            token=token,
        )

    def cells(self, site: str) -> Cells | None:
        """Which numbers a strip shows; a sum that goes straight to a norm has no name."""
        return Cells(site, (self.token, COLUMN)) if site in self.named else None

    @property
    def named(self) -> tuple[str, ...]:
        """The sites of the run among the strips, what block 0 reads as the last."""
        return (*self.sites[:-1], "embed.out")

    @property
    def said(self) -> dict[str, str]:
        """The lengths for prose."""
        lengths = dict(zip(self.sites, self.lengths, strict=True))
        return {
            "embedding": f"{lengths['embed.token']:.2f}",
            "position": f"{lengths['embed.position']:.2f}",
            "input": f"{self.lengths[-1]:.2f}",
        }


def draw_sum(view: SumView, names: tuple[str, ...], axis: str, columns: tuple[int, ...] = ()) -> go.Figure:
    """Aligned strips on one colour scale: the last is the sum of the others."""
    rows = [row[None] for row in view.strips]
    cells = tuple(map(view.cells, view.sites))
    return _strips(rows, [("",)] * len(rows), view.sites, cells, names, axis, columns, view.limit, row_height=46)


def draw_normed(view: SumView, name: str, axis: str, columns: tuple[int, ...] = ()) -> go.Figure:
    """What block 0 reads where the sum is normalised first, on a scale of its own."""
    assert view.normed is not None  # or there is nothing to draw
    limit = float(np.abs(view.normed).max()) or 1.0
    cells = (view.cells("embed.out"),)
    return _strips([view.normed[None]], [("",)], ("embed.out",), cells, (name,), axis, columns, limit, row_height=46)


def draw_sums(
    views: tuple[heatmap.HeatmapView, ...], names: tuple[str, ...], axis: str, columns: tuple[int, ...] = ()
) -> go.Figure:
    """The same for every token: aligned matrices on one colour scale."""
    limit = max(float(np.abs(view.values).max()) for view in views) or 1.0
    rows = len(views[0].rows)
    return _strips(
        [view.values for view in views],
        [view.rows for view in views],
        tuple(view.site for view in views),
        tuple(view.cells for view in views),
        names,
        axis,
        columns,
        limit,
        row_height=min(320, max(60, 18 * rows)),
    )


def sum_views(trace: Trace, token: int, axes: tuple[str, str]) -> tuple[heatmap.HeatmapView, ...]:
    """The matrices of all tokens that :class:`SumView` shows for one."""
    parts = tuple(site for site in PARTS if site in trace)
    if "embed.norm.out" not in trace:
        return tuple(matrix_view(trace, site, token, axes) for site in (*parts, "embed.out"))
    total = rows_view(trace, _total(trace).numpy(), " + ".join(parts), token, axes)
    return (*(matrix_view(trace, site, token, axes) for site in parts), total)


def _strips(
    panels: list[np.ndarray],
    rows: list[tuple[str, ...]],
    sites: tuple[str, ...],
    cells: tuple[Cells | None, ...],
    names: tuple[str, ...],
    axis: str,
    columns: tuple[int, ...],
    limit: float,
    row_height: int,
) -> go.Figure:
    gap, bottom, bar = 30, 40, 26
    inner = len(panels) * row_height + (len(panels) - 1) * gap
    figure = sheet.Sheet.grid(rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=gap / inner)
    for number, (values, labels, site, which, name) in enumerate(
        zip(panels, rows, sites, cells, names, strict=True), start=1
    ):
        hover = f"<b>%{{z:.4f}}</b><br>{theme.plain(axis)} %{{x}}<br>%{{y}}<extra>{theme.plain(site)}</extra>"
        figure.add_trace(
            sheet.heatmap(
                z=values.astype(np.float32),
                meta=None if which is None else which.meta,
                y=theme.unique(labels) if len(labels) > 1 else [theme.plain(name)],
                coloraxis="coloraxis",
                hovertemplate=hover,
            ),
            row=number,
            col=1,
        )
        figure.update_yaxes(type="category", autorange="reversed", row=number, col=1)
        ticks = theme.ticks(labels, max(1, row_height // 18)) if len(labels) > 1 else {"showticklabels": False}
        figure.update_yaxes(**ticks, row=number, col=1)
        figure.add_annotation(
            text=theme.plain(name),
            x=0,
            xref="x domain",
            xanchor="left",
            y=1,
            yref="y domain" if number == 1 else f"y{number} domain",
            yanchor="bottom",
            showarrow=False,
            font={"size": 13},
        )
        for first, last in _frames(columns):
            figure.add_vrect(
                x0=first - 0.5,
                x1=last + 0.5,
                line={"color": theme.HIGHLIGHT, "width": 1.5},
                row=number,
                col=1,
            )
    figure.update_xaxes(title={"text": theme.plain(axis), "standoff": 4}, row=len(panels), col=1)
    # The bottom margin is given, so that the strips and the bar below them keep their distance.
    theme.layout(figure, height=inner + gap + bottom + bar, margin={"t": gap - 4, "b": bottom + bar + 4})
    figure.update_layout(
        coloraxis={
            "colorscale": theme.diverging(),
            "cmin": -limit,
            "cmax": limit,
            "colorbar": theme.flat_bar(inner),
        }
    )
    return figure.drawn()


def by_hand(trace: Trace, token: int, pair: int) -> dict[str, str]:
    """The arithmetic of one position and pair for prose, and of the textbook case D = 4, position 1."""
    config = trace.config
    base, columns = analysis.scheme(config).base, analysis.wave_columns(config, pair)
    divisor = base ** (2 * pair / config.d_model)
    angle = token / divisor
    sine, cosine = (trace["embed.position"][token, column].item() for column in columns)
    parts = {site: trace[site][token, columns[0]].item() for site in PARTS if site in trace}
    rest = sum(value for site, value in parts.items() if site != "embed.position")
    textbook = analysis.waves(np.array([1]), d_model=4, base=10_000.0)[0]
    return {
        "position": str(token),
        "pair": str(pair),
        "sine_at": str(columns[0]),
        "cosine_at": str(columns[1]),
        "exponent": str(2 * pair),
        "base": f"{base:g}",
        "d_model": str(config.d_model),
        "divisor": f"{divisor:.4f}",
        "angle": f"{angle:.4f}",
        "sine": f"{np.sin(angle):.4f}",
        "cosine": f"{np.cos(angle):.4f}",
        "recorded_sine": f"{sine:.4f}",
        "recorded_cosine": f"{cosine:.4f}",
        "embedding": f"{rest:.4f}",
        "signed_sine": theme.signed(sine),
        "sum": f"{_total(trace)[token, columns[0]].item():.4f}",
        "textbook_0": f"{textbook[0]:.4f}",
        "textbook_1": f"{textbook[1]:.4f}",
        "textbook_2": f"{textbook[2]:.7f}",
        "textbook_3": f"{textbook[3]:.5f}",
    }


def ends(trace: Trace) -> dict[str, str]:
    """The fastest and the slowest wave in words: their length in tokens, and how far the slowest gets."""
    config = trace.config
    last = config.d_model // 2 - 1
    slowest = analysis.wavelength(config, last)
    turning = sum(analysis.wavelength(config, pair) <= config.n_context for pair in range(last + 1))
    return {
        "turning": str(turning),
        "pairs": str(last + 1),
        "fastest": f"{analysis.wavelength(config, 0):.1f}",
        "slowest": f"{slowest:,.0f}",
        "last_pair": str(last),
        "context": str(config.n_context),
        "last_position": str(config.n_context - 1),
        "turn": f"{(config.n_context - 1) / slowest:.2%}",
        "length": f"{(config.d_model / 2) ** 0.5:.2f}",
    }


class LearnedView(NamedTuple):
    """Trained rows [T, D] beside the sinusoid of the same size, which this model does not add.

    ``lengths`` [T] are the L2 lengths of the trained rows; every row of the sinusoid has ``wave_length``.
    ``limit`` is where the colours end: a few trained numbers, often of position 0, dwarf all others.
    """

    trained: np.ndarray
    waves: np.ndarray
    lengths: np.ndarray
    wave_length: float
    limit: float

    @classmethod
    def of(cls, trace: Trace) -> LearnedView:
        trained = trace["embed.position"].numpy()
        width = trained.shape[1] // 2 * 2
        waves = analysis.waves(np.arange(len(trained)), width, analysis.PAPER_BASE)
        limit = float(np.quantile(np.abs(trained), SHARE_IN_RANGE)) or 1.0
        return cls(trained, waves, np.linalg.norm(trained, axis=-1), math.sqrt(width / 2), limit)


def learned_by_hand(trace: Trace, token: int, column: int) -> dict[str, str]:
    """One cell of the table, and of the sum, for prose."""
    parts = {site: trace[site][token, column].item() for site in PARTS if site in trace}
    rest = sum(value for site, value in parts.items() if site != "embed.position")
    return {
        "position": str(token),
        "column": str(column),
        "value": f"{parts['embed.position']:.4f}",
        "signed_value": theme.signed(parts["embed.position"]),
        "embedding": f"{rest:.4f}",
        "sum": f"{_total(trace)[token, column].item():.4f}",
        "context": f"{trace.config.n_context:,}",
        "last_position": f"{trace.config.n_context - 1:,}",
        "numbers": f"{trace.config.n_context * trace.config.d_model:,}",
        "d_model": str(trace.config.d_model),
    }
