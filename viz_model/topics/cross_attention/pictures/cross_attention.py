"""Cross-attention: all heads, the steps of one query, decoding step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.config import ModelConfig
from viz_model.drawing import heatmap, sheet, strips, theme
from viz_model.drawing.cells import ROW, Cells, span_of
from viz_model.drawing.spans import around, window
from viz_model.drawing.writing import percent
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.cross_attention import numbers as cross

MOST_CELLS = 64
"""Cells along a side of a map; longer texts are pooled, so the payload stays the same."""
MOST_COLUMNS = 24
"""Source tokens beside each other in the steps."""

GRID = ("head", "hint")
STEPS = ("product", "scale", "mask", "softmax", "value")
COLUMNS = ("reads", "comes", "predicts", "says")
SUMS = ("before", "out", "sum", "after", "after_norm", "length", "head")
WIRES = ("source", "target", "block", "self", "cross", "ffn", "vectors", "logits", "keys", "query")
"""The words that each picture needs."""


# Maps


def pool(pattern: np.ndarray, most: int = MOST_CELLS) -> tuple[np.ndarray, tuple[int, int]]:
    """[..., Tq, Ts] -> at most ``most`` cells a side, each the largest weight it stands for; and how many it does."""
    sizes = tuple(-(-length // most) for length in pattern.shape[-2:])
    if sizes == (1, 1):
        return pattern, (1, 1)
    counts = [-(-length // size) for length, size in zip(pattern.shape[-2:], sizes, strict=True)]
    padded = np.zeros((*pattern.shape[:-2], *(n * size for n, size in zip(counts, sizes, strict=True))), pattern.dtype)
    padded[..., : pattern.shape[-2], : pattern.shape[-1]] = pattern
    cells = padded.reshape(*pattern.shape[:-2], counts[0], sizes[0], counts[1], sizes[1])
    return cells.max(axis=(-3, -1)), (sizes[0], sizes[1])


def pool_labels(labels: Sequence[str], size: int) -> tuple[str, ...]:
    """A name for each group of ``size`` labels."""
    groups = [labels[i : i + size] for i in range(0, len(labels), size)]
    return tuple(group[0] if len(group) == 1 else f"{group[0]} … {group[-1]}" for group in groups)


class MapsView(NamedTuple):
    """Patterns float32 [N, q, s], with names for the pooled rows and columns.

    ``pools`` target and source tokens share one cell, which shows their largest weight.
    """

    patterns: np.ndarray
    target: tuple[str, ...]
    source: tuple[str, ...]
    pools: tuple[int, int]

    @classmethod
    def of(cls, patterns: np.ndarray, target: Sequence[str], source: Sequence[str]) -> MapsView:
        pooled, pools = pool(patterns)
        return cls(pooled.astype(np.float32), pool_labels(target, pools[0]), pool_labels(source, pools[1]), pools)


def maps_scene(
    view: MapsView, selected: int | None, words: Mapping[str, str], site: str = ""
) -> tuple[dict[str, Any], np.ndarray]:
    """What the browser draws of all heads: a header, and the patterns; ``site`` is the full name of the values."""
    header = {
        "heads": len(view.patterns),
        "target": view.target,
        "source": view.source,
        "pooled": view.pools != (1, 1),
        "selected": selected,
        "site": site,
        "colour": theme.rgb("pattern"),
        "words": dict(words),
    }
    return header, view.patterns


def large(
    view: MapsView, token: int, site: str, axes: tuple[str, str], cells: Cells | None = None
) -> heatmap.HeatmapView:
    """The first pattern of ``view`` as a heatmap: a row a target token, a column a source token.

    ``cells`` says which numbers they are, where each of them stands for itself.
    """
    return heatmap.HeatmapView(
        values=view.patterns[0],
        rows=view.target,
        columns=view.source,
        site=site,
        role="pattern",
        scale="probability",
        row_axis=axes[0],
        column_axis=axes[1],
        selected_row=token // view.pools[0],
        cells=cells if view.pools == (1, 1) else None,
    )


# The steps of one target token


def step_strips(
    steps: cross.Steps,
    labels: Sequence[str],
    names: Mapping[str, str],
    *,
    scaled: bool,
    cells: Mapping[str, Cells] = MappingProxyType({}),
) -> strips.StripsView:
    """Rows of aligned cells, one column a source token, and the length of weight · value as bars below.

    ``names`` are :data:`STEPS`. A model that does not divide by √K has no row for it.
    Long sources show the window that is read most. ``cells`` say of rows which numbers of the run they are.
    """
    shown = window(steps.fetched, MOST_COLUMNS)
    if np.isneginf(steps.mask).any():  # what is hidden stands at the end, and is what one wants to see
        shown = slice(max(0, len(labels) - MOST_COLUMNS), len(labels))
    rows = {"product": steps.products, "scale": steps.scores, "mask": steps.masked, "softmax": steps.pattern}
    if not scaled:
        del rows["scale"]
    found = [
        strips.scaled(
            names[step],
            values[shown],
            "share" if step == "softmax" else "signed",
            cells=cells[step]._replace(columns=span_of(shown)) if step in cells else None,
        )
        for step, values in rows.items()
    ]
    found.append(strips.scaled(names["value"], steps.fetched[shown], "bars", role="value"))
    return strips.steps(found, labels[shown], span_of(shown))


def steps_table(
    steps: cross.Steps, names: Mapping[str, str], labels: Sequence[str]
) -> tuple[np.ndarray, tuple[str, ...], Sequence[str]]:
    """The steps as numbers: values [5, Ts], the names of the rows, and those of the columns."""
    rows = (steps.products, steps.scores, steps.masked, steps.pattern, steps.fetched)
    return np.stack(rows), tuple(names[key] for key in STEPS), labels


def sum_strips(
    written: cross.Written,
    names: Mapping[str, str],
    dimension: str,
    norm_at: str,
    cells: Mapping[str, Cells] = MappingProxyType({}),
) -> strips.StripsView:
    """The stream before, what is added, and the stream after, as strips of D cells with their lengths behind.

    ``names`` are :data:`SUMS`. Under Post-LN the sum is a strip of its own, because the norm follows
    it. All share one colour scale, so that the sum can be checked by eye. ``cells`` say of strips which
    numbers of the run they are.
    """
    vectors = {"before": written.before, "out": written.out}
    if norm_at == "pre":
        vectors["after"] = written.after
    else:
        vectors |= {"sum": written.before + written.out, "after_norm": written.after}
    top = strips.top_of(np.stack(list(vectors.values())))
    found = tuple(
        strips.Strip(
            names[key],
            values,
            top=top,
            cells=cells.get(key),
            behind=f"{names['length']} {np.linalg.norm(values):.2f}",
        )
        for key, values in vectors.items()
    )
    columns = tuple(map(str, range(len(written.out))))
    return strips.StripsView(found, columns, 56 + 50 * len(found), column_axis=dimension)


def draw_heads(written: cross.Written, selected: int, names: Mapping[str, str]) -> go.Figure:
    """How much each head writes into the token's stream, as the length of its vector; one head in full colour."""
    lengths = np.linalg.norm(written.heads, axis=-1)
    colour = theme.ROLES["value"]
    figure = sheet.Sheet(
        sheet.bar(
            x=[str(head) for head in range(len(lengths))],
            y=lengths.astype(np.float32),
            marker={"color": [theme.rgba(colour, 1.0 if head == selected else 0.4) for head in range(len(lengths))]},
            hovertemplate=f"{theme.plain(names['head'])} %{{x}}<br><b>%{{y:.4f}}</b><extra></extra>",
        )
    )
    theme.layout(figure, height=54 + 60 * 3)
    figure.update_xaxes(type="category", title=theme.plain(names["head"]), fixedrange=True)
    figure.update_yaxes(title=theme.plain(names["length"]), fixedrange=True, nticks=5)
    return figure.drawn()


