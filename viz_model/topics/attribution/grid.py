"""What every head and feed-forward layer adds, at a glance."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from viz_model.drawing.scene import Items, Labels, Mark, Panel, Rect, Scene, Series, Text, Texts, along
from viz_model.drawing.tables import Among, By, Each, Lengths, by
from viz_model.explain.sums import Attribution
from viz_model.explain.written import Part
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.attribution.asked import asked

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
    """[.., L, C], a row a layer."""
    layers = range(1 + max(p.layer for p in answer.parts if p.kind == "ffn" and p.layer is not None))
    rows = [[answer.parts.index(part(layer, *column)) for column in columns(answer)] for layer in layers]
    return answer.values[..., np.array(rows)]


def draw(look: Look) -> Scene:
    """Layers downwards, heads to the right, the feed-forward layer last. A click selects a part."""
    question, words = asked(look), look.words
    named, found = columns(question.sums), values(question.sums)
    layers = range(found.shape[-2])
    kinds = {"attn": words("grid_head"), "cross": words("grid_cross"), "ffn": words("grid_ffn")}
    names = [words("grid_ffn") if at == "ffn" else f"×{head}" if at == "cross" else str(head) for at, head in named]
    long = [kinds[at] if head is None else f"{kinds[at]} {head}" for at, head in named]
    picks = [question.picks(part(layer, *column)) for layer in layers for column in named]
    axes = words("grid_layer"), words("grid_head")
    scene = cells("attribution.grid", words("grid_alt"), question.by(found), layers, (names, long), axes, picks)
    first, n = named.index((question.at, 0)), len(named)
    across: Any = by("head", np.arange(first, first + look.n_heads))
    panel = scene.panels[0]
    frame = framed(across, n, by("layer", np.array(layers)), height(len(layers)))
    return replace(scene, panels=[replace(panel, marks=[*panel.marks, frame])])


def height(n_rows: int) -> float:
    """Pixels of a row."""
    return min(380.0, max(150.0, 34.0 * n_rows)) / n_rows


def framed(column: Any, n: int, row: Any, tall: float) -> Rect:
    """A line around a cell of so many columns; both may be tables."""
    x: Any = Lengths(column, 0, n, (0.0, LEFT), (1.0, 0.0))
    y: Any = Lengths(row, 0, 1, TOP, TOP + tall)
    return Rect(id="chosen", x=x, y=y, width=(1 / n, -LEFT / n), height=tall, stroke="accent", thick=2)


def cells(
    id: str,
    title: str,
    found: Any,
    rows: Sequence[int],
    named: tuple[Sequence[str], Sequence[str]],
    axes: tuple[str, str],
    picks: Sequence[Any],
    write: str = "1",
) -> Scene:
    """What layers by heads add, orange above 0 and blue below.

    Args:
        found: [R, C], or a table of such.
        rows: the layers.
        named: the columns, as they stand below and as they are said.
        axes: what rows and columns are.
        write: how numbers are written in cells, where there is room.
    """
    table: Any = found if isinstance(found, By) else By((), found)
    (n_rows, n), tall, across = table.values.shape[-2:], height(len(rows)), (1.0, -LEFT)
    flat = table.values.reshape(*table.values.shape[:-2], -1)
    top, end = np.abs(flat).max(-1, keepdims=True), TOP + tall * n_rows
    shares = np.abs(flat) / np.where(top, top, 1)
    row, column = np.indices((n_rows, n)).reshape(2, -1)
    ones = np.ones(n_rows * n, np.float32)

    def written(how: str) -> By:
        return By(table.axes, flat.astype(np.float32), start=table.start, write=how)

    def one_of(names: tuple[str, str], at: np.ndarray) -> Among:
        return Among(names, table._replace(values=at.astype(int)))

    told = [f"{axes[0]} {rows[r]} · {named[1][c]}" for r, c in zip(row, column, strict=True)]
    width = along(ones / n, -2, across)
    look: dict[str, Any] = {
        "fill": one_of(("negative", "positive"), flat > 0),
        "opacity": table._replace(values=(0.04 + 0.96 * shares).round(3).astype(np.float32)),
        "labels": Each("{{cell}}\n{{value}}", {"cell": told, "value": written("+2")}),
    }
    marks: list[Mark] = [
        Items(
            id="cells",
            x=along(column / n, LEFT + 1, across),
            y=(TOP + row * tall + 1).astype(np.float32),
            width=width,
            height=(tall - 2) * ones,
            name=title,
            picks=picks,
            **look,
        ),
        Labels(id="rows", texts=list(map(str, rows)), x=LEFT - 8, y=TOP, length=end - TOP, along="y"),
        Labels(id="columns", texts=named[0], x=LEFT, y=end + 4, length=across, turn="never"),
        Text(id="axis", text=axes[0], x=8, y=(TOP + end) / 2, anchor="middle", rotate=-90),
        Text(id="across", text=axes[1], x=(0.5, LEFT / 2), y=end + 32, anchor="middle"),
    ]
    if max(n_rows, n) <= WRITTEN:
        texts: Any = Each("{{value}}", {"value": written(write)})
        fill: Any = one_of(("ink", "white"), shares > STRONG)
        x, y = along((column + 0.5) / n, LEFT, across), (TOP + (row + 0.5) * tall).astype(np.float32)
        marks.append(Texts(id="numbers", texts=texts, x=x, y=y, fill=fill, rooms=width))
    panel = Panel(id="grid", marks=marks, height=end + 42)
    each = [table._replace(values=table.values[..., place, :]) for place in range(n_rows)]
    series = [Series(f"{axes[0]} {layer}", named[1], one) for layer, one in zip(rows, each, strict=True)]
    return Scene(id=id, panels=[panel], title=title, series=series)


def hint(look: Look) -> Iterator[Line]:
    crosses = f" {look.words('grid_hint_cross')}" if asked(look).crosses else ""
    yield Line(look.words("grid_hint") + crosses, "note")
