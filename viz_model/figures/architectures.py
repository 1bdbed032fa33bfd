"""Architectures: two models side by side, where their parameters are, what a KV cache holds, who sees whom.

The two models are told apart by colour, marker and name; what differs between them by a mark (≠)
and a heavier outline.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.analysis import architectures, parameters
from viz_model.analysis.parameters import Node
from viz_model.analysis.references import REFERENCES
from viz_model.config import Kind, ModelConfig, Side
from viz_model.figures import heatmap, theme
from viz_model.figures.next_token import percent
from viz_model.language_model import LanguageModel
from viz_model.model import Transformer
from viz_model.trace import Trace

Words = Callable[..., str]

COLOURS = ("#4F7BEA", "#D6246E")
SYMBOLS = ("circle", "square")
SMALL = 12


def short(n: float) -> str:
    """A large number to three digits: 849, 3.41 M, 14.8 B."""
    for limit, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if n >= limit:
            return f"{n / limit:.3g} {unit}" if n < 999.5 * limit else f"{n / limit:,.0f} {unit}"
    return f"{n:,.0f}"


def byte_size(n: float) -> str:
    """Bytes to three digits, in powers of 1024: 768 B, 4.5 KiB, 1.25 GiB."""
    for limit, unit in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if n >= limit:
            return f"{n / limit:.3g} {unit}" if n < 999.5 * limit else f"{n / limit:,.0f} {unit}"
    return f"{n:,.0f} B"


# One block of each


class Stack(NamedTuple):
    """A stack of blocks, as a config describes it."""

    config: ModelConfig
    side: Side


class DiagramView(NamedTuple):
    """The plan of one stack, laid out beside another's.

    ``slots`` are the places that either plan uses, from the bottom up, so that the same step
    stands at the same height in both; ``differing`` are those where the two do not agree.
    """

    elements: Mapping[str, architectures.Element]
    slots: tuple[str, ...]
    differing: frozenset[str]
    n_layers: int
    n_heads: int
    n_kv_heads: int

    @classmethod
    def pair(cls, first: Stack, second: Stack) -> tuple[DiagramView, DiagramView]:
        """Two stacks, each laid out so that it can stand beside the other."""
        plans = [architectures.plan(stack.config, stack.side) for stack in (first, second)]
        used = {element.key for plan in plans for element in plan}
        slots = tuple(place for place in architectures.PLACES if place in used)
        differing = architectures.differing(*plans)

        def view(plan: Sequence[architectures.Element], stack: Stack) -> DiagramView:
            config = stack.config
            elements = {element.key: element for element in plan}
            return cls(elements, slots, differing, config.depth(stack.side), config.n_heads, config.n_kv_heads)

        return view(plans[0], first), view(plans[1], second)

    def heights(self) -> dict[str, tuple[float, float]]:
        """The bottom and top of every slot; sub-layers stand a little apart."""
        found, y, group = {}, 0.0, "embed"
        for slot in self.slots:
            if slot.partition(".")[0] != group:
                group, y = slot.partition(".")[0], y + 0.7
            tall = 2.0 if slot.endswith(".heads") else 0.8
            found[slot] = (y, y + tall)
            y += tall + 0.3
        return found


_STREAM, _BRANCH, _RIGHT = 0.5, 2.3, 3.3
_MOST_SQUARES = 48


def draw_diagram(view: DiagramView, words: Words, name: str, which: int) -> go.Figure:
    """One stack from the bottom up, its block in a frame. ``which`` is 0 or 1: the model's colour."""
    figure = go.Figure()
    # Gathered and handed over at once: Plotly copies all shapes for every one that is added.
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    grey, at = theme.ROLES["residual"], view.heights()
    top = max(high for _, high in at.values())

    def add_shape(**shape: Any) -> None:
        shapes.append(shape)

    def add_note(**note: Any) -> None:
        notes.append(note)

    def line(x0: float, y0: float, x1: float, y1: float, **more: Any) -> None:
        add_shape(type="line", x0=x0, y0=y0, x1=x1, y1=y1, layer="below", line={"color": grey, "width": 2, **more})

    def write(x: float, y: float, text: str, **more: Any) -> None:
        font = {"size": SMALL, "color": theme.INK, **more.pop("font", {})}
        add_note(x=x, y=y, text=text, showarrow=False, **{"font": font, **more})

    def box(slot: str, x0: float, x1: float, element: architectures.Element | None) -> None:
        low, high = at[slot]
        differs = slot in view.differing
        colour = theme.ROLES[element.role] if element else grey
        add_shape(
            type="rect",
            **{"x0": x0, "x1": x1, "y0": low, "y1": high},
            line={"color": colour, "width": 3 if differs and element else 1, "dash": "solid" if element else "dot"},
            fillcolor=theme.rgba(colour, 0.18 if element else 0.0),
        )
        if element:
            write((x0 + x1) / 2, high - 0.4, theme.plain(words(element.said, **element.values)))
        if differs:
            write(x1, high - 0.02, "<b>≠</b>", yanchor="middle", bgcolor=theme.HIGHLIGHT, font={"color": "#ffffff"})
        if slot.endswith(".heads") and element:
            shapes.extend(_head_shapes(view, (x0, x1), (low + 0.12, low + 1.2)))

    drawn: list[tuple[float, float]] = []  # boxes that stand on the stream, which is drawn around them
    for slot in view.slots:
        group, _, step = slot.partition(".")
        element = view.elements.get(slot)
        if group in ("embed", "end"):
            box(slot, 0.0, _RIGHT, element)
            drawn += [at[slot]] if element else []
        elif step == "norm_post" and f"{group}.add" in view.elements:
            box(slot, 0.0, 2 * _STREAM, element)
            drawn += [at[slot]] if element else []
    blocks = [slot for slot in view.slots if slot.partition(".")[0] in architectures.SUBLAYERS]
    for sub in architectures.SUBLAYERS:
        slots = [slot for slot in blocks if slot.startswith(f"{sub}.") and not slot.endswith("norm_post")]
        if not slots:
            continue
        bottom, plus = at[slots[0]][0], sum(at[f"{sub}.add"]) / 2
        if f"{sub}.add" not in view.elements:
            write(_BRANCH, (bottom + plus) / 2, f"<i>{theme.plain(words(f'plan_without_{sub}'))}</i>")
            write(_RIGHT, (bottom + plus) / 2, "<b>≠</b>", bgcolor=theme.HIGHLIGHT, font={"color": "#ffffff"})
            continue
        line(_STREAM, bottom - 0.22, _BRANCH, bottom - 0.22)
        y = bottom - 0.22
        for slot in slots[:-1]:
            if slot in view.elements:
                line(_BRANCH, y, _BRANCH, at[slot][0])
                y = at[slot][1]
            box(slot, 1.3, _RIGHT, view.elements.get(slot))
        line(_BRANCH, y, _BRANCH, plus)
        add_note(
            **{"x": _STREAM + 0.13, "y": plus, "ax": _BRANCH, "ay": plus},
            **{"xref": "x", "yref": "y", "axref": "x", "ayref": "y"},
            **{"text": "", "showarrow": True, "arrowhead": 2, "arrowwidth": 2, "arrowcolor": grey},
        )
        figure.add_trace(
            go.Scatter(
                x=[_STREAM],
                y=[plus],
                mode="markers+text",
                text=["+"],
                textfont={"size": 15, "color": "#ffffff"},
                marker={"size": 20, "color": COLOURS[which]},
                hoverinfo="skip",
            )
        )
    drawn.sort()
    for (_, low), (high, _) in itertools.pairwise(drawn):
        line(_STREAM, low, _STREAM, high, color=COLOURS[which], width=4)
    frame = (at[blocks[0]][0] - 0.48, at[blocks[-1]][1] + 0.22)
    add_shape(
        type="rect",
        **{"x0": -0.12, "x1": _RIGHT + 0.12, "y0": frame[0], "y1": frame[1]},
        line={"color": grey, "width": 1, "dash": "dash"},
        layer="below",
    )
    blocks_said = theme.plain(words("plan_blocks", n=view.n_layers))
    write(_RIGHT, frame[1] + 0.06, f"<b>{blocks_said}</b>", xanchor="right", yanchor="bottom")
    mark = "●" if which == 0 else "■"
    write(_RIGHT / 2, top + 0.7, f"<b>{mark} {theme.plain(name)}</b>", font={"size": 14, "color": COLOURS[which]})
    figure.update_layout(shapes=shapes, annotations=notes)
    theme.layout(figure, height=int(40 + 31 * (top + 1)))
    figure.update_xaxes(visible=False, range=[-0.2, _RIGHT + 0.25], fixedrange=True, automargin=False)
    figure.update_yaxes(visible=False, range=[-0.1, top + 1.1], fixedrange=True, automargin=False)
    return figure