# Decoding


class DecodingView(NamedTuple):
    """A window of decoding steps around the newest; ``first`` is its first step, ``newest`` counts in the window.

    ``own`` are the tokens the model says by itself, None where it has ended before.
    """

    steps: tuple[cross.Step, ...]
    own: tuple[Token | None, ...]
    first: int
    newest: int

    @classmethod
    def of(cls, steps: Sequence[cross.Step], own: Sequence[Token], newest: int, most: int = 12) -> DecodingView:
        shown = around(newest, len(steps), most)
        filled = [own[i] if i < len(own) else None for i in range(shown.start, shown.stop)]
        return cls(tuple(steps[shown]), tuple(filled), shown.start, newest - shown.start)


_READS, _COMES, _PREDICTS, _SAYS = range(len(COLUMNS))


def draw_decoding(view: DecodingView, names: Mapping[str, str]) -> go.Figure:
    """One row a step: what the decoder reads, what it predicts, what the target has next, what the model would say.

    A line joins each token of the target to its place as the next step's input: the shift by one.
    """
    sketch, size = _Sketch(), len(view.steps)
    hovered: list[tuple[int, int, str]] = []

    def cell(column: int, row: int, token: Token, extra: str, colour: str, alpha: float, hit: bool) -> None:
        later = row > view.newest
        shade = theme.rgba(colour, alpha * (0.5 if later else 1.0))
        edge = theme.rgba(colour, 1.0 if hit else 0.0)
        sketch.box((column - 0.44, column + 0.44), (row - 0.36, row + 0.36), edge, 1.5, shade)
        sketch.write(column, row, theme.shorten(token.label, 12), opacity=0.55 if later else 1.0)
        name, more = theme.plain(names[COLUMNS[column]]), f"<br><b>{theme.plain(extra)}</b>" if extra else ""
        hovered.append((column, row, f"{name}<br>{theme.plain(token.label)}{more}"))

    for row, (step, own) in enumerate(zip(view.steps, view.own, strict=True)):
        position, (guess, chance) = view.first + row, step.guesses[0]
        sketch.write(-0.72, row, str(position), font={"size": 11})
        cell(_READS, row, step.reads, "", theme.token_colour(position), 0.2, False)
        cell(_PREDICTS, row, guess, percent(chance), theme.ROLES["output"], 0.12 + 0.5 * chance, step.hit)
        if step.came is not None:
            colour, said = theme.token_colour(position + 1), f"{percent(step.probability)} · #{step.rank}"
            cell(_COMES, row, step.came, said, colour, 0.2, step.hit)
            if row + 1 < size:
                sketch.line((_COMES - 0.44, row), (_READS + 0.44, row + 1), colour)
        if own is not None:
            same = step.came is not None and own.id == step.came.id
            cell(_SAYS, row, own, "", theme.ROLES["residual"], 0.2, same)
    for column, key in enumerate(COLUMNS):
        sketch.write(column, -0.75, f"<b>{theme.plain(names[key])}</b>")
    newest = (view.newest - 0.46, view.newest + 0.46)
    sketch.box((-0.5, 3.5), newest, theme.HIGHLIGHT, 2, theme.rgba(theme.HIGHLIGHT, 0.0))
    columns, rows, texts = zip(*hovered, strict=True)
    sketch.add_trace(
        sheet.scatter(
            x=columns,
            y=rows,
            text=texts,
            mode="markers",
            marker={"size": 24, "opacity": 0},
            hovertemplate="%{text}<extra></extra>",
        )
    )
    sketch.update_xaxes(visible=False, fixedrange=True, range=[-0.95, 3.55])
    sketch.update_yaxes(visible=False, fixedrange=True, range=[size - 0.45, -1.15])
    return theme.layout(sketch, height=58 + 32 * size, margin={"l": 2, "r": 2}).drawn()


