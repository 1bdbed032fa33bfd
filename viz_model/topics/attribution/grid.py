"""What every head and feed-forward layer adds, at a glance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viz_model.drawing.digits import written
from viz_model.drawing.scene import Items, Labels, Mark, Panel, Rect, Scene, Series, Text, Texts
from viz_model.drawing.tables import Lengths, by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.attribution.asked import asked
from viz_model.topics.attribution.sums import Attribution, Part

WRITTEN = 12
"""Rows and columns up to which a cell has its number in it."""
LEFT, TOP, STRONG = 46.0, 4.0, 0.55
"""Pixels beside and above the cells; the share of the largest value from which on a number is white."""


def columns(answer: Attribution) -> list[tuple[str, int | None]]:
    """Attention and head of each column, the feed-forward layer last."""
    return [*sorted({(p.at, p.head) for p in answer.parts if p.kind == "head"}), ("ffn", None)]


def part(layer: int, at: str, head: int | None) -> Part:
    return Part("ffn", layer) if at == "ffn" else Part("head", layer, head, at)


def values(answer: Attribution) -> np.ndarray:
    """[L, C], a row a layer."""
    layers = range(1 + max(p.layer for p in answer.parts if p.kind == "ffn" and p.layer is not None))
    return np.array([[answer.of(part(layer, *column)) for column in columns(answer)] for layer in layers])


def title(look: Look) -> Iterator[Line]:
    yield Line(look.words("grid_title"), "part")


def draw(look: Look) -> Scene:
    """Layers downwards, heads to the right, the feed-forward layer last. A click selects a part."""
    question, words = asked(look), look.words
    named, found = columns(question.answer), values(question.answer)
    n_layers, n = found.shape
    top, tall = float(np.abs(found).max()) or 1.0, min(380.0, max(150.0, 34.0 * n_layers)) / n_layers
    across, height = (1.0, -LEFT), tall * n_layers
    layer, column = np.indices(found.shape).reshape(2, -1)
    flat = found.ravel()

    def along(at: np.ndarray, more: float = 0) -> np.ndarray:
        share = at / n
        return np.stack([share, LEFT + more + share * across[1]], -1).astype(np.float32)

    kinds = {"attn": words("grid_head"), "cross": words("grid_cross"), "ffn": words("grid_ffn")}
    names = [words("grid_ffn") if at == "ffn" else f"×{head}" if at == "cross" else str(head) for at, head in named]
    long = [kinds[at] if head is None else f"{kinds[at]} {head}" for at, head in named]
    told = [
        f"{words('grid_layer')} {row} · {long[c]}\n{written(v, '+2')}"
        for row, c, v in zip(layer, column, flat, strict=True)
    ]
    width = np.tile(np.array([[1 / n, across[1] / n - 2]], np.float32), (len(flat), 1))
    ones = np.ones(len(flat), np.float32)
    marks: list[Mark] = [
        Items(
            id="cells",
            x=along(column, 1),
            y=(TOP + layer * tall + 1).astype(np.float32),
            width=width,
            height=(tall - 2) * ones,
            fill=["positive" if value > 0 else "negative" for value in flat],
            opacity=[round(0.04 + 0.96 * abs(value) / top, 3) for value in flat.tolist()],
            labels=told,
            name=words("grid_title"),
            picks=[question.picks(part(int(row), *named[c])) for row, c in zip(layer, column, strict=True)],
        ),
        Labels(id="layers", texts=[str(row) for row in range(n_layers)], x=LEFT - 8, y=TOP, length=height, along="y"),
        Labels(id="columns", texts=names, x=LEFT, y=TOP + height + 4, length=across, turn="never"),
        Text(id="axis", text=words("grid_layer"), x=8, y=TOP + height / 2, anchor="middle", rotate=-90),
        Text(id="across", text=words("grid_head"), x=(0.5, LEFT / 2), y=TOP + height + 32, anchor="middle"),
    ]
    if n_layers <= WRITTEN and n <= WRITTEN:
        texts = [written(value, "1") for value in flat]
        fill = ["white" if abs(value) > STRONG * top else "ink" for value in flat]
        middle = (TOP + (layer + 0.5) * tall).astype(np.float32)
        marks.append(Texts(id="numbers", texts=texts, x=along(column + 0.5), y=middle, fill=fill, rooms=width))
    first = named.index((question.at, 0))
    at = Lengths(by("head", np.arange(first, first + look.n_heads)), 0, n, (0.0, LEFT), (1.0, LEFT + across[1]))
    y = by("layer", (TOP + tall * np.arange(n_layers)).astype(np.float32))
    marks.append(
        Rect(id="chosen", x=at, y=y, width=(1 / n, across[1] / n), height=tall, stroke="accent", thick=2)  # type: ignore[arg-type]
    )
    panel = Panel(id="grid", marks=marks, height=TOP + height + 42)
    series = [Series(f"{words('grid_layer')} {row}", long, one) for row, one in enumerate(found)]
    scene = Scene(id="attribution.grid", panels=[panel], title=words("grid_alt"), series=series)
    return look.only_here(scene, layer=False, token=True)


def hint(look: Look) -> Iterator[Line]:
    crosses = f" {look.words('grid_hint_cross')}" if asked(look).crosses else ""
    yield Line(look.words("grid_hint") + crosses, "note")
