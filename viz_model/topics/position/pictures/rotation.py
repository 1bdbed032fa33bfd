"""Queries and keys that are turned (RoPE): pairs as arrows, wave lengths, and scores that know only the offset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.config import Rope
from viz_model.drawing import heatmap, sheet, theme
from viz_model.drawing.theme import LEGEND_BELOW as LEGEND
from viz_model.runs.trace import Trace
from viz_model.topics.position import numbers as analysis
from viz_model.topics.position.numbers.views import rows_view

WINDOW = 8
"""Tokens whose arrows are drawn at the most; their labels would cover each other."""
ARC_POINTS = 48


class PlaneView(NamedTuple):
    """One pair of values of a head's queries or keys, as points of a plane, before and after the turn.

    ``before`` and ``after`` are [W, 2], over the W positions from ``start`` on; ``angles`` [W] in
    radians; ``columns`` are the two values of the head that form the pair.
    """

    role: str
    start: int
    labels: tuple[str, ...]
    token: int
    columns: tuple[int, int]
    angles: np.ndarray
    before: np.ndarray
    after: np.ndarray
    site: str

    @classmethod
    def of(cls, trace: Trace, layer: int, head: int, token: int, pair: int, role: str) -> PlaneView:
        """``role`` is "query" or "key"."""
        found = analysis.rotation(trace, layer, head)
        before, after = (found.q, found.q_rotated) if role == "query" else (found.k, found.k_rotated)
        start = max(0, min(token - WINDOW // 2, len(trace) - WINDOW))
        window = slice(start, start + WINDOW)
        columns = analysis.rotated_columns(trace, pair)
        return cls(
            role=role,
            start=start,
            labels=tuple(t.label for t in trace.tokens[window]),
            token=token,
            columns=columns,
            angles=np.arange(len(trace))[window] * analysis.frequencies(trace).used[pair],
            before=before[window, list(columns)].numpy(),
            after=after[window, list(columns)].numpy(),
            site=trace.full_name(f"blocks.{layer}.attn.{role[0]}_rotated"),
        )


def draw_plane(view: PlaneView, words: Mapping[str, str]) -> go.Figure:
    """An arrow for each token: dotted as it was, solid as it is after the turn, an arc on the chosen one."""
    figure = sheet.Sheet()
    order = sorted(range(len(view.labels)), key=lambda n: view.start + n == view.token)
    for n in order:
        position = view.start + n
        chosen = position == view.token
        colour = theme.ROLES[view.role] if chosen else theme.rgba(theme.token_colour(position), 0.55)
        name = f"{position}: {theme.plain(view.labels[n])}"
        for point, dash, which in ((view.before[n], "dot", "before"), (view.after[n], "solid", "after")):
            a, b = view.columns
            faint = 1.0 if chosen or which == "after" else 0.45
            figure.add_trace(_arrow(point, colour, 3.5 if chosen else 1.6, dash, faint))
            figure.traces[-1].update(
                text=[f"{name} · {theme.plain(words[which])}"] * 2,
                hovertemplate=f"%{{text}}<br>[{a}] = %{{x:.4f}}<br>[{b}] = %{{y:.4f}}<extra></extra>",
                hoverinfo=None,
            )
        if chosen:
            _arc(figure, view.before[n], view.angles[n], colour)
        figure.add_annotation(
            x=view.after[n, 0],
            y=view.after[n, 1],
            text=f"<b>{theme.shorten(view.labels[n])}</b>" if chosen else theme.shorten(view.labels[n]),
            showarrow=False,
            xshift=14 * math.copysign(1, view.after[n, 0]),
            yshift=10 * math.copysign(1, view.after[n, 1]),
            xanchor="left" if view.after[n, 0] >= 0 else "right",
            font={"size": 13 if chosen else 11},
        )
    return _plane(figure, np.concatenate([view.before, view.after]), view.columns, words).drawn()


def _arrow(point: np.ndarray, colour: str, width: float, dash: str = "solid", opacity: float = 1.0) -> sheet.Trace:
    return sheet.scatter(
        x=[0.0, float(point[0])],
        y=[0.0, float(point[1])],
        mode="lines+markers",
        line={"color": colour, "width": width, "dash": dash},
        marker={"symbol": "arrow", "size": [0, 5 + 3 * width], "angleref": "previous", "color": colour},
        opacity=opacity,
        hoverinfo="skip",
    )


def _arc(figure: sheet.Sheet, begin: np.ndarray, angle: float, colour: str, share: float = 0.45) -> None:
    """The last, unfinished turn of an angle, from the direction of ``begin``."""
    radius, first = share * float(np.hypot(*begin)), math.atan2(begin[1], begin[0])
    at = first + np.linspace(0, math.fmod(angle, 2 * math.pi), ARC_POINTS)
    figure.add_trace(
        sheet.scatter(
            x=(radius * np.cos(at)).astype(np.float32),
            y=(radius * np.sin(at)).astype(np.float32),
            mode="lines",
            line={"color": colour, "width": 1.5},
            hoverinfo="skip",
        )
    )


def _plane(figure: sheet.Sheet, points: np.ndarray, columns: tuple[int, int], words: Mapping[str, str]) -> sheet.Sheet:
    """Equal scales, the origin in the middle, and a circle through the longest arrow."""
    longest = float(np.linalg.norm(points, axis=-1).max()) or 1.0
    figure.add_shape(
        type="circle", x0=-longest, y0=-longest, x1=longest, y1=longest, line={"color": theme.MASKED, "width": 1}
    )
    theme.layout(figure, height=310)
    reach = [-1.3 * longest, 1.3 * longest]
    lines = {"showgrid": False, "zeroline": True, "zerolinecolor": theme.MASKED, "zerolinewidth": 1, "nticks": 5}
    figure.update_xaxes(range=reach, title=theme.plain(f"{words['value']} {columns[0]}"), constrain="domain", **lines)
    figure.update_yaxes(
        range=[-1.15 * longest, 1.15 * longest],
        title=theme.plain(f"{words['value']} {columns[1]}"),
        scaleanchor="x",
        constrain="domain",
        constraintoward="top",
        **lines,
    )
    return figure


def angles_view(trace: Trace, token: int, axes: tuple[str, str]) -> heatmap.HeatmapView:
    """The cosine of every pair's angle at every token, [T, R/2]: 1 not turned, −1 turned half way round."""
    angles = analysis.rope(trace).angles(0, len(trace))
    return rows_view(trace, angles.cos().float().numpy(), "cos(t · θᵢ)", token, axes, limit=1.0)