def draw_guesses(step: cross.Step, position: int) -> go.Figure:
    """The most probable tokens after ``position``; the one that the target has next is outlined."""
    labels = tuple(token.label for token, _ in step.guesses)
    rows, shares = theme.unique(labels), [p for _, p in step.guesses]
    came = [step.came is not None and token.id == step.came.id for token, _ in step.guesses]
    figure = sheet.Sheet(
        sheet.bar(
            y=rows,
            x=shares,
            orientation="h",
            meta=Cells("probs", (position, ROW), rows=tuple(token.id for token, _ in step.guesses)).meta,
            marker={
                "color": theme.ROLES["output"],
                "line": {"color": theme.INK, "width": [2 if hit else 0 for hit in came]},
            },
            hovertemplate="%{y}<br><b>%{x:.4%}</b><extra></extra>",
        )
    )
    for row, share in zip(rows, shares, strict=True):
        figure.add_annotation(
            x=share, y=row, text=percent(share), showarrow=False, xanchor="left", xshift=5, font={"size": 12}
        )
    theme.layout(figure, height=24 + 27 * len(rows))
    figure.update_yaxes(type="category", autorange="reversed", fixedrange=True, **theme.ticks(labels))
    figure.update_xaxes(visible=False, range=[0, 1.28 * max(shares)], fixedrange=True)
    return figure.drawn()


