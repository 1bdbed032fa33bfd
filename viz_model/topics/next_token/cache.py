"""The KV cache as it fills: its vectors by layer and token, and its bytes."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.config import ModelConfig
from viz_model.drawing import chart
from viz_model.drawing.digits import byte_size
from viz_model.drawing.scene import Cells, Items, Labels, Mark, Panel, Rect, Scene, Text, along
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import kv_cache
from viz_model.measures.continuation import can_be_drawn
from viz_model.measures.kv_cache import Held, Read
from viz_model.topics.next_token.drawn import drawn, steps

FRAME = 10
"""Places for tokens to come that the picture shows: it moves on when they are full."""
MOST_PLACES, MOST_CELLS = 160, 2_400
"""Tokens of the cache that are drawn at the most, those at its end, where new ones come; and tokens times layers."""
FAINT = 0.22
"""Of one number in single precision; and how much of its color a bar keeps that is still to come."""
UPPER, NAMES = 126.0, 60.0
"""Pixels of the bars, and of the names below the cells."""


def frame(n_drawn: int) -> int:
    """How many drawn tokens the picture has places for."""
    return FRAME * (n_drawn // FRAME + 1)


class CacheView(NamedTuple):
    """What lies in the cache, and the places that are still empty.

    Attributes:
        labels: of the T tokens that it holds, of which the last ``n_new`` came at the last step.
        places: how many columns there are, T at least.
        source_labels: of what cross-attention reads, empty where there is none.
        forgets: whether the text has outgrown the context.
    """

    config: ModelConfig
    held: Held
    labels: tuple[str, ...]
    n_new: int
    places: int
    source_labels: tuple[str, ...]
    forgets: bool

    @property
    def n_layers(self) -> int:
        return len(self.held.keys)

    @property
    def a_cell(self) -> int:
        """Bytes of one key, or one value, of one layer."""
        return self.config.n_kv_heads * self.config.d_head * self.held.itemsize

    @property
    def a_token(self) -> int:
        """Bytes that one more token takes in all layers."""
        return (
            kv_cache.bytes_of(self.config, 1, self.held.itemsize) if self.is_mixed else 2 * self.n_layers * self.a_cell
        )

    @property
    def is_mixed(self) -> bool:
        """Whether layers differ in what they keep of a token."""
        kept = kv_cache.numbers(self.config)
        return len(set(kept)) > 1 or len(kept) < self.config.n_layers

    def facts(self) -> dict[str, str]:
        n_heads, n_kv_heads = self.config.n_heads, self.config.n_kv_heads
        return {
            "layers": str(self.n_layers),
            "keep": str(len(kv_cache.numbers(self.config))),
            "heads": str(n_heads),
            "kv_heads": str(n_kv_heads),
            "shared_by": str(n_heads // n_kv_heads),
            "d_head": str(self.config.d_head),
            "n_cached": f"{len(self.labels):,}",
            "a_number": str(self.held.itemsize),
            "a_cell": f"{self.a_cell:,}",
            "a_token": f"{self.a_token:,}",
            "a_token_size": byte_size(self.a_token),
            "full": byte_size(self.a_token * self.config.n_context),
            "n_source": f"{len(self.source_labels):,}",
            "n_source_bytes": f"{self.held.n_source_bytes:,}",
            "context": f"{self.config.n_context:,}",
        }


def keeps(look: Look) -> bool:
    """Whether anything of the past can be kept."""
    return not any(edit.reads_whole_text for edit in look.trace.edits)


def reads(look: Look, n_drawn: int) -> tuple[Read, ...]:
    """The steps that so many drawn tokens take."""
    length = len(look.trace.at("decoder"))
    return kv_cache.reads(look.config.n_context, length, n_drawn, keeps=keeps(look))


def view(look: Look) -> CacheView:
    """The cache when the last token was drawn; before the first, of the text alone."""
    trace, config, taken = look.trace.at("decoder"), look.config, steps(look)
    held = drawn(look).held if can_be_drawn(trace) else look.once(lambda _: kv_cache.held_after(trace), "held")
    made = reads(look, len(taken))
    last, labels = made[-1], [token.label for token in (*trace.tokens, *(step.token for step in taken))]
    places = min(config.n_context, last.without + frame(len(taken)) - max(0, len(taken) - 1))
    source = tuple(token.label for token in trace.at("encoder").tokens) if held.source_keys.size else ()
    return CacheView(config, held, tuple(labels[last.first : last.stop]), last.computed, places, source, last.first > 0)


def title(look: Look) -> Iterator[Line]:
    found = view(look)
    yield look.title("title", size=byte_size(found.held.n_bytes), **found.facts())


def tell(look: Look) -> Iterator[Line]:
    found, config = view(look), look.config
    facts = found.facts()
    yield look.text("filling_mixed" if found.is_mixed else "filling", **facts)
    if config.n_kv_heads < config.n_heads and not found.is_mixed:
        yield look.text("shared", **facts)
    if found.source_labels:
        yield look.text("source", **facts)
    if windows := sorted({config.window("decoder", layer) for layer in range(config.n_layers)} - {0}):
        yield look.text("windows", windows=look.listed(map(str, windows)))
    if found.forgets:
        yield look.text("full", **facts)
    yield look.text("why" if keeps(look) else "not_kept")


def _most(n_layers: int) -> int:
    """How many tokens of a cache are drawn."""
    return min(MOST_PLACES, MOST_CELLS // n_layers)


def _height(n_layers: int) -> float:
    return max(120.0, min(420.0, 34.0 * n_layers))


def draw(look: Look) -> Scene:
    """Below a cell for every key and value, by layer and token; above the bytes of all layers, token by token."""
    found, words = view(look), look.words
    n_tokens, first = len(found.labels), max(0, found.places - _most(found.n_layers))
    labels, n = found.labels[first:], found.places - first
    names = [f"{first + k}: {label}" for k, label in enumerate(labels)]
    names += [f"{place}:" for place in range(n_tokens, found.places)]
    counts = np.arange(1, n + 1) + first
    parts = [(name, counts * found.n_layers * found.a_cell) for name in ("key", "value")]
    if found.held.n_source_bytes:
        parts.insert(0, ("source", np.full(n, found.held.n_source_bytes)))
    top = float(sum(values[-1] for _, values in parts))
    scale = chart.Axis(0, 1.06 * top)
    left = 60.0 + chart.LINE
    on = chart.Plot(left, 14.0, chart.TOP, UPPER - 14, chart.places(n), scale)
    marks: list[Mark] = []
    for k in range(3):
        y = on.pixels_y(k * top / 2)
        marks.append(Rect(id=f"grid.{k}", x=left, y=y, width=on.across, height=1, fill="grid"))
        marks.append(Text(id=f"tick.{k}", text=byte_size(k * top / 2), x=left - 6, y=y, anchor="end", fill="muted"))
    marks.append(Text(id="bytes", text=words("bytes"), x=8, y=(on.top + on.bottom) / 2, anchor="middle", rotate=-90))
    x, width = on.places_x(np.arange(n) - 0.43), on.wide(0.86 / n, n)
    opacity, below, keys = np.where(counts <= n_tokens, 1.0, FAINT).tolist(), np.zeros(n), []
    for name, values in parts:
        role = "residual" if name == "source" else name
        tall = ((on.bottom - on.top) * values / scale.high).astype(np.float32)
        at = (on.bottom - (on.bottom - on.top) * (below + values) / scale.high).astype(np.float32)
        said = [
            f"{words('token')} {column}\n{words(name)} {byte_size(float(size))}"
            for column, size in zip(names, values, strict=True)
        ]
        marks.append(
            Items(id=f"bytes.{name}", x=x, y=at, width=width, height=tall, fill=role, opacity=opacity, labels=said,
                name=str(words(name)))
        )  # fmt: skip
        keys.append(chart.bar_key(words(name), role))
        below = below + values
    marks += _cells(look, found.held.keys[:, first:], found.held.values[:, first:], names, words("token"), UPPER, left)
    height = _height(found.n_layers)
    new = min(found.n_new, len(labels))
    if new < len(labels):
        begin, wide = (len(labels) - new) / n, new / n
        marks.append(
            Rect(id="new", x=along(begin, left, on.across), y=UPPER, width=along(wide, 0, on.across),
                height=height, stroke="accent", thick=2)
        )  # fmt: skip
    note = look.common("tokens_part", first=first, last=n_tokens - 1, n=n_tokens) if first else ""
    panel = Panel(id="cache", marks=marks, height=UPPER + height + NAMES + chart.LINE)
    return look.drawn(
        Scene(id="kv_cache.cache", panels=[panel], title=words("cache_alt"), keys=keys, note=note, own=False)
    )


def reads_source(look: Look) -> bool:
    return bool(view(look).source_labels)


def source_title(look: Look) -> Iterator[Line]:
    found = view(look)
    yield look.part("source_title", **{**found.facts(), "size": byte_size(found.held.n_source_bytes)})


def draw_source(look: Look) -> Scene:
    """The keys and values of the source, which cross-attention reads."""
    found, words = view(look), look.words
    n_tokens = len(found.source_labels)
    shown = min(n_tokens, _most(found.n_layers))
    names = [f"{n}: {label}" for n, label in enumerate(found.source_labels[:shown])]
    left = 60.0 + chart.LINE
    marks = _cells(
        look,
        found.held.source_keys[:, :shown],
        found.held.source_values[:, :shown],
        names,
        words("source_token"),
        4.0,
        left,
    )
    note = look.common("tokens_part", first=0, last=shown - 1, n=n_tokens) if shown < n_tokens else ""
    panel = Panel(id="source", marks=marks, height=_height(found.n_layers) + NAMES + chart.LINE + 4)
    return look.drawn(Scene(id="kv_cache.source", panels=[panel], title=words("source_alt"), note=note, own=False))


def _cells(
    look: Look, keys: np.ndarray, values: np.ndarray, columns: Sequence[str], token: str, top: float, left: float
) -> list[Mark]:
    """Two rows a layer: keys, then values. A row's longest vector has the full color; empty places are gray."""
    words, (n_layers, n_tokens) = look.words, keys.shape
    height, across, n = _height(n_layers), (1.0, -left - 14.0), len(columns)
    step = height / (2 * n_layers)
    marks: list[Mark] = []
    share = n_tokens / n
    for offset, (name, lengths) in enumerate((("key", keys), ("value", values))):
        part = lengths / np.maximum(lengths.max(-1, keepdims=True, initial=0.0), 1e-30)
        for layer in range(n_layers):
            said = [
                f"{words(name)} · {words('layer')} {layer}\n{token} {at}\n{words('length')} {length:.2f}"
                for at, length in zip(columns, lengths[layer], strict=False)
            ]
            marks.append(
                Cells(id=f"{name}.{layer}", x=left, y=top + (2 * layer + offset) * step, height=step - 1, gap=1,
                    width=along(share, 0, across), values=part[layer : layer + 1].astype(np.float32), look="share",
                    role=name, name=str(words(name)), labels=said)
            )  # fmt: skip
    if n_tokens < n:
        x, width = along(share, left, across), along(1 - share, 0, across)
        marks.append(Rect(id="empty", x=x, y=top, width=width, height=height, fill="grid", opacity=0.4))
    layers = [str(layer) for layer in range(n_layers)]
    marks += [
        Labels(id="layers", texts=layers, x=left - 8, y=top, length=height, along="y"),
        Text(id="layer", text=words("layer"), x=8, y=top + height / 2, anchor="middle", rotate=-90),
        Labels(
            id="columns", texts=[name.partition(": ")[2] for name in columns], x=left, y=top + height + 4, length=across
        ),
        Text(id="token", text=token, x=(0.5, left / 2), y=top + height + NAMES + 4, anchor="middle"),
    ]
    return marks