class WavelengthView(NamedTuple):
    """Positions in one full turn of every pair, [R/2], and what to compare them with.

    ``unscaled`` [R/2] is None where the model's frequencies are those of the formula.
    """

    pair: int
    used: np.ndarray
    unscaled: np.ndarray | None
    length: int
    n_context: int

    @classmethod
    def of(cls, trace: Trace, pair: int) -> WavelengthView:
        found = analysis.frequencies(trace)
        position = trace.config.position
        scaled = isinstance(position, Rope) and position.scaling is not None
        return cls(
            pair=pair,
            used=found.wavelengths,
            unscaled=2 * math.pi / found.unscaled if scaled else None,
            length=len(trace),
            n_context=trace.config.n_context,
        )


def draw_wavelengths(view: WavelengthView, words: Mapping[str, str], height: int = 380) -> go.Figure:
    """Wave length over pair on a logarithmic axis, with the sentence and the context as lines."""
    pairs = np.arange(len(view.used))
    figure = sheet.Sheet()
    if view.unscaled is not None:
        figure.add_trace(
            sheet.scatter(
                x=pairs,
                y=view.unscaled,
                mode="lines",
                line={"color": theme.ROLES["residual"], "width": 1.8, "dash": "dash"},
                name=theme.plain(words["unscaled"]),
                hovertemplate=f"{theme.plain(words['pair'])} %{{x}}<br><b>%{{y:,.1f}}</b><extra></extra>",
            )
        )
    figure.add_trace(
        sheet.scatter(
            x=pairs,
            y=view.used,
            mode="lines+markers",
            line={"color": theme.ROLES["position"], "width": 2.4},
            marker={
                "size": [12 if n == view.pair else 6 for n in pairs],
                "line": {"color": theme.HIGHLIGHT, "width": [2.5 if n == view.pair else 0 for n in pairs]},
            },
            name=theme.plain(words["used"]),
            hovertemplate=f"{theme.plain(words['pair'])} %{{x}}<br><b>%{{y:,.1f}}</b><extra></extra>",
        )
    )
    for length, name in ((view.length, words["sentence"]), (view.n_context, words["context"])):
        figure.add_hline(y=length, line={"color": theme.rgba(theme.ROLES["residual"], 0.8), "width": 1, "dash": "dot"})
        figure.add_annotation(
            x=1,
            xref="paper",
            xanchor="right",
            y=math.log10(length),
            yanchor="bottom",
            text=theme.plain(name),
            showarrow=False,
            font={"size": 12},
        )
    figure.update_xaxes(title=theme.plain(words["pair"]))
    figure.update_yaxes(type="log", title=theme.plain(words["wavelength"]), dtick=1)
    theme.layout(figure, height=height)
    figure.update_yaxes(showgrid=True, gridcolor=theme.MASKED)
    if view.unscaled is not None:
        figure.update_layout(showlegend=True, legend=LEGEND)
    return figure.drawn()


