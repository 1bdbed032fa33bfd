"""Why a token: the sum that its logit is, the lens by depth, what one head moves, what neurons hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.runs.trace import Trace
from viz_model.topics.attribution.numbers import lens
from viz_model.topics.attribution.numbers.attribution import Attribution, Part
from viz_model.topics.attribution.numbers.circuits import Reads
from viz_model.topics.next_token.pictures.next_token import percent

MOST_PARTS = 11
MOST_PUSHED = 6
MOST_KEYS = 16
MOST_NEURONS = 8
MOST_DEPTHS = 8
MOST_ROWS = 12
WRITTEN_CELLS = 12
"""Rows up to which a cell of the grid has its number in it."""
NAMED_COLUMNS = 10

_SMALL = 12
_GRID = theme.rgba(theme.ROLES["residual"], 0.25)


def signed(value: float) -> str:
    """A share of a logit, for prose and labels: always with its sign, and no negative nought."""
    return f"{value + 0.0:+.2f}".replace("-0.00", "+0.00").replace("-", "−")


# The sum


class SumView(NamedTuple):
    """The largest parts of a logit, the others in one, and what they add up to.

    ``shown`` are rows of the attribution, by |value| downwards, and ``values`` theirs.
    """

    shown: tuple[int, ...]
    parts: tuple[Part, ...]
    values: np.ndarray
    rest: float
    n_rest: int
    total: float

    @classmethod
    def of(cls, asked: Attribution, most: int = MOST_PARTS) -> SumView:
        order = asked.order()
        chosen, others = order[:most], order[most:]
        return cls(
            shown=tuple(int(row) for row in chosen),
            parts=tuple(asked.parts[row] for row in chosen),
            values=asked.values[chosen],
            rest=float(asked.values[others].sum()),
            n_rest=len(others),
            total=asked.total,
        )

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each bar begins and how far it goes: the parts, the rest where there is one, and the total."""
        lengths = np.append(self.values, [self.rest] if self.n_rest else [])
        ends = lengths.cumsum()
        return np.append(ends - lengths, 0.0), np.append(lengths, self.total)


def draw_sum(view: SumView, names: Sequence[str], words: Mapping[str, str], selected: int | None) -> go.Figure:
    """A waterfall: every bar begins where the one above ends, the last is the total.

    ``names`` are those of the parts; ``words`` has "rest", "total" and "axis"; ``selected`` is the row of the
    attribution that is looked at.
    """
    starts, lengths = view.steps()
    labels = [*names, *([words["rest"]] if view.n_rest else []), words["total"]]
    rows = list(range(len(labels)))
    colours = [theme.POSITIVE if length >= 0 else theme.NEGATIVE for length in lengths[: len(view.shown)]]
    colours += [theme.ROLES["residual"]] * bool(view.n_rest) + [theme.ROLES["output"]]
    figure = sheet.Sheet(
        sheet.bar(
            x=lengths,
            base=starts.tolist(),
            y=rows,
            orientation="h",
            width=0.66,
            marker={"color": colours, "line": {"width": 0}},
            customdata=[*view.shown, *[-1] * (len(labels) - len(view.shown))],
            text=[signed(length) for length in lengths],
            hovertemplate="%{text}<extra></extra>",
            textposition="none",
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
        )
    )
    ends = starts + lengths
    low, high = min(0.0, float(starts.min()), float(ends.min())), max(0.0, float(starts.max()), float(ends.max()))
    reach = (high - low) or 1.0
    for row, (start, end, length) in enumerate(zip(starts, ends, lengths, strict=True)):
        _write(figure, max(start, end), row, f"<b>{signed(length)}</b>", _SMALL)
        if row + 1 < len(labels) - 1:
            figure.add_shape(
                type="line",
                x0=end,
                x1=end,
                y0=row + 0.33,
                y1=row + 0.67,
                line={"color": theme.ROLES["residual"], "width": 1},
            )
    figure.add_vline(x=0, line={"color": theme.ROLES["residual"], "width": 1})
    ticks = [theme.plain(label) for label in labels]
    if selected in view.shown:
        at = view.shown.index(selected)
        ticks[at] = f"<b>{ticks[at]}</b>"
    ticks[-1] = f"<b>{ticks[-1]}</b>"
    figure.update_yaxes(tickvals=rows, ticktext=ticks, range=[len(rows) - 0.4, -0.6], fixedrange=True)
    figure.update_xaxes(
        title=theme.plain(words["axis"]),
        range=[low - 0.03 * reach, high + 0.2 * reach],
        showgrid=True,
        gridcolor=_GRID,
        nticks=6,
        fixedrange=True,
    )
    return theme.layout(figure, height=76 + 29 * len(rows)).drawn()