def row_strip(pattern: np.ndarray, labels: Sequence[str], name: str, cells: Cells | None = None) -> strips.StripsView:
    """One row of a pattern as bars over the source: all of it, or the window that is read most."""
    shown = window(pattern, MOST_COLUMNS)
    which = None if cells is None else cells._replace(columns=span_of(shown))
    bars = strips.scaled(name, pattern[shown], "bars", cells=which)
    return strips.StripsView((bars,), tuple(labels[shown]), 190, span_of(shown), written=True)


# How the two halves are joined

MOST_BLOCKS = 5


class WiringView(NamedTuple):
    """The boxes of an encoder–decoder, each stack from the bottom up; None stands for the blocks left out.

    ``layer`` is the decoder's block that is drawn open.
    """

    encoder: tuple[int | None, ...]
    decoder: tuple[int | None, ...]
    layer: int
    sizes: tuple[int, int, int]

    @classmethod
    def of(cls, config: ModelConfig, layer: int, n_source: int, n_target: int) -> WiringView:
        return cls(
            encoder=_folded(config.depth("encoder"), config.depth("encoder") - 1),
            decoder=_folded(config.depth("decoder"), layer),
            layer=layer,
            sizes=(n_source, n_target, config.d_model),
        )


def _folded(depth: int, kept: int) -> tuple[int | None, ...]:
    """The blocks of a stack from the bottom up: all of a small one, else the ends and one more."""
    if depth <= MOST_BLOCKS:
        return tuple(range(depth))
    shown = sorted({0, kept, depth - 1})
    found: list[int | None] = []
    for n, block in enumerate(shown):
        if n and block > shown[n - 1] + 1:
            found.append(None)
        found.append(block)
    return tuple(found)


_FOLDED = "⋮"


class _Box(NamedTuple):
    text: str
    role: str
    block: int | None = None  # of the decoder: where the encoder's vectors enter it
    strong: bool = False


def draw_wiring(view: WiringView, names: Mapping[str, str]) -> go.Figure:
    """Two towers of boxes: the encoder's last vectors go as keys and values to every block of the decoder.

    ``names`` are :data:`WIRES`.
    """
    n_source, n_target, width = view.sizes

    def block(i: int | None) -> str:
        return _FOLDED if i is None else f"{names['block']} {i}"

    left = [_Box(f"{names['source']}  [{n_source}]", "token")]
    left += [_Box(block(i), "residual") for i in view.encoder]
    left.append(_Box(f"{names['vectors']}  [{n_source}×{width}]", "residual", strong=True))
    right = [_Box(f"{names['target']}  [{n_target}]", "token")]
    for i in view.decoder:
        if i == view.layer:
            right.append(_Box(f"{block(i)}: {names['self']}", "residual", strong=True))
            right.append(_Box(names["cross"], "pattern", i, strong=True))
            right.append(_Box(names["ffn"], "ffn", strong=True))
        else:
            right.append(_Box(block(i), "residual", i))
    right.append(_Box(names["logits"], "output"))
    sketch, spans = _Sketch(), ((0.0, 0.38), (0.56, 1.0))
    for boxes, (x0, x1) in zip((left, right), spans, strict=True):
        middle = (x0 + x1) / 2
        for y, box in enumerate(boxes):
            colour = theme.ROLES[box.role]
            if box.text != _FOLDED:
                shade = theme.rgba(colour, 0.22 if box.strong else 0.1)
                sketch.box((x0, x1), (y - 0.34, y + 0.34), colour, 2 if box.strong else 1, shade)
            sketch.write(middle, y, theme.plain(box.text))
            if y:
                sketch.arrow((middle, y - 0.66), (middle, y - 0.36), theme.ROLES["residual"])
    top, bus = len(left) - 1, 0.47
    enters = [y for y, box in enumerate(right) if box.block is not None]
    # Two rails, one of keys and one of values, from the encoder's top to every block of the decoder.
    for role, shift, off in (("key", -0.012, -0.07), ("value", 0.012, 0.07)):
        colour, rail = theme.ROLES[role], bus + shift
        ends = [top + off, *(y + off for y in enters)]
        sketch.line((spans[0][1], top + off), (rail, top + off), colour)
        sketch.line((rail, min(ends)), (rail, max(ends)), colour)
        for y in enters:
            sketch.arrow((rail, y + off), (spans[1][0], y + off), colour)
    opened = next(y for y, box in enumerate(right) if box.block == view.layer)
    sketch.arrow((0.66, opened - 0.66), (0.66, opened - 0.36), theme.ROLES["query"])
    sketch.write(bus, max(top, *enters) + 0.42, theme.plain(names["keys"]))
    sketch.write(0.67, opened - 0.5, theme.plain(names["query"]), xanchor="left")
    tall = max(len(left), len(right))
    sketch.update_xaxes(visible=False, fixedrange=True, range=[-0.01, 1.01])
    sketch.update_yaxes(visible=False, fixedrange=True, range=[-0.5, tall - 0.2])
    return theme.layout(sketch, height=40 + 42 * tall, margin={"l": 2, "r": 2}).drawn()