class OffsetView(NamedTuple):
    """A query and a key of the run, where they stand and ``shift`` positions further on.

    ``recorded`` is their score in the run, ``shifted`` the score from there, and ``largest`` the
    largest such difference over all T² scores of the head. ``pairs`` [4, 2] are the directions of
    the chosen pair of values, of length 1: query, key, shifted query, shifted key. ``curve`` holds
    the score of the same two vectors for every offset in ``offsets`` (query minus key).
    """

    query: int
    key: int
    shift: int
    recorded: float
    shifted: float
    largest: float
    columns: tuple[int, int]
    frequency: float
    pairs: np.ndarray
    offsets: np.ndarray
    curve: np.ndarray

    @classmethod
    def of(cls, trace: Trace, layer: int, head: int, query: int, key: int, pair: int, shift: int) -> OffsetView:
        recorded = trace.head(f"blocks.{layer}.attn.scores", head).numpy()
        shifted = analysis.shifted_scores(trace, layer, head, shift)
        columns = list(analysis.rotated_columns(trace, pair))
        (here_q, here_k), (there_q, there_k) = (analysis.turned(trace, layer, head, at) for at in (0, shift))
        moved = ((here_q, query), (here_k, key), (there_q, query), (there_k, key))
        points = np.stack([vectors[at, columns].numpy() for vectors, at in moved])
        reach = max(32, min(2 * len(trace), 128))
        curve = analysis.score_by_offset(trace, layer, head, query, key, reach)
        one_way = trace.stack.side == "decoder"
        return cls(
            query=query,
            key=key,
            shift=shift,
            recorded=float(recorded[query, key]),
            shifted=float(shifted[query, key]),
            largest=float(np.abs(shifted - recorded).max()),
            columns=(columns[0], columns[1]),
            frequency=float(analysis.frequencies(trace).used[pair]),
            pairs=points / np.maximum(np.linalg.norm(points, axis=-1, keepdims=True), 1e-30),
            offsets=np.arange(0 if one_way else -reach, reach + 1),
            curve=curve[reach:] if one_way else curve,
        )


def draw_shift(view: OffsetView, words: Mapping[str, str]) -> go.Figure:
    """The pair's query and key where they stand, faint, and shifted: both turned, the angle between them kept."""
    figure = sheet.Sheet()
    for n, (point, role) in enumerate(zip(view.pairs, ("query", "key") * 2, strict=True)):
        moved = n >= 2
        place = (view.query, view.key)[n % 2] + (view.shift if moved else 0)
        colour = theme.ROLES[role]
        figure.add_trace(_arrow(point, colour, 3.5, "solid" if moved else "dot", 1.0 if moved else 0.65))
        figure.traces[-1].update(
            text=[f"{theme.plain(words[role])} · {theme.plain(words['position'])} {place}"] * 2,
            hovertemplate="%{text}<extra></extra>",
            hoverinfo=None,
        )
        figure.add_annotation(
            x=float(point[0]),
            y=float(point[1]),
            text=f"{'qk'[n % 2]} · {place}",
            showarrow=False,
            xshift=12 * math.copysign(1, point[0]),
            yshift=10 * math.copysign(1, point[1]),
            xanchor="left" if point[0] >= 0 else "right",
            font={"size": 13 if moved else 11, "color": colour},
            opacity=1.0 if moved else 0.8,
        )
    for query, key, share, alpha in ((*view.pairs[:2], 0.35, 0.6), (*view.pairs[2:], 0.5, 1.0)):
        between = math.atan2(key[1], key[0]) - math.atan2(query[1], query[0])
        _arc(figure, query, math.remainder(between, 2 * math.pi), theme.rgba(theme.HIGHLIGHT, alpha), share)
    _plane(figure, view.pairs, view.columns, words)
    figure.update_xaxes(showticklabels=False)
    figure.update_yaxes(showticklabels=False)
    figure.update_layout(height=380)
    return figure.drawn()