class GridView(NamedTuple):
    """Every head and feed-forward layer: ``values`` [L, C], ``columns`` the part's attention and head, or "ffn"."""

    values: np.ndarray
    columns: tuple[tuple[str, int | None], ...]

    @classmethod
    def of(cls, asked: Attribution) -> GridView:
        columns = [*sorted({(p.at, p.head) for p in asked.parts if p.kind == "head"}), ("ffn", None)]
        cells = {
            (part.layer, part.at if part.kind == "head" else "ffn", part.head): value
            for part, value in zip(asked.parts, asked.values, strict=True)
            if part.kind in ("head", "ffn")
        }
        layers = 1 + max(layer for layer, _, _ in cells if layer is not None)
        values = np.array([[cells[layer, at, head] for at, head in columns] for layer in range(layers)])
        return cls(values, tuple(columns))


def draw_grid(view: GridView, words: Mapping[str, str], chosen: tuple[int, str, int | None] | None) -> go.Figure:
    """Layers downwards, heads to the right, the feed-forward layer last.

    ``words`` has "layer", "head", "cross" and "ffn"; ``chosen`` is the layer, attention and head that is looked at.
    A click on a cell selects its point, whose ``customdata`` are layer, attention and head.
    """
    n_layers, n_columns = view.values.shape
    short = [words["ffn"] if at == "ffn" else f"×{head}" if at == "cross" else str(head) for at, head in view.columns]
    full = {"attn": words["head"], "cross": words["cross"], "ffn": words["ffn"]}
    hovers = [
        [
            f"{words['layer']} {layer} · {full[at]}{'' if head is None else f' {head}'}<br><b>{signed(value)}</b>"
            for (at, head), value in zip(view.columns, row, strict=True)
        ]
        for layer, row in enumerate(view.values)
    ]
    top = float(np.abs(view.values).max()) or 1.0
    figure = sheet.Sheet(
        sheet.heatmap(
            z=view.values.astype(np.float32),
            zmin=-top,
            zmax=top,
            colorscale=theme.diverging(),
            showscale=False,
            xgap=2,
            ygap=2 if n_layers <= WRITTEN_CELLS else 1,
            hoverinfo="skip",
        )
    )
    layer, column = np.indices(view.values.shape).reshape(2, -1)
    written = n_layers <= WRITTEN_CELLS and n_columns <= NAMED_COLUMNS
    strong = np.abs(view.values.ravel()) > 0.55 * top
    # A heatmap tells no click, points on it do.
    figure.add_trace(
        sheet.scatter(
            x=column,
            y=layer,
            mode="markers+text" if written else "markers",
            marker={"symbol": "square", "size": 24 if n_layers <= WRITTEN_CELLS else 12, "opacity": 0},
            text=[f"{value:.1f}".replace("-0.0", "0.0").replace("-", "−") for value in view.values.ravel()],
            textfont={"size": 11, "color": ["#ffffff" if s else theme.INK for s in strong]},
            customdata=[[int(i), view.columns[j][0], view.columns[j][1]] for i, j in zip(layer, column, strict=True)],
            hovertext=[text for row in hovers for text in row],
            hovertemplate="%{hovertext}<extra></extra>",
            selected={"marker": {"opacity": 0}},
            unselected={"marker": {"opacity": 0}, "textfont": {"color": theme.INK}},
        )
    )
    if chosen is not None and chosen[1:] in view.columns:
        x = view.columns.index((chosen[1], chosen[2]))
        figure.add_shape(
            type="rect",
            x0=x - 0.5,
            x1=x + 0.5,
            y0=chosen[0] - 0.5,
            y1=chosen[0] + 0.5,
            line={"color": theme.HIGHLIGHT, "width": 2},
        )
    step, apart = -(-n_layers // WRITTEN_CELLS), -(-n_columns // NAMED_COLUMNS)
    named = [n for n, (_, number) in enumerate(view.columns) if number is None or number % apart == 0]
    if apart > 1:  # the feed-forward layer's name is wide
        named = [n for n in named if n == n_columns - 1 or n < n_columns - apart]
    figure.update_yaxes(
        title=theme.plain(words["layer"]),
        tickvals=list(range(0, n_layers, step)),
        range=[n_layers - 0.5, -0.5],
        fixedrange=True,
    )
    figure.update_xaxes(
        title=theme.plain(words["head"]),
        tickvals=named,
        ticktext=[short[n] for n in named],
        fixedrange=True,
        tickangle=0,
    )
    return theme.layout(figure, height=70 + min(380, max(150, 34 * n_layers))).drawn()


# What a vector pushes up and down


class PushesView(NamedTuple):
    """The tokens that a vector pushes up most and down most, beyond the average token; and the asked one.

    ``up`` and ``down`` hold labels with their logits, the strongest first. ``asked`` is the push of the token that
    the page asks about, and ``rank`` its place among all V (1 is pushed up most).
    """

    up: tuple[tuple[str, float], ...]
    down: tuple[tuple[str, float], ...]
    asked: float
    rank: int

    @classmethod
    def of(cls, trace: Trace, pushed: np.ndarray, token: int, most: int = MOST_PUSHED) -> PushesView:
        """``pushed`` is [V]; see :func:`viz_model.topics.attribution.numbers.attribution.pushes`."""
        order = np.argsort(-pushed, kind="stable")

        def named(ids: np.ndarray) -> tuple[tuple[str, float], ...]:
            return tuple((trace.tokenizer.token(int(id)).label, float(pushed[id])) for id in ids)

        most = min(most, len(order) // 2)
        rank = 1 + int((pushed > pushed[token]).sum())
        return cls(named(order[:most]), named(order[::-1][:most]), float(pushed[token]), rank)

    def facts(self) -> dict[str, str]:
        """For prose."""
        return {"push": signed(self.asked), "rank": f"{self.rank:,}"}


def draw_pushes(view: PushesView, words: Mapping[str, str]) -> go.Figure:
    """Tokens pushed up, then tokens pushed down; ``words`` has "up", "down" and "axis"."""
    found = [*view.up, *view.down]
    split = len(view.up)
    rows = [n + 1.0 if n < split else n + 2.2 for n in range(len(found))]
    values = [value for _, value in found]
    figure = sheet.Sheet(
        sheet.bar(
            x=values,
            y=rows,
            orientation="h",
            width=0.7,
            marker={"color": [theme.POSITIVE if n < split else theme.NEGATIVE for n in range(len(found))]},
            hovertext=[f"{theme.plain(label)}<br><b>{signed(value)}</b>" for label, value in found],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    )
    low, high = min(0.0, *values), max(0.0, *values)
    reach = (high - low) or 1.0
    for row, value in zip(rows, values, strict=True):
        _write(figure, max(0.0, value), row, signed(value))
    for row, name in ((0.1, words["up"]), (rows[split] - 0.9, words["down"])):
        figure.add_annotation(
            x=0,
            xref="x domain",
            xanchor="left",
            y=row,
            text=theme.plain(name),
            showarrow=False,
            font={"size": _SMALL},
        )
    for first, last in ((rows[0], rows[split - 1]), (rows[split], rows[-1])):
        line = {"color": theme.ROLES["residual"], "width": 1}
        figure.add_shape(type="line", x0=0, x1=0, y0=first - 0.5, y1=last + 0.5, line=line)
    figure.update_yaxes(
        tickvals=rows,
        ticktext=[theme.shorten(label) for label, _ in found],
        range=[rows[-1] + 0.6, -0.5],
        fixedrange=True,
    )
    figure.update_xaxes(
        title=theme.plain(words["axis"]), range=[low - 0.02 * reach, high + 0.22 * reach], fixedrange=True, nticks=5
    )
    return theme.layout(figure, height=92 + 21 * (len(found) + 2)).drawn()


# The lens


class LensView(NamedTuple):
    """The most probable token by position and depth: ``labels`` and ``probs`` [P, S].

    ``own`` and ``final`` [P, S] say where that is the token that stands at the position itself, and where it is
    what the model says in the end. ``selected`` is a row.
    """

    tokens: tuple[str, ...]
    positions: np.ndarray
    depths: tuple[int, ...]
    labels: tuple[tuple[str, ...], ...]
    probs: np.ndarray
    own: np.ndarray
    final: np.ndarray
    selected: int
    length: int

    @classmethod
    def of(cls, trace: Trace, seen: lens.Lens, position: int) -> LensView:
        ids = seen.ids.T
        here = np.array([trace.own_ids[place] for place in seen.positions])
        return cls(
            tokens=tuple(trace.tokens[place].label for place in seen.positions),
            positions=seen.positions,
            depths=seen.depths,
            labels=tuple(tuple(trace.tokenizer.token(int(id)).label for id in row) for row in ids),
            probs=seen.probs.T,
            own=ids == here[:, None],
            final=ids == ids[:, -1:],
            selected=int(np.flatnonzero(seen.positions == position)[0]),
            length=len(trace),
        )

    def facts(self) -> dict[str, str]:
        """For prose: at how many positions the own token leads before any block and in the end."""
        return {
            "own_first": str(int(self.own[:, 0].sum())),
            "own_last": str(int(self.own[:, -1].sum())),
            "n": str(len(self.positions)),
            "first": str(int(self.positions[0])),
            "last": str(int(self.positions[-1])),
            "length": str(self.length),
        }

    @property
    def decided(self) -> int:
        """The shown depth from which on most positions say what they say in the end."""
        most = self.final.mean(0) > 0.5
        return next(depth for n, depth in enumerate(self.depths) if most[n:].all())

    @property
    def finding(self) -> str:
        """Which title is true: "early" where the own token leads at first at most positions, else "plain"."""
        return "early" if self.own[:, 0].mean() > 0.5 and self.own[:, -1].mean() < 0.5 else "plain"


def part_of(length: int, position: int, most: int) -> range:
    """At most ``most`` neighbouring positions of a text, ``position`` among them and late in the row."""
    stop = min(length, max(most, position + 1))
    return range(max(0, stop - most), stop)


def draw_lens(view: LensView, names: Sequence[str], words: Mapping[str, str]) -> go.Figure:
    """Tokens downwards, depth to the right, in each cell the most probable token; bold where it is the final one.

    ``names`` are those of the depths; ``words`` has "position", "depth" and "probability".
    """
    n_rows, n_columns = view.probs.shape
    figure = sheet.Sheet(
        sheet.heatmap(
            z=view.probs.astype(np.float32),
            zmin=0,
            zmax=1,
            colorscale=theme.sequential("output"),
            xgap=2,
            ygap=2,
            hovertext=[
                [
                    f"{theme.plain(view.tokens[row])} · {theme.plain(names[column])}<br>"
                    f"<b>{theme.plain(label)}</b> {percent(float(view.probs[row, column]))}"
                    for column, label in enumerate(labels)
                ]
                for row, labels in enumerate(view.labels)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            colorbar={**theme.flat_bar(30 * n_rows), "tickformat": ".0%", "y": 1, "yanchor": "bottom"},
        )
    )
    row, column = np.indices(view.probs.shape).reshape(2, -1)
    strong = view.probs.ravel() > 0.55

    def said(i: int, j: int) -> str:
        label = theme.shorten(view.labels[i][j], 9)
        return f"<b>{label}</b>" if view.final[i, j] else f"<i>{label}</i>" if view.own[i, j] else label

    figure.add_trace(
        sheet.scatter(
            x=column,
            y=row,
            mode="text",
            text=[said(i, j) for i, j in zip(row, column, strict=True)],
            textfont={"size": 11, "color": ["#ffffff" if s else theme.INK for s in strong]},
            hoverinfo="skip",
        )
    )
    figure.add_shape(
        type="rect",
        x0=-0.5,
        x1=n_columns - 0.5,
        y0=view.selected - 0.5,
        y1=view.selected + 0.5,
        line={"color": theme.HIGHLIGHT, "width": 2},
    )
    figure.update_yaxes(
        title=theme.plain(words["position"]),
        tickvals=list(range(n_rows)),
        ticktext=[theme.shorten(token, 12) for token in view.tokens],
        range=[n_rows - 0.5, -0.5],
        fixedrange=True,
    )
    figure.update_xaxes(
        title=theme.plain(words["depth"]),
        tickvals=list(range(n_columns)),
        ticktext=[theme.plain(name) for name in names],
        fixedrange=True,
    )
    return theme.layout(figure, height=110 + 30 * n_rows, margin={"t": 36}).drawn()


class PathsView(NamedTuple):
    """Tokens by depth at one position: ``probs`` and ``ranks`` [S, N] of ``labels``."""

    labels: tuple[str, ...]
    probs: np.ndarray
    ranks: np.ndarray

    @classmethod
    def of(cls, trace: Trace, position: int, ids: Sequence[int]) -> PathsView:
        found = lens.paths(trace, position, ids)
        return cls(tuple(trace.tokenizer.token(id).label for id in ids), found.probs, found.ranks)

    @property
    def settled(self) -> int | None:
        """The depth from which on the first of the tokens leads."""
        return lens.settled(self.ranks[:, 0])

    def facts(self) -> dict[str, str]:
        """For prose: rank and probability of the first token, at the beginning and in the end."""
        return {
            "rank_first": f"{self.ranks[0, 0]:,}",
            "rank_last": f"{self.ranks[-1, 0]:,}",
            "share_last": percent(float(self.probs[-1, 0])),
            "own_rank_first": f"{self.ranks[0, -1]:,}",
            "own_rank_last": f"{self.ranks[-1, -1]:,}",
        }


_LINES = ((theme.ROLES["output"], "solid", "circle"), ("#8A8D96", "dot", "square"), (theme.ROLES["ffn"], "dash", "x"))


def draw_paths(view: PathsView, names: Sequence[str], legend: Sequence[str], words: Mapping[str, str]) -> go.Figure:
    """Ranks by depth, the first on top; ``words`` has "rank" and "depth", ``legend`` a name for each line."""
    figure = sheet.Sheet()
    styles = (_LINES[0], _LINES[1]) if len(legend) == 2 else (_LINES[0], _LINES[2], _LINES[1])
    for n, (colour, dash, symbol) in enumerate(styles[: len(legend)]):
        figure.add_trace(
            sheet.scatter(
                x=list(range(len(names))),
                y=view.ranks[:, n],
                mode="lines+markers",
                name=theme.plain(legend[n]),
                line={"color": colour, "dash": dash, "width": 2},
                marker={"symbol": symbol, "size": 7},
                hovertext=[
                    f"{theme.plain(name)}<br>{theme.plain(legend[n])}<br>"
                    f"{theme.plain(words['rank'])} <b>{rank:,}</b> · {percent(float(share))}"
                    for name, rank, share in zip(names, view.ranks[:, n], view.probs[:, n], strict=True)
                ],
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
    theme.layout(figure, height=330)
    top = float(np.log10(max(10, int(view.ranks.max()))))
    decades = [10**n for n in range(int(top) + 1)]
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": _SMALL}}
    )
    figure.update_yaxes(
        type="log",
        title=theme.plain(words["rank"]),
        range=[top * 1.08, -0.12 * top],
        tickvals=decades,
        ticktext=[f"{rank:,}" for rank in decades],
        showgrid=True,
        gridcolor=_GRID,
        fixedrange=True,
    )
    step = -(-len(names) // 10)
    shown = list(range(0, len(names), step))
    figure.update_xaxes(
        title=theme.plain(words["depth"]),
        tickvals=shown,
        ticktext=[theme.plain(names[n]) for n in shown],
        fixedrange=True,
    )
    return figure.drawn()


# A head


class ReadsView(NamedTuple):
    """One head's row: the weight of each shown key beside its share of what arrives, by position."""

    labels: tuple[str, ...]
    keys: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    values: np.ndarray
    n_keys: int

    @classmethod
    def of(cls, labels: Sequence[str], reads: Reads, most: int = MOST_KEYS) -> ReadsView:
        """``labels`` are those of all Tk keys; shown are the largest by weight or share."""
        strongest = np.argsort(-np.maximum(reads.weights, reads.shares), kind="stable")[:most]
        keys = np.sort(strongest)
        return cls(
            labels=tuple(labels[key] for key in keys),
            keys=keys,
            weights=reads.weights[keys],
            shares=reads.shares[keys],
            values=reads.values[keys],
            n_keys=len(reads.weights),
        )


def draw_reads(view: ReadsView, words: Mapping[str, str]) -> go.Figure:
    """Two bars a key; ``words`` has "weight", "share", "value" and "axis"."""
    rows = np.arange(len(view.labels))
    figure = sheet.Sheet()
    hovers = [
        f"{key}: {theme.plain(label)}<br>{theme.plain(words['weight'])} <b>{weight:.3f}</b><br>"
        f"{theme.plain(words['share'])} <b>{share:.3f}</b><br>{theme.plain(words['value'])} <b>{signed(value)}</b>"
        for key, label, weight, share, value in zip(
            view.keys, view.labels, view.weights, view.shares, view.values, strict=True
        )
    ]
    bars = (("weight", view.weights, "pattern", -0.2), ("share", view.shares, "value", 0.2))
    for name, values, role, offset in bars:
        figure.add_trace(
            sheet.bar(
                x=values,
                y=rows + offset,
                orientation="h",
                width=0.36,
                name=theme.plain(words[name]),
                marker={"color": theme.ROLES[role]},
                hovertext=hovers,
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
    theme.layout(figure, height=110 + 32 * len(rows))
    figure.update_layout(
        showlegend=True,
        barmode="overlay",
        legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "font": {"size": _SMALL}},
    )
    figure.update_yaxes(
        title=theme.plain(words["key"]),
        tickvals=rows,
        ticktext=[theme.shorten(label) for label in view.labels],
        range=[len(rows) - 0.4, -0.6],
        fixedrange=True,
    )
    top = float(max(view.weights.max(), view.shares.max()))
    figure.update_xaxes(
        title=theme.plain(words["axis"]), range=[0, max(top, 0.05) * 1.05], tickformat=".0%", nticks=6, fixedrange=True
    )
    return figure.drawn()


# Neurons


class NeuronsView(NamedTuple):
    """The neurons that add most to what is asked, over all layers: ``layers``, ``numbers`` and ``values`` [N]."""

    layers: np.ndarray
    numbers: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, added: np.ndarray, most: int = MOST_NEURONS) -> NeuronsView:
        """``added`` is [L, F]; see :func:`viz_model.topics.attribution.numbers.attribution.neurons`."""
        order = np.argsort(-np.abs(added), axis=None, kind="stable")[:most]
        layers, numbers = np.unravel_index(order, added.shape)
        return cls(layers, numbers, added[layers, numbers])


def draw_neurons(view: NeuronsView, name: Callable[[int, int], str], selected: int, axis: str) -> go.Figure:
    """A bar a neuron, named by layer and number; ``selected`` is a row."""
    rows = list(range(len(view.values)))
    figure = sheet.Sheet(
        sheet.bar(
            x=view.values,
            y=rows,
            orientation="h",
            width=0.66,
            marker={
                "color": [
                    theme.rgba(theme.ROLES["ffn"] if value >= 0 else theme.NEGATIVE, 1.0 if row == selected else 0.55)
                    for row, value in zip(rows, view.values, strict=True)
                ]
            },
            customdata=rows,
            hovertext=[signed(value) for value in view.values],
            hovertemplate="%{hovertext}<extra></extra>",
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
        )
    )
    low, high = min(0.0, float(view.values.min())), max(0.0, float(view.values.max()))
    reach = (high - low) or 1.0
    for row, value in zip(rows, view.values, strict=True):
        _write(figure, max(0.0, value), row, signed(value))
    labels = [theme.plain(name(int(i), int(j))) for i, j in zip(view.layers, view.numbers, strict=True)]
    labels[selected] = f"<b>{labels[selected]}</b>"
    figure.add_vline(x=0, line={"color": theme.ROLES["residual"], "width": 1})
    figure.update_yaxes(tickvals=rows, ticktext=labels, range=[len(rows) - 0.4, -0.6], fixedrange=True)
    figure.update_xaxes(
        title=theme.plain(axis), range=[low - 0.02 * reach, high + 0.22 * reach], nticks=5, fixedrange=True
    )
    return theme.layout(figure, height=80 + 29 * len(rows)).drawn()


class FiringView(NamedTuple):
    """One neuron's value on the tokens of the text: the largest |value|, by position."""

    labels: tuple[str, ...]
    positions: np.ndarray
    values: np.ndarray
    selected: int
    length: int

    @classmethod
    def of(cls, trace: Trace, layer: int, number: int, position: int, most: int = MOST_KEYS) -> FiringView:
        """The position that is asked about is always among them."""
        values = trace[f"blocks.{layer}.ffn.act"][:, number].numpy()
        order = [position, *(int(n) for n in np.argsort(-np.abs(values), kind="stable") if n != position)]
        chosen = np.sort(order[:most])
        labels = tuple(trace.tokens[n].label for n in chosen)
        return cls(labels, chosen, values[chosen], int(np.flatnonzero(chosen == position)[0]), len(values))

    @property
    def most(self) -> int:
        """The shown row with the largest |value|."""
        return int(np.abs(self.values).argmax())


def draw_firing(view: FiringView, axis: str) -> go.Figure:
    """A bar a token, the position that is asked about in bold."""
    rows = list(range(len(view.values)))
    figure = sheet.Sheet(
        sheet.bar(
            x=view.values,
            y=rows,
            orientation="h",
            width=0.66,
            marker={"color": [theme.ROLES["ffn"] if value >= 0 else theme.NEGATIVE for value in view.values]},
            hovertext=[
                f"{position}: {theme.plain(label)}<br><b>{value:.3f}</b>"
                for position, label, value in zip(view.positions, view.labels, view.values, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    )
    labels = [theme.shorten(label) for label in view.labels]
    labels[view.selected] = f"<b>{labels[view.selected]}</b>"
    figure.add_vline(x=0, line={"color": theme.ROLES["residual"], "width": 1})
    figure.update_yaxes(tickvals=rows, ticktext=labels, range=[len(rows) - 0.4, -0.6], fixedrange=True)
    figure.update_xaxes(title=theme.plain(axis), nticks=5, fixedrange=True, showgrid=True, gridcolor=_GRID)
    return theme.layout(figure, height=max(200, 80 + 24 * len(rows))).drawn()


# By hand, and the numbers


def sum_by_hand(view: SumView) -> str:
    """The sum written out, as LaTeX: the shown parts, the others in one, and the total."""
    terms = [theme.signed(value, 3) for value in view.values]
    lines = [" + ".join(terms[n : n + 5]) for n in range(0, len(terms), 5)]
    rest = rf" + \underbrace{{{theme.signed(view.rest, 3)}}}_{{{view.n_rest}}}" if view.n_rest else ""
    return r" \\ {}+ ".join(lines) + rest + rf" = {view.total:.3f}"


def columns(asked: Attribution, heading: Mapping[str, str]) -> dict[str, list[Any]]:
    """All parts as the columns of a table: "part" the site, "layer" and "value"."""
    order = asked.order()
    return {
        heading["part"]: [asked.parts[row].site for row in order],
        heading["layer"]: [asked.parts[row].layer for row in order],
        heading["value"]: [float(asked.values[row]) for row in order],
    }


def part_by_hand(written: np.ndarray, direction: np.ndarray, most: int = 3) -> dict[str, str]:
    """One part's dot product with the direction at its place [D], by its largest terms, as LaTeX."""
    products = written * direction
    largest = np.argsort(-np.abs(products), kind="stable")[:most]
    terms = " + ".join(rf"{theme.signed(written[d])} \cdot {theme.signed(direction[d])}" for d in largest)
    return {"terms": terms, "product": f"{products.sum():.4f}", "n_terms": str(len(products) - len(largest))}


def _write(figure: sheet.Sheet, x: float, row: float, text: str, size: int = 11) -> None:
    """A number at the right end of a bar."""
    font = {"size": size, "color": theme.INK}
    figure.add_annotation(x=x, y=row, text=text, showarrow=False, xanchor="left", xshift=4, font=font)