def _head_shapes(view: DiagramView, across: tuple[float, float], up: tuple[float, float]) -> Iterator[dict[str, Any]]:
    """Query heads above, each joined to the key–value head that it reads; many are drawn by their first ones."""
    per = view.n_heads // view.n_kv_heads
    groups = view.n_kv_heads if view.n_heads <= _MOST_SQUARES else max(1, _MOST_SQUARES // per)
    shown = min(view.n_heads, groups * per, _MOST_SQUARES)
    width = (across[1] - across[0] - 0.2) / shown
    middle = [across[0] + 0.1 + width * (i + 0.5) for i in range(shown)]
    half, tall = min(0.42 * width, 0.16), 0.3
    homes = [float(np.mean(middle[i : i + per])) for i in range(0, shown, per)]
    for i, x in enumerate(middle):
        yield _square(x, half, up[1] - tall, up[1], "query")
        ends = {"x0": x, "y0": up[1] - tall, "x1": homes[i // per], "y1": up[0] + tall}
        yield {"type": "line", **ends, "line": {"color": theme.ROLES["residual"], "width": 1}}
    for x in homes:
        yield _square(x - half / 2, half / 2, up[0], up[0] + tall, "key")
        yield _square(x + half / 2, half / 2, up[0], up[0] + tall, "value")


def _square(x: float, half: float, low: float, high: float, role: str) -> dict[str, Any]:
    corners = {"x0": x - half, "x1": x + half, "y0": low, "y1": high}
    return {"type": "rect", **corners, "fillcolor": theme.ROLES[role], "line": {"width": 0}}


# The table of parts


class PartRow(NamedTuple):
    """One part of both models. Both name the same part, whatever they say of it."""

    first: architectures.Part
    second: architectures.Part

    @property
    def differs(self) -> bool:
        return (self.first.said, self.first.values) != (self.second.said, self.second.values)


def part_rows(first: LanguageModel, second: LanguageModel) -> tuple[PartRow, ...]:
    """All parts in their order."""
    return tuple(PartRow(*pair) for pair in zip(*map(architectures.parts, (first, second)), strict=True))


def part_facts(rows: Sequence[PartRow], words: Words) -> dict[str, str]:
    """For prose: how many parts differ, of how many, and which."""
    differ = [words(f"part_{row.first.name}") for row in rows if row.differs]
    listed = words("comma").join(differ) or words("nothing")
    return {"differ": str(len(differ)), "all": str(len(rows)), "list": listed}


def parts_scene(rows: Sequence[PartRow], names: tuple[str, str], words: Words, page: Words) -> dict[str, Any]:
    """The table as its component wants it; ``page`` gives a page's title."""

    def said(part: architectures.Part) -> str:
        return words(f"is_{part.said}", **part.values)

    return {
        "names": names,
        "colours": COLOURS,
        "words": {
            "differ": words("parts_differ"),
            "same": words("parts_same", n=sum(not row.differs for row in rows)),
            "alt": words("parts_alt"),
        },
        "rows": [
            {
                "name": words(f"part_{row.first.name}"),
                "why": words(f"why_{row.first.name}"),
                "differs": row.differs,
                "values": [said(row.first), said(row.second)],
                "page": row.first.page,
                "title": page(f"common.page_{row.first.page}"),
            }
            for row in rows
        ],
    }


# The module tree


def tree_scene(node: Node, words: Words) -> dict[str, Any]:
    """The module tree as its component wants it."""
    total = max(1, node.size)

    def plain(node: Node) -> dict[str, Any]:
        notes = []
        if node.shared:
            notes.append(words("tree_shared", name=node.shared))
        notes += [words("tree_computed", name=name, shape=shape(size)) for name, size in node.computed.items()]
        return {
            "name": node.name,
            "kind": f"{node.copies} × {node.kind}" if node.copies > 1 else node.kind,
            "shapes": [f"{name} {shape(size)}" for name, size in node.shapes.items()],
            "size": f"{node.size:,}",
            "short": short(node.size),
            "share": node.size / total,
            "percent": percent(node.size / total) if node.size else "",
            "note": " · ".join(notes),
            "children": [plain(child) for child in node.children],
        }

    words_ = {key: words(f"tree_{key}") for key in ("open", "close", "alt", "module", "shape", "parameters")}
    return {"root": plain(node), "words": words_}


def shape(sizes: Sequence[int]) -> str:
    return "[" + " × ".join(f"{size:,}" for size in sizes) + "]"


# Where the parameters are


def _and_published(lms: Sequence[LanguageModel]) -> list[tuple[str, Transformer, bool]]:
    """Models by name, and whether they are loaded: those given, and of the published ones only the shapes."""
    return [(lm.name, lm.model, True) for lm in lms] + [
        (reference.name, parameters.shapes(reference.config), False) for reference in REFERENCES
    ]


class WhereView(NamedTuple):
    """Parameters by part: ``counts`` is [R, P] for R named rows and the parts of :data:`parameters.PARTS`.

    ``stacks`` says which stack's block a row is, where its model has two. ``loaded`` rows are
    counted on a model that is here, the others on published sizes.
    """

    names: tuple[str, ...]
    stacks: tuple[Side | None, ...]
    loaded: tuple[bool, ...]
    counts: np.ndarray

    @classmethod
    def models(cls, *lms: LanguageModel) -> WhereView:
        """Whole models: those given, then the published ones."""
        return cls._of((name, None, here, parameters.count(model)) for name, model, here in _and_published(lms))

    @classmethod
    def blocks(cls, *lms: LanguageModel) -> WhereView:
        """One block of every stack."""
        return cls._of(
            (name, side if len(model.config.sides) > 1 else None, here, parameters.count(model.stack(side).block(0)))
            for name, model, here in _and_published(lms)
            for side in model.config.sides
        )

    @classmethod
    def _of(cls, rows: Iterable[tuple[str, Side | None, bool, Mapping[parameters.Part, int]]]) -> WhereView:
        names, stacks, loaded, found = zip(*rows, strict=True)
        counts = np.array([[counted[part] for part in parameters.PARTS] for counted in found], dtype=np.int64)
        return cls(names, stacks, loaded, counts)

    @property
    def shares(self) -> np.ndarray:
        """[R, P], every row adding up to 1."""
        found: np.ndarray = self.counts / self.counts.sum(1, keepdims=True)
        return found

    def share(self, row: int, part: str) -> float:
        return float(self.shares[row, parameters.PARTS.index(part)])

    def facts(self, row: int, words: Words) -> dict[str, str]:
        """For prose: a row's total, its largest part, and what attention and feed-forward hold."""
        largest = parameters.PARTS[int(self.counts[row].argmax())]
        return {
            "total": short(int(self.counts[row].sum())),
            "largest": words(f"where_{largest}"),
            "largest_share": f"{self.share(row, largest):.0%}",
            "ffn": f"{self.share(row, 'ffn'):.0%}",
            "attention": f"{self.share(row, 'attention') + self.share(row, 'cross'):.0%}",
        }


_PART_MARKS: dict[str, tuple[str, str]] = {
    "embedding": ("residual", ""),
    "positions": ("position", ""),
    "attention": ("pattern", ""),
    "cross": ("query", "/"),
    "ffn": ("ffn", ""),
    "norms": ("norm", ""),
    "head": ("value", "\\"),
}


def draw_where(view: WhereView, words: Words) -> go.Figure:
    """One bar a row, all of the same length, cut by part; the totals stand under the names."""
    figure = go.Figure()
    rows = []
    for name, side, here, counts in zip(*view, strict=True):
        under = [short(int(counts.sum())), *([words(f"where_{side}")] if side else [])]
        rows.append(f"{theme.shorten(name, 26)}{'' if here else ' ◇'}<br><b>{theme.plain(' · '.join(under))}</b>")
    for p, part in enumerate(parameters.PARTS):
        if not view.counts[:, p].any():
            continue
        role, hatch = _PART_MARKS[part]
        name = theme.plain(words(f"where_{part}"))
        figure.add_trace(
            go.Bar(
                y=list(range(len(rows))),
                x=view.shares[:, p],
                name=name,
                orientation="h",
                marker={
                    "color": theme.rgba(theme.ROLES[role], 0.75),
                    "line": {"color": theme.ROLES[role], "width": 1},
                    "pattern": {"shape": hatch, "size": 5, "fillmode": "overlay", "fgopacity": 0.3},
                },
                text=[f"{share:.0%}" if share >= 0.075 else "" for share in view.shares[:, p]],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                textfont={"size": SMALL, "color": theme.INK},
                customdata=[f"{n:,}" for n in view.counts[:, p]],
                hovertemplate=f"{name}: <b>%{{customdata}}</b> (%{{x:.1%}})<extra></extra>",
            )
        )
    theme.layout(figure, height=74 + 40 * len(rows))
    figure.update_layout(
        barmode="stack",
        bargap=0.22,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal", "font": {"size": 12}},
    )
    figure.update_xaxes(visible=False, range=[0, 1.0], fixedrange=True)
    figure.update_yaxes(
        autorange="reversed", fixedrange=True, tickvals=list(range(len(rows))), ticktext=rows, tickfont={"size": SMALL}
    )
    return figure


# The KV cache


class CacheView(NamedTuple):
    """Bytes that a decoder keeps for a text: [R] for every row, had it H, its own G, or one key–value head.

    ``lengths`` [R] is the text's length, or the row's context where that is shorter.
    """

    names: tuple[str, ...]
    loaded: tuple[bool, ...]
    lengths: np.ndarray
    n_heads: np.ndarray
    n_kv_heads: np.ndarray
    mha: np.ndarray
    own: np.ndarray
    mqa: np.ndarray
    n_layers: np.ndarray
    d_head: np.ndarray

    @classmethod
    def of(cls, lms: Sequence[LanguageModel], length: int, n_bytes: int) -> CacheView:
        """The decoders among the models given, then the published ones. Source and target are equally long."""
        rows = [(lm.name, lm.config, True) for lm in lms] + [(ref.name, ref.config, False) for ref in REFERENCES]
        rows = [row for row in rows if row[1].kind != "encoder"]
        columns: dict[str, list[int]] = {name: [] for name in cls._fields[2:]}
        for _, config, _ in rows:
            n = min(length, config.n_context)
            columns["lengths"].append(n)
            for name, heads in (("mha", config.n_heads), ("own", config.n_kv_heads), ("mqa", 1)):
                columns[name].append(parameters.cache(config, n, heads, n_bytes, n_source=n).total)
            for name in ("n_heads", "n_kv_heads", "n_layers", "d_head"):
                columns[name].append(getattr(config, name))
        found = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
        return cls(names=tuple(row[0] for row in rows), loaded=tuple(row[2] for row in rows), **found)


def draw_cache(view: CacheView, words: Words) -> go.Figure:
    """On a logarithmic axis, a line a model from one key–value head to one for every query head; its own marked."""
    figure = go.Figure()
    columns = (view.names, view.loaded, view.n_heads, view.n_kv_heads, view.lengths)
    rows = [
        f"{theme.shorten(name, 34)}{'' if here else ' ◇'}<br>H {h}, G {g} · {n:,}"
        for name, here, h, g, n in zip(*columns, strict=True)
    ]
    y, grey = list(range(len(rows))), theme.ROLES["residual"]
    for i in y:
        ends = {"x0": view.mqa[i], "x1": view.mha[i], "y0": i, "y1": i}
        figure.add_shape(type="line", **ends, line={"color": grey, "width": 2}, layer="below")
    marks = (("mqa", "diamond-open", 9), ("mha", "circle-open", 11), ("own", "circle", 13))
    for name, symbol, size in marks:
        sizes, said = getattr(view, name), theme.plain(words(f"cache_{name}"))
        figure.add_trace(
            go.Scatter(
                x=sizes,
                y=y,
                name=said,
                mode="markers+text" if name == "own" else "markers",
                text=[f"<b>{byte_size(n)}</b>" for n in sizes],
                textposition="top center",
                textfont={"size": SMALL},
                marker={
                    "symbol": symbol,
                    "size": size,
                    "color": theme.ROLES["key"] if name == "own" else grey,
                    "line": {"width": 2},
                },
                customdata=[f"{byte_size(n)} ({n:,} B)" for n in sizes],
                hovertemplate=f"{said}: <b>%{{customdata}}</b><extra></extra>",
            )
        )
    theme.layout(figure, height=100 + 52 * len(rows))
    figure.update_layout(
        showlegend=True,
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1,
            "yanchor": "bottom",
            "font": {"size": 12},
            "traceorder": "reversed",
        },
    )
    low, high = math.log10(view.mqa.min()), math.log10(view.mha.max())
    powers = [p for p in range(0, 51, 5) if low - 1.5 < p * math.log10(2) < high + 1.5]
    figure.update_xaxes(
        type="log",
        range=[low - 0.6, high + 0.4],
        tickvals=[2**p for p in powers],
        ticktext=[byte_size(2**p) for p in powers],
        tickfont={"size": 11},
        title={"text": theme.plain(words("cache_axis")), "font": {"size": SMALL}},
        showgrid=True,
        gridcolor=theme.rgba(grey, 0.25),
        fixedrange=True,
    )
    figure.update_yaxes(
        range=[len(rows) - 0.4, -0.75], fixedrange=True, tickvals=y, ticktext=rows, tickfont={"size": SMALL}
    )
    return figure


LENGTHS = tuple(2**power for power in range(18))
"""Lengths of a text to choose from."""


def cache_story(config: ModelConfig, length: int, n_bytes: int) -> tuple[str, dict[str, str]]:
    """For prose: the section to tell, and what a token costs with the model's own G, with H and with one."""
    if config.kind == "encoder":
        return "cache_none", {}
    n = min(length, config.n_context)

    def per(heads: int) -> int:
        return parameters.cache(config, 1, heads, n_bytes, n_source=0).total

    own = parameters.cache(config, n, config.n_kv_heads, n_bytes, n_source=n).total
    return f"cache_{architectures.sharing(config)}", {
        "layers": str(config.n_layers),
        "g": str(config.n_kv_heads),
        "h": str(config.n_heads),
        "k": str(config.d_head),
        "bytes": str(n_bytes),
        "own": f"{per(config.n_kv_heads):,}",
        "mha": f"{per(config.n_heads):,}",
        "mqa": f"{per(1):,}",
        "n": f"{n:,}",
        "total": byte_size(own),
        "saved": f"{config.n_heads / config.n_kv_heads:g}",
    }


# Who sees whom


SIGHT_TOKENS = 9
"""Tokens of a text in the small pictures of masks."""


class SightView(NamedTuple):
    """Who sees whom in one kind of model: ``cells`` is [T, T] of :func:`architectures.sight`'s values.

    ``split`` is how many of the T positions are the source's, of an encoder–decoder, else T.
    """

    kind: str
    cells: np.ndarray
    labels: tuple[str, ...]
    split: int

    @classmethod
    def of(cls, kind: Kind, source: Sequence[str], target: Sequence[str], most: int = SIGHT_TOKENS) -> SightView:
        """The first ``most`` tokens of a text, and of what an encoder–decoder says to it."""
        source, target = tuple(source[:most]), tuple(target[:most]) if kind == "encoder_decoder" else ()
        cells = architectures.sight(kind, len(source), len(target))
        return cls(kind, cells, source + target, len(source))


_SIGHT = (("residual", 0.16), ("pattern", 0.75), ("query", 0.75))


def draw_sight(view: SightView, words: Words) -> go.Figure:
    """A cell for every query (row) and key (column): hidden, seen, or seen across from the encoder."""
    said = [theme.plain(words(f"sight_{name}")) for name in ("hidden", "seen", "across")]
    colours = [theme.rgba(theme.ROLES[role], alpha) for role, alpha in _SIGHT]
    stops = [[edge, colour] for n, colour in enumerate(colours) for edge in (n / 3, (n + 1) / 3)]
    index = list(range(len(view.labels)))
    figure = go.Figure(
        go.Heatmap(
            z=view.cells.astype(np.uint8),
            x=index,
            y=index,
            zmin=-0.5,
            zmax=2.5,
            colorscale=stops,
            showscale=False,
            xgap=2,
            ygap=2,
            customdata=[[f"{_at(view, q)} → {_at(view, k)}: {said[view.cells[q, k]]}" for k in index] for q in index],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    signs = [(q, k, "×" if view.cells[q, k] == architectures.SEEN_ACROSS else "•") for q, k in np.argwhere(view.cells)]
    figure.add_trace(
        go.Scatter(
            x=[k for _, k, _ in signs],
            y=[q for q, _, _ in signs],
            mode="text",
            text=[sign for _, _, sign in signs],
            textfont={"size": 12, "color": "#ffffff"},
            hoverinfo="skip",
        )
    )
    if view.split < len(view.labels):
        edge, end = view.split - 0.5, len(index) - 0.5
        line = {"color": theme.ROLES["residual"], "width": 2}
        figure.add_shape(type="line", x0=edge, x1=edge, y0=-0.5, y1=end, line=line)
        figure.add_shape(type="line", x0=-0.5, x1=end, y0=edge, y1=edge, line=line)
        for middle, name in (((edge - 0.5) / 2, "source"), ((edge + end) / 2, "target")):
            figure.add_annotation(
                x=middle,
                y=-0.5,
                text=theme.plain(words(f"sight_{name}")),
                showarrow=False,
                yanchor="bottom",
                font={"size": SMALL},
            )
    theme.layout(figure, height=320, margin={"t": 24})
    names = theme.ticks(view.labels, 18)
    figure.update_xaxes(side="bottom", tickangle=-60, fixedrange=True, tickfont={"size": 11}, **names)
    figure.update_yaxes(autorange="reversed", fixedrange=True, tickfont={"size": 11}, **names)
    return figure


def _at(view: SightView, position: int) -> str:
    return theme.plain(view.labels[position])


# One sentence through both


class ChoicesView(NamedTuple):
    """The k tokens that a model holds most probable at a position: ``labels`` [k] and ``probs`` [k]."""

    labels: tuple[str, ...]
    probs: np.ndarray

    @classmethod
    def of(cls, trace: Trace, position: int, k: int = 6) -> ChoicesView:
        """``trace`` is seen from the stack that predicts, and has logits."""
        found = trace.next_tokens(position, k)
        return cls(tuple(token.label for token, _ in found), np.array([p for _, p in found]))


def own_probability(trace: Trace, position: int) -> float:
    """What an encoder gives, at a position, to the token that stands there."""
    return trace["logits"][position].softmax(-1)[trace.tokens[position].id].item()


def draw_choices(view: ChoicesView, which: int) -> go.Figure:
    """One bar a token, in the colour of the model."""
    figure = go.Figure(
        go.Bar(
            y=theme.unique(view.labels),
            x=view.probs,
            orientation="h",
            marker={"color": COLOURS[which], "pattern": {"shape": ("", "/")[which], "size": 5}},
            text=[percent(float(p)) for p in view.probs],
            textposition="outside",
            textfont={"size": SMALL},
            cliponaxis=False,
            hovertemplate="%{y}<br><b>%{x:.3%}</b><extra></extra>",
        )
    )
    theme.layout(figure, height=30 + 30 * len(view.labels))
    figure.update_xaxes(visible=False, range=[0, float(view.probs.max()) * 1.25], fixedrange=True)
    figure.update_yaxes(type="category", autorange="reversed", fixedrange=True, **theme.ticks(view.labels))
    return figure


class DepthView(NamedTuple):
    """The residual stream's length by depth in both models: mean over the tokens, [L + 1] each.

    ``share`` is how far through the blocks, 0 to 1, so that models of any depth share an axis.
    """

    names: tuple[str, str]
    sites: tuple[tuple[str, ...], tuple[str, ...]]
    share: tuple[np.ndarray, np.ndarray]
    mean: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, names: tuple[str, str], traces: tuple[Trace, Trace]) -> DepthView:
        found = [architectures.depths(trace) for trace in traces]
        share = tuple(np.linspace(0, 1, len(depths.sites)) for depths in found)
        mean = tuple(depths.lengths.mean(1) for depths in found)
        sites = tuple(tuple(map(trace.full_name, depths.sites)) for trace, depths in zip(traces, found, strict=True))
        return cls(names, (sites[0], sites[1]), (share[0], share[1]), (mean[0], mean[1]))

    def facts(self) -> dict[str, str]:
        """For prose, ``first_`` and ``second_``: the stream's length at both ends, and the factor between them."""
        said = {}
        for which, mean in zip(("first", "second"), self.mean, strict=True):
            said[f"{which}_begin"], said[f"{which}_end"] = f"{mean[0]:.3g}", f"{mean[-1]:.3g}"
            growth = float(mean[-1] / mean[0])
            said[f"{which}_growth"] = f"{growth:.2g}" if growth < 10 else f"{growth:,.0f}"
        return said


def draw_depth(view: DepthView, words: Words) -> go.Figure:
    """One line a model; logarithmic where the lengths differ more than thirtyfold."""
    figure = go.Figure()
    for which, (share, mean) in enumerate(zip(view.share, view.mean, strict=True)):
        name = theme.plain(view.names[which])
        figure.add_trace(
            go.Scatter(
                x=share,
                y=mean,
                name=name,
                mode="lines+markers",
                customdata=list(view.sites[which]),
                line={"color": COLOURS[which], "width": 2.5, "dash": ("solid", "dash")[which]},
                marker={"symbol": SYMBOLS[which], "size": 8},
                hovertemplate=f"%{{customdata}}<br><b>%{{y:.3f}}</b><extra>{name}</extra>",
            )
        )
    every = np.concatenate(view.mean)
    theme.layout(figure, height=300)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    figure.update_xaxes(
        title={"text": theme.plain(words("depth_axis")), "font": {"size": SMALL}}, tickformat=".0%", fixedrange=True
    )
    figure.update_yaxes(
        title={"text": theme.plain(words("depth_length")), "font": {"size": SMALL}},
        showgrid=True,
        gridcolor=theme.rgba(theme.ROLES["residual"], 0.25),
        fixedrange=True,
        **({"type": "log", "dtick": 1} if every.max() > 30 * every.min() > 0 else {"rangemode": "tozero"}),
    )
    return figure


class Looked(NamedTuple):
    """The key with the largest weight of one query, and that weight."""

    label: str
    weight: float


def most_looked_at(trace: Trace, layer: int, head: int, token: int) -> Looked:
    weights = architectures.pattern(trace, layer, head)[token]
    key = int(np.nanargmax(weights))
    return Looked(trace.tokens[key].label, float(weights[key]))


MOST_CELLS = 64


def pattern_view(trace: Trace, layer: int, head: int, axes: tuple[str, str]) -> heatmap.HeatmapView:
    """A head's attention to its own stack; of a long text every cell is the largest of a square."""
    values, labels = architectures.pattern(trace, layer, head), [token.label for token in trace.tokens]
    pool = -(-len(labels) // MOST_CELLS)
    if pool > 1:
        size = -(-len(labels) // pool)
        filled = np.full((size * pool, size * pool), -1.0)
        filled[: len(labels), : len(labels)] = np.nan_to_num(values, nan=-1.0)
        values = filled.reshape(size, pool, size, pool).max(axis=(1, 3))
        values = np.where(values < 0, np.nan, values)
        labels = [f"{labels[i * pool]}…" for i in range(size)]
    return heatmap.HeatmapView(
        values=values,
        rows=tuple(labels),
        columns=tuple(labels),
        site=trace.full_name(f"blocks.{layer}.attn.pattern") + f"[{head}]",
        role="pattern",
        # Of many tokens hardly one gets a weight near 1, and the picture would be blank.
        scale="probability" if pool == 1 else "positive",
        row_axis=axes[0],
        column_axis=axes[1],
    )


def draw_pattern(view: heatmap.HeatmapView) -> go.Figure:
    figure = heatmap.draw(view, height=340, show_columns=False)
    return figure.update_yaxes(**theme.ticks(view.rows, 16))


# Formulas and by hand

_LETTERS = {"T": r"T_{\max}", "B": r"B_{\mathrm{buckets}}"}


def formula(row: parameters.Row, config: ModelConfig) -> str:
    """LaTeX: copies × (sum of products) in letters, in numbers, and what it comes to."""
    sizes = parameters.sizes(config)

    def product(term: parameters.Term, numbers: bool) -> str:
        times = [str(term.times)] if term.times > 1 else []
        if numbers:
            return r" \cdot ".join([*times, *(f"{sizes[letter]:,}" for letter in term.letters)])
        return r"\,".join([*times, *(_LETTERS.get(letter, letter) for letter in term.letters)])

    def total(numbers: bool) -> str:
        inner = " + ".join(product(term, numbers) for term in row.terms)
        if row.copies == 1:
            return inner
        return rf"{row.copies} \cdot {inner}" if len(row.terms) == 1 else rf"{row.copies} \cdot \left({inner}\right)"

    found = f"{row.copies * parameters.value(row, config):,}"
    lines = rf"&{total(False)}\\ &= {total(True)} = \mathbf{{{found}}}"
    return rf"\begin{{aligned}}{_thousands(lines)}\end{{aligned}}"


def formulas(config: ModelConfig, words: Words) -> list[tuple[str, str]]:
    """For each kind of thing that has parameters: its name, and its formula."""
    return [(words(f"row_{row.key}", n=row.copies), formula(row, config)) for row in parameters.formulas(config)]


def _thousands(latex: str) -> str:
    """Commas between digits without the space that LaTeX puts after a comma."""
    return re.sub(r"(?<=\d),(?=\d)", "{,}", latex)


def by_hand(block: Node) -> dict[str, str]:
    """One block, matrix by matrix: lines of LaTeX that end in its sum, and the share of each part."""
    lines = []
    sums: dict[str, int] = {}
    for path, leaf in parameters.leaves(block):
        factors = [r" \cdot ".join(f"{size:,}" for size in sizes) for sizes in leaf.shapes.values()]
        name = path.replace("_", r"\_")
        lines.append(rf"\texttt{{{name}}}: &\quad {' + '.join(factors)} &&= {leaf.size:,}")
        part = parameters.part(f"{path}.weight")
        sums[part] = sums.get(part, 0) + leaf.size
    body = _thousands(r" \\ ".join([*lines, rf"\Sigma & &&= \mathbf{{{block.size:,}}}"]))
    return {
        "lines": rf"\begin{{aligned}}{body}\end{{aligned}}",
        "total": f"{block.size:,}",
        "ffn": f"{sums['ffn']:,}",
        "share": f"{sums['ffn'] / block.size:.1%}",
        "attention": f"{sums['attention']:,}",
        "attention_share": f"{sums['attention'] / block.size:.1%}",
    }


def reference_columns(words: Words) -> dict[str, list[object]]:
    """The published sizes as a table."""
    configs = [ref.config for ref in REFERENCES]
    totals = [sum(parameters.count(parameters.shapes(config)).values()) for config in configs]
    columns: dict[str, list[object]] = {
        "name": [ref.name for ref in REFERENCES],
        "kind": [words(f"is_{config.kind}") for config in configs],
        "layers": [" + ".join(str(config.depth(side)) for side in config.sides) for config in configs],
        "d": [config.d_model for config in configs],
        "heads": [f"{config.n_heads} × {config.d_head}" for config in configs],
        "kv": [config.n_kv_heads for config in configs],
        "ffn": [config.d_ffn for config in configs],
        "vocabulary": [config.n_vocab for config in configs],
        "tied": [words(f"is_{'yes' if config.tie_embeddings else 'no'}") for config in configs],
        "counted": [f"{total:,}" for total in totals],
        "said": [ref.said for ref in REFERENCES],
        "source": [ref.source for ref in REFERENCES],
    }
    return {words(f"reference_{key}"): values for key, values in columns.items()}


def count_columns(view: WhereView, words: Words) -> dict[str, Sequence[object]]:
    """The counts by part as a table."""
    parts = {words(f"where_{part}"): view.counts[:, p].tolist() for p, part in enumerate(parameters.PARTS)}
    published = [words("where_loaded" if here else "where_published") for here in view.loaded]
    return {
        words("where_model"): list(view.names),
        words("where_counted_on"): published,
        **parts,
        words("where_total"): view.counts.sum(1).tolist(),
    }