def draw_offsets(view: OffsetView, words: Mapping[str, str]) -> go.Figure:
    """The score of the same query and key over the offset; a dot where the run has it, a ring after the shift."""
    figure = sheet.Sheet(
        sheet.scatter(
            x=view.offsets,
            y=view.curve.astype(np.float32),
            mode="lines",
            line={"color": theme.ROLES["pattern"], "width": 2.2},
            hovertemplate=f"{theme.plain(words['offset'])} %{{x}}<br><b>%{{y:.4f}}</b><extra></extra>",
        )
    )
    offset = view.query - view.key
    for value, name, marker in (
        (view.recorded, words["recorded"], {"size": 9, "color": theme.ROLES["pattern"]}),
        (view.shifted, words["shifted"], {"size": 17, "symbol": "circle-open", "color": theme.ROLES["position"]}),
    ):
        figure.add_trace(
            sheet.scatter(
                x=[offset],
                y=[value],
                mode="markers",
                marker={**marker, "line": {"width": 2.5}},
                name=theme.plain(name),
                hovertemplate=f"{theme.plain(name)}<br><b>%{{y:.6f}}</b><extra></extra>",
            )
        )
    figure.traces[0]["showlegend"] = False
    figure.update_xaxes(title=theme.plain(words["offset"]))
    figure.update_yaxes(title=theme.plain(words["score"]))
    theme.layout(figure, height=380)
    figure.update_yaxes(zeroline=True, zerolinewidth=1, zerolinecolor=theme.MASKED)
    figure.update_layout(showlegend=True, legend=LEGEND)
    return figure.drawn()


def by_hand(trace: Trace, layer: int, head: int, query: int, key: int, pair: int) -> dict[str, str]:
    """One pair of one query turned by hand, and its share of one score, for prose."""
    found, position = analysis.rotation(trace, layer, head), analysis.rope(trace)
    columns = list(analysis.rotated_columns(trace, pair))
    frequency = analysis.frequencies(trace).used[pair]
    angle = query * frequency
    a, b = (found.q[query, column].item() for column in columns)
    cos, sin = position.stretch * math.cos(angle), position.stretch * math.sin(angle)
    turned_q, turned_k = found.q_rotated[query], found.k_rotated[key]
    share = (turned_q[columns] * turned_k[columns]).sum().item()
    product = (turned_q * turned_k).sum().item()
    numbers = {
        "a": a,
        "b": b,
        "cos": cos,
        "sin": sin,
        "new_a": a * cos - b * sin,
        "new_b": a * sin + b * cos,
        "recorded_a": turned_q[columns[0]].item(),
        "recorded_b": turned_q[columns[1]].item(),
        "key_a": turned_k[columns[0]].item(),
        "key_b": turned_k[columns[1]].item(),
        "share": share,
        "product": product,
        "score": trace.head(f"blocks.{layer}.attn.scores", head)[query, key].item(),
        "scale": trace.stack.block(layer).attn.scale,
    }
    return {
        **{name: f"{number:.4f}" for name, number in numbers.items()},
        **{f"signed_{name}": theme.signed(number) for name, number in numbers.items()},
        "position": str(query),
        "key_position": str(key),
        "pair": str(pair),
        "first": str(columns[0]),
        "second": str(columns[1]),
        "frequency": f"{frequency:.6g}",
        "angle": f"{angle:.4f}",
        "degrees": f"{math.degrees(angle) % 360:.0f}",
        "turns": f"{angle / (2 * math.pi):.2f}",
    }


def summary(trace: Trace, pair: int) -> dict[str, str]:
    """The frequencies in words."""
    found, position, config = analysis.frequencies(trace), analysis.rope(trace), trace.config
    assert isinstance(config.position, Rope)
    lengths = found.wavelengths
    return {
        "base": f"{config.position.base:,g}",
        "pairs": str(len(lengths)),
        "rotated": str(2 * len(lengths)),
        "width": str(config.d_head),
        "kept": str(config.d_head - 2 * len(lengths)),
        "fastest": f"{lengths.min():,.1f}",
        "slowest": f"{lengths.max():,.0f}",
        "last_pair": str(len(lengths) - 1),
        "wavelength": f"{lengths[pair]:,.1f}",
        "turning": str(found.turning(len(trace))),
        "turning_context": str(found.turning(config.n_context)),
        "length": str(len(trace)),
        "context": f"{config.n_context:,}",
        "stretch": f"{position.stretch:.4f}",
    }
