"""Attention: all heads of a layer, one head in large, and the steps of one query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import ModelConfig
from viz_model.drawing import heatmap, theme
from viz_model.drawing.cells import COLUMN, ROW, Cells, Index, span_of
from viz_model.drawing.spans import around
from viz_model.drawing.strips import Strip, StripsView, scaled, steps, top_of
from viz_model.runs.trace import Trace
from viz_model.topics.attention.numbers import heads, masks

KINDS = heads.KINDS
GRID_SIZE = 64
"""Cells along a side of a small map at the most; longer texts are pooled, so the payload stays the same."""

GRID_CELLS = 64_000
"""Cells of all small maps together: 4 bytes each on their way to the browser."""


class GridView(NamedTuple):
    """All heads of a layer: patterns float32 [H, S, S], pooled by maximum from T to S ≤ 64 cells.

    ``hidden`` is boolean [S, S], True where the mask hides every cell that was pooled. ``labels``
    name the S rows and columns; ``pool`` tokens share one cell. ``groups`` are the query heads
    that share each key–value head; each stands alone where none is shared. ``marks`` are the
    control tokens of this text.
    """

    patterns: np.ndarray
    hidden: np.ndarray
    labels: tuple[str, ...]
    summaries: tuple[heads.HeadSummary, ...]
    groups: tuple[range, ...]
    marks: tuple[str, ...]
    pool: int
    site: str

    @classmethod
    def of(cls, trace: Trace, layer: int) -> GridView:
        site, config = f"blocks.{layer}.attn.pattern", trace.config
        visible, marks = masks.of_run(trace, layer).numpy(), heads.marks(trace)
        size = min(GRID_SIZE, math.isqrt(GRID_CELLS // config.n_heads))
        pool = -(-len(trace) // size)
        patterns, summaries = [], []
        for head in range(config.n_heads):  # one T×T matrix at a time
            pattern = trace.head(site, head).numpy()
            patterns.append(pool_max(pattern, pool).astype(np.float32))
            summaries.append(heads.summarise(pattern, visible, marks))
        labels = tuple(token.label for token in trace.tokens)
        if pool > 1:
            spans = [labels[i : i + pool] for i in range(0, len(labels), pool)]
            labels = tuple(f"{span[0]} … {span[-1]}" if len(span) > 1 else span[0] for span in spans)
        shared = config.n_heads // config.n_kv_heads
        return cls(
            patterns=np.stack(patterns),
            hidden=~pool_max(visible, pool),
            labels=labels,
            marks=tuple(dict.fromkeys(trace.tokens[position].label for position in marks)),
            summaries=tuple(summaries),
            groups=tuple(range(first, first + shared) for first in range(0, config.n_heads, shared)),
            pool=pool,
            site=site,
        )


def scene(view: GridView, selected: int) -> tuple[dict[str, Any], np.ndarray]:
    """What the browser draws of the grid: a header, and the patterns."""
    header = {
        "size": view.patterns.shape[-1],
        "pool": view.pool,
        "labels": view.labels,
        "heads": [summary.kind for summary in view.summaries],
        "groups": [list(group) for group in view.groups] if len(view.groups) < len(view.summaries) else [],
        "selected": selected,
        "site": view.site,
        "hidden": ["".join("01"[cell] for cell in row) for row in view.hidden.tolist()],
        "colour": theme.rgb("pattern"),
        "shared": theme.ROLES["key"],
    }
    return header, view.patterns


def pool_max(values: np.ndarray, pool: int) -> np.ndarray:
    """[T, T] -> [S, S]: the largest value of each pool × pool square, so that no spike is lost."""
    if pool == 1:
        return values
    length = len(values)
    size = -(-length // pool)
    padded = np.zeros((size * pool, size * pool), dtype=values.dtype)
    padded[:length, :length] = values
    return padded.reshape(size, pool, size, pool).max(axis=(1, 3))


MATRICES = ("scores", "bias", "mask", "masked", "pattern")
"""The T×T values of a head, in the order in which they are made."""

LARGEST = 88
"""Positions along a side of the large map; of longer texts those around the chosen token are shown, or all, pooled."""


MOST_LINES, LINE_PITCH = 20, 26
"""Positions on either side of the lines at the most, and the pixels that each takes."""


def matrices(trace: Trace, layer: int) -> tuple[str, ...]:
    """Those of :data:`MATRICES` that this model has."""
    return tuple(name for name in MATRICES if f"blocks.{layer}.attn.{name}" in trace)


def sight(trace: Trace, layer: int) -> str:
    """Whom the queries of a layer see in this model: "causal", "two_way", or either within a "window"."""
    side = trace.stack.side
    if trace.config.window(side, layer):
        return "window_two_way" if side == "encoder" else "window"
    return "two_way" if side == "encoder" else "causal"


def head_view(
    trace: Trace,
    layer: int,
    head: int,
    token: int,
    axes: tuple[str, str],
    matrix: str = "pattern",
    most: int = LARGEST,
) -> heatmap.HeatmapView:
    """One of a head's :data:`MATRICES`, [Tq, Tk], of up to ``most`` positions around the chosen token.

    ``axes`` names rows and columns.

    In the pattern, masked cells are exactly 0 and shown as masked, because they are no small
    weights: the softmax never had a choice there.
    """
    site = f"blocks.{layer}.attn.{matrix}"
    shown = around(token, len(trace), most)
    values = trace.head(site, head).numpy()[shown, shown]
    if matrix == "pattern":
        values = np.where(masks.of_run(trace, layer).numpy()[shown, shown], values, np.nan)
    labels = tuple(t.label for t in trace.tokens[shown])
    return heatmap.HeatmapView(
        values=values,
        rows=labels,
        columns=labels,
        site=f"{trace.full_name(site)}[{head}]",
        role="position" if matrix == "bias" else "pattern",
        scale="probability" if matrix == "pattern" else "signed",
        row_axis=axes[0],
        column_axis=axes[1],
        selected_row=token - shown.start,
        cells=Cells(site, (head, ROW, COLUMN), span_of(shown), span_of(shown)),
    )


FORMS = ("", "_normed", "_rotated")
"""What may become of a query or key before scores are made of it, in order."""


class FormsView(NamedTuple):
    """One query and one key in each form they take: as projected, normalised, rotated.

    ``queries`` and ``keys`` are [F, K]; ``products`` [F, T] are the dot products of the query with
    every key in the same form; ``visible`` [T] says which keys the query sees. ``cells`` by letter, "q" and "k",
    say for each form which numbers of the run these are.
    """

    forms: tuple[str, ...]
    query: int
    key: int
    queries: np.ndarray
    keys: np.ndarray
    products: np.ndarray
    visible: np.ndarray
    cells: Mapping[str, tuple[Cells, ...]] = MappingProxyType({})

    @classmethod
    def of(cls, trace: Trace, layer: int, head: int, query: int, key: int) -> FormsView:
        at = f"blocks.{layer}.attn."
        forms = tuple(form for form in FORMS if f"{at}q{form}" in trace)
        every = [(trace.head(f"{at}q{form}", head)[query], trace.head(f"{at}k{form}", head)) for form in forms]
        group, _ = heads.shared_with(trace.config, head)
        rows: dict[str, Index] = {"q": (head, query, COLUMN), "k": (group, key, COLUMN)}
        return cls(
            forms=forms,
            query=query,
            key=key,
            queries=np.stack([q.numpy() for q, _ in every]),
            keys=np.stack([k[key].numpy() for _, k in every]),
            products=np.stack([(k @ q).numpy() for q, k in every]),
            visible=masks.of_run(trace, layer)[query].numpy(),
            cells={
                letter: tuple(Cells(f"{at}{letter}{form}", index) for form in forms) for letter, index in rows.items()
            },
        )

    def facts(self, form: str) -> dict[str, str]:
        """For prose: lengths, product and the spread of products, before a form was taken and in it."""
        now = self.forms.index(form)
        said: dict[str, str] = {}
        for name, n in (("before", now - 1), ("after", now)):
            seen = self.products[n][self.visible]
            said |= {
                f"q_{name}": f"{np.linalg.norm(self.queries[n]):.2f}",
                f"k_{name}": f"{np.linalg.norm(self.keys[n]):.2f}",
                f"product_{name}": f"{self.products[n, self.key]:.2f}",
                f"low_{name}": f"{seen.min():.2f}",
                f"high_{name}": f"{seen.max():.2f}",
            }
        return said

    @property
    def notes(self) -> dict[str, str]:
        """What happened on the way to each form after the first: normed, rotated, or rotated and stretched."""
        found = {}
        for n, form in enumerate(self.forms[1:], start=1):
            before, after = (
                np.linalg.norm([vectors[at] for vectors in (self.queries, self.keys)], axis=-1) for at in (n - 1, n)
            )
            kept = np.allclose(before, after, rtol=1e-3)
            found[form] = "_stretched" if form == "_rotated" and not kept else form
        return found


def form_strips(view: FormsView, names: Mapping[str, str], lengths: Mapping[str, str]) -> StripsView:
    """A strip of K cells for the query and the key in each form, with its length behind it.

    ``names`` has a name for ``q`` and ``k`` in each form, such as "q_normed"; ``lengths`` has "length", to which
    the length is added, and "axis". All strips of a form share one colour scale.
    """
    tops = [top_of(np.stack([view.queries[n], view.keys[n]])) for n in range(len(view.forms))]
    found = [
        Strip(
            name=names[letter + form],
            values=vectors[n],
            top=tops[n],
            cells=view.cells[letter][n] if view.cells else None,
            behind=f"{lengths['length']} {np.linalg.norm(vectors[n]):.2f}",
        )
        for letter, vectors in (("q", view.queries), ("k", view.keys))
        for n, form in enumerate(view.forms)
    ]
    columns = tuple(str(dimension) for dimension in range(view.queries.shape[-1]))
    return StripsView(tuple(found), columns, 56 + 34 * len(found), column_axis=lengths["axis"])


MAX_WRITTEN = 16
"""Keys of one query that are drawn at the most, so that every cell has room for its number."""


class StepsView(NamedTuple):
    """One query's way from dot products to a mixed value. Arrays over the keys are [T].

    ``products`` q·k of the form that this model makes scores of; ``scores`` after ÷√K, where it
    divides; ``bias`` what its position scheme adds, or None; ``mask`` 0 or −∞; ``masked`` the sum
    of all three; ``pattern`` after softmax; ``values`` the value vectors [T, K], ``z`` their
    weighted sum [K]. ``at`` is what the names of the layer's values begin with.
    """

    labels: tuple[str, ...]
    query: int
    form: str
    scaled: bool
    products: np.ndarray
    scores: np.ndarray
    bias: np.ndarray | None
    mask: np.ndarray
    masked: np.ndarray
    pattern: np.ndarray
    values: np.ndarray
    z: np.ndarray
    d_head: int
    at: str = ""
    head: int = 0

    @classmethod
    def of(cls, trace: Trace, layer: int, head: int, query: int) -> StepsView:
        at = f"blocks.{layer}.attn."
        form = next(form for form in reversed(FORMS) if f"{at}q{form}" in trace)
        row = {name: trace.head(at + name, head)[query].numpy() for name in ("scores", "mask", "masked", "pattern")}
        q, k = trace.head(f"{at}q{form}", head)[query], trace.head(f"{at}k{form}", head)
        return cls(
            labels=tuple(token.label for token in trace.tokens),
            query=query,
            form=form,
            scaled=trace.config.scale_scores,
            products=(k @ q).numpy(),
            bias=trace.head(f"{at}bias", head)[query].numpy() if f"{at}bias" in trace else None,
            **row,
            values=trace.head(at + "v", head).numpy(),
            z=trace.head(at + "z", head)[query].numpy(),
            d_head=trace.config.d_head,
            at=at,
            head=head,
        )

    def cells(self, step: str) -> Cells | None:
        """Which numbers a row of :meth:`rows` shows, in the columns of :meth:`shown`.

        Products are no value of their own: they are the first step of the scores.
        """
        if not self.at:
            return None
        site = "scores" if step.startswith("products") else step.removesuffix("_bias")
        return Cells(f"{self.at}{site}", (self.head, self.query, COLUMN), columns=span_of(self.shown()))

    def rows(self) -> dict[str, np.ndarray]:
        """The rows over the keys that this model has, by the key of their name, in order."""
        found = {f"products{self.form}": self.products}
        if self.scaled:
            found["scores"] = self.scores
        if self.bias is not None:
            found["bias"] = self.bias
        found["masked" if self.bias is None else "masked_bias"] = self.masked
        return {**found, "pattern": self.pattern}

    def shown(self, most: int = MAX_WRITTEN) -> np.ndarray:
        """Positions of the keys to draw: of long texts the query's own and those of most weight.

        One key that the mask hides stands among them, where there is one.
        """
        length = len(self.labels)
        if length <= most:
            return np.arange(length)
        hidden = np.flatnonzero(~np.isfinite(self.mask))
        example = hidden[np.abs(hidden - self.query).argsort(kind="stable")[:1]]
        rest = np.setdiff1d(np.flatnonzero(np.isfinite(self.mask)), [self.query])
        rest = rest[np.argsort(-self.pattern[rest], kind="stable")[: most - 1 - len(example)]]
        return np.sort(np.concatenate([[self.query], example, rest])).astype(int)


STEPS = ("products", "products_normed", "products_rotated", "scores", "bias", "masked", "masked_bias", "pattern")
"""The keys that :meth:`StepsView.rows` may hold."""


def step_strips(view: StepsView, names: Mapping[str, str]) -> StripsView:
    """Rows of aligned cells, one column a key, and the weighted value vectors as bars below.

    ``names`` has a name for each of :data:`STEPS`, and for the bars, "weighted". Of long texts
    only the keys of :meth:`StepsView.shown` are drawn.
    """
    shown = view.shown()
    found = [
        scaled(names[step], values[shown], "share" if step == "pattern" else "signed", cells=view.cells(step))
        for step, values in view.rows().items()
    ]
    weighted = np.linalg.norm(view.pattern[shown, None] * view.values[shown], axis=-1)
    found.append(scaled(names["weighted"], weighted, "bars", role="value"))
    return steps(found, [view.labels[position] for position in shown], span_of(shown))


def hand_parts(view: StepsView, config: ModelConfig) -> tuple[str, ...]:
    """The steps of the arithmetic by hand, such as this model takes them, by the key of their prose."""
    return (
        f"product{view.form}",
        "scale" if view.scaled else "no_scale",
        *(() if view.bias is None else ("bias",)),
        "mask",
        "softmax",
        "mix",
        "heads" if config.attention_bias else "heads_no_bias",
    )


def heads_text(config: ModelConfig) -> str:
    """Which prose on the heads' widths is true: they make up the model's width, or have one of their own."""
    return "heads" if config.n_heads * config.d_head == config.d_model else "heads_free"


def sizes(config: ModelConfig) -> dict[str, str]:
    """For prose: the sizes of the heads."""
    return {
        "n_heads": str(config.n_heads),
        "d_head": str(config.d_head),
        "d_heads": str(config.n_heads * config.d_head),
        "d_model": str(config.d_model),
    }


def span(group: range) -> str:
    """The heads of a group: ``3–5``."""
    return f"{group[0]}–{group[-1]}"


def shared_facts(config: ModelConfig, head: int) -> dict[str, str]:
    """For prose: with whom a query head shares its keys and values; empty where it does not."""
    group, sharing = heads.shared_with(config, head)
    if len(sharing) == 1:
        return {}
    return {
        "group": str(group),
        "heads": span(sharing),
        "n_heads": str(config.n_heads),
        "n_kv_heads": str(config.n_kv_heads),
        "times": str(len(sharing)),
    }


FORMULAS = ("q", "k", "v", "q_normed", "k_normed", "q_rotated", "k_rotated", *MATRICES[:3], "pattern", "z", "out")
"""Sites of attention whose formulas are shown, where the model has them."""


def formulas(trace: Trace, layer: int) -> tuple[str, ...]:
    """The full names of those of :data:`FORMULAS` that this model has."""
    names = (f"blocks.{layer}.attn.{name}" for name in FORMULAS)
    return tuple(name for name in names if name in trace)


def code(trace: Trace, layer: int) -> tuple[str, ...]:
    """The sites of attention in the order in which their code is offered: the pattern, then all as they are made."""
    at = f"blocks.{layer}.attn."
    return (f"{at}pattern", *(name for name in trace.sites if name.startswith(at) and name != f"{at}pattern"))


MAX_TERMS = 4
"""Terms of a sum that are written out: those of largest magnitude."""


def _sum(terms: Mapping[int, str], sizes: np.ndarray) -> str:
    """The largest terms in their order, in LaTeX, with dots where some are left out."""
    largest = sorted(sorted(terms, key=lambda n: -abs(sizes[n]))[:MAX_TERMS])
    dots = r"\dots + " if len(largest) < len(terms) else ""
    return dots + " + ".join(terms[n] for n in largest)


def by_hand(view: StepsView, key: int) -> dict[str, str]:
    """The arithmetic of one cell, for prose: the query's row and the given key, which it sees."""
    exponentials = np.exp(view.masked - view.masked.max())
    seen = np.flatnonzero(np.isfinite(view.mask)).tolist()
    terms = {j: rf"{view.pattern[j]:.3f} \cdot {theme.signed(view.values[j, 0], 3)}" for j in seen}
    bias = 0.0 if view.bias is None else view.bias[key]
    return {
        "product": f"{view.products[key]:.4f}",
        "d_head": str(view.d_head),
        "root": f"{view.d_head**0.5:.4f}",
        "score": f"{view.scores[key]:.4f}",
        "bias": theme.signed(bias),
        "masked": f"{view.masked[key]:.4f}",
        "top": theme.signed(view.masked.max()),
        "n_seen": str(len(seen)),
        "exponential": f"{exponentials[key]:.4f}",
        "total": f"{exponentials.sum():.4f}",
        "weight": f"{view.pattern[key]:.4f}",
        "terms": _sum(terms, view.pattern),
        "z0": f"{view.pattern @ view.values[:, 0]:.4f}",
        "recorded": f"{view.z[0]:.4f}",
    }


def heads_by_hand(trace: Trace, layer: int, query: int) -> dict[str, str]:
    """The sum over heads, for prose: what each writes into dimension 0 of the query's stream."""
    at = f"blocks.{layer}.attn."
    written = trace.row(at + "head_out", query)[:, 0].numpy()
    o = trace.stack.block(layer).attn.o
    bias = 0.0 if o.bias is None else o.bias[0].item()
    return {
        "writes": _sum({h: theme.signed(part, 3) for h, part in enumerate(written)}, written),
        "output_bias": theme.signed(bias, 3),
        "written": f"{written.sum() + bias:.4f}",
        "out": f"{trace[at + 'out'][query, 0].item():.4f}",
    }