class _Sketch(sheet.Sheet):
    """Boxes, arrows and writing."""

    def box(self, x: tuple[float, float], y: tuple[float, float], edge: str, width: float, fill: str) -> None:
        corners = {"x0": x[0], "x1": x[1], "y0": y[0], "y1": y[1]}
        self.add_shape(type="rect", **corners, line={"color": edge, "width": width}, fillcolor=fill)

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        ends = {"x0": start[0], "y0": start[1], "x1": end[0], "y1": end[1]}
        self.add_shape(type="line", **ends, line={"color": colour, "width": 2})

    def write(self, x: float, y: float, text: str, **options: Any) -> None:
        options = {"font": {"size": 12, "color": theme.INK}, **options}
        self.add_annotation(x=x, y=y, text=text, showarrow=False, **options)

    def arrow(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        places = {"x": end[0], "y": end[1], "ax": start[0], "ay": start[1]}
        axes = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
        look = {"arrowhead": 2, "arrowwidth": 1.6, "arrowcolor": colour, "showarrow": True, "text": ""}
        self.add_annotation(**places, **axes, **look)


# By hand


def by_hand(trace: Trace, layer: int, head: int, query: int) -> dict[str, str]:
    """The arithmetic of one reading, for prose: the query's row, and the key it reads most."""
    steps, written = cross.steps(trace, layer, head, query), cross.written(trace, layer, query)
    key = int(steps.pattern.argmax())
    products = steps.query * steps.keys[key]
    largest = np.argsort(-np.abs(products))[:3]
    rest = float(products.sum() - products[largest].sum())
    exponentials = np.exp(steps.masked - steps.masked.max())
    heaviest = np.sort(np.argsort(-steps.pattern)[:4])
    terms = [f"{steps.pattern[i]:.3f} \\cdot {theme.signed(steps.values[i, 0], 3)}" for i in heaviest]
    others = float((steps.pattern * steps.values[:, 0]).sum() - (steps.pattern * steps.values[:, 0])[heaviest].sum())
    off = cross.differences(trace, layer, head, query)
    return {
        "terms": " + ".join(
            f"{theme.signed(steps.query[d], 3)} \\cdot {theme.signed(steps.keys[key, d], 3)}" for d in largest
        ),
        "rest": theme.signed(rest, 3),
        "n_rest": str(len(products) - len(largest)),
        "product": f"{products.sum():.4f}",
        "d_head": str(len(products)),
        "root": f"{len(products) ** 0.5:.4f}",
        "score": f"{steps.scores[key]:.4f}",
        "top": f"{steps.masked.max():.4f}",
        "exponential": f"{exponentials[key]:.4f}",
        "total": f"{exponentials.sum():.4f}",
        "weight": f"{steps.pattern[key]:.4f}",
        "mixed": " + ".join(terms) + (f" + {theme.signed(others, 3)}" if len(steps.pattern) > len(heaviest) else ""),
        "z0": f"{(steps.pattern * steps.values[:, 0]).sum():.4f}",
        "recorded": f"{steps.z[0]:.4f}",
        "writes": " + ".join(theme.signed(part, 3) for part in written.heads[:, 0]),
        "bias": theme.signed(written.bias[0], 3),
        "out": f"{written.out[0]:.4f}",
        "before": theme.signed(written.before[0]),
        "added": theme.signed(written.out[0]),
        "sum": f"{written.before[0] + written.out[0]:.4f}",
        "after": f"{written.after[0]:.4f}",
        **{f"off_{name}": f"{value:.1e}" if value else "0" for name, value in off._asdict().items()},
    }
