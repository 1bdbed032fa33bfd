"""What attention begins with: the vectors X times W_Q, W_K and W_V are the queries, keys and values of a head."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import Latent
from viz_model.drawing import heatmap
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.heatmap import Pool
from viz_model.drawing.scene import Cells, Mark, Panel, Rect, Scene, Text
from viz_model.drawing.tables import by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import heads
from viz_model.values.expression import Expression
from viz_model.values.leaves import Element

LETTERS = {"q": "query", "k": "key", "v": "value"}
TALL, GAP, TOP = 24.0, 18.0, 20.0
"""Pixels of one product, between two, and above the first."""
LEFT, MIDDLE, RIGHT = (0.0, 0.3), (0.37, 0.27), (0.71, 0.29)
"""Where X, a matrix and its product begin, and how wide they are, as shares of the picture."""
MOST_ROWS, MOST_DEEP = 64, 24
"""Tokens, and rows of a matrix, that have a row of cells; of more several share one: a row takes a pixel at least."""


class Products(NamedTuple):
    """What is read, [L, T, D], and by letter the ``weights`` and what they make of it, [L, H, T, K].

    A weight is [L, H, D, K]; of keys and values that heads share [L, G, D, K].
    """

    x: np.ndarray
    weights: dict[str, np.ndarray]
    made: dict[str, np.ndarray]


def read_site(look: Look) -> str:
    """The value that queries, keys and values are made of, as they are declared."""
    site = next(_elements(look.trace.site(look.site("attn.q")).expression)).value.site
    return site.removeprefix(look.trace.prefix).split(".", 2)[2]


def _elements(expression: Expression) -> Iterator[Element]:
    if isinstance(expression, Element):
        yield expression
        return
    for part in expression.parts:
        yield from _elements(part)


def made_of(look: Look, letter: str) -> str:
    """What a matrix makes: values before their norm, where they have one."""
    made = f"attn.{letter}_plain"
    return made if look.has(made) else f"attn.{letter}"


def read_of(look: Look) -> int | None:
    """The layer whose keys and values the selected one reads, where it makes none of its own."""
    return look.config.source_of(look.trace.stack.side, look.layer)


def products(look: Look) -> Products:
    config = look.here
    weights: dict[str, list[np.ndarray]] = {letter: [] for letter in LETTERS}
    for layer in look.layers:
        attention: Any = look.trace.stack.block(layer).attn
        for letter in LETTERS:
            stored = getattr(attention, letter).weight.detach().numpy()  # [H·K or G·K, D]
            weights[letter].append(stored.reshape(-1, config.d_head, stored.shape[-1]).swapaxes(-1, -2))
    made = {letter: look.of_heads(made_of(look, letter)) for letter in LETTERS}
    return Products(look.every(read_site(look)), {name: np.stack(each) for name, each in weights.items()}, made)


def latent(look: Look) -> Latent | None:
    """The narrow vector of the selected layer, where keys and values are made of one: by more than one matrix."""
    mixer = look.config.layer(look.trace.stack.side, look.layer).mixer
    return mixer if isinstance(mixer, Latent) else None


def title(look: Look) -> Iterator[Line]:
    if (layer := read_of(look)) is not None:
        yield look.title("projected_read_title", layer=look.layer_number, source=layer)
        return
    yield Line(look.words("projected_title", head=look.head_number, layer=look.layer_number), "title")


def draw(look: Look) -> Scene | None:
    """X on the left, and for each letter W and the product, the selected token's row framed."""
    if latent(look) is not None or read_of(look) is not None:
        return None
    found, words, n = look.once(products), look.words, len(look)
    pool, deep = -(-n // MOST_ROWS), -(-found.x.shape[-1] // MOST_DEEP)
    names, config = heatmap.spans(look.labels, pool), look.here
    whole = 3 * TALL + 2 * GAP
    group = by("head", np.array([heads.shared_with(config, head)[0] for head in range(look.n_heads)]))

    def cells(id: str, values: Any, place: tuple[float, float], y: float, height: float, **more: Any) -> Cells:
        place_: dict[str, Any] = {"x": (place[0], 0), "y": y, "width": (place[1], 0), "height": height}
        return Cells(id=id, values=values, look="signed", **place_, **more)

    def top(values: np.ndarray, axes: str) -> Any:
        most = np.abs(values).max((-2, -1))  # of pooled numbers, too: they are those furthest from 0
        return look.by(axes, np.where(most > 0, most, 1.0).astype(np.float32))

    site = read_site(look)
    x = heatmap.pooled(found.x, Pool(pool, 1))
    marks: list[Mark] = [
        Text(id="x.name", text=words("projected_x", t=n, d=config.d_model), x=(LEFT[0], 0), y=10, bold=True),
        cells(
            "x", look.by("layer", x), LEFT, TOP, whole, top=top(x, "layer"), rows=names, name="X",
            columns=tuple(map(str, range(x.shape[-1]))), site=look.full(site),
            where=look.cells(site, (ROW, COLUMN)) if pool == 1 else None,
        ),
    ]  # fmt: skip
    for n_row, (letter, role) in enumerate(LETTERS.items()):
        y = TOP + n_row * (TALL + GAP)
        w = heatmap.pooled(found.weights[letter], Pool(deep, 1))
        w = w.repeat(config.n_heads // w.shape[1], axis=1)
        made = heatmap.pooled(found.made[letter], Pool(pool, 1))
        columns = tuple(map(str, range(config.d_head)))
        head: Any = "head" if letter == "q" else group
        marks += [
            Text(id=f"{letter}.times", text="·", x=(0.335, 0), y=y + TALL / 2, anchor="middle", size=20, bold=True),
            Text(
                id=f"{letter}.weight", text=words(f"projected_w{letter}", d=config.d_model, k=config.d_head),
                x=(MIDDLE[0], 0), y=y - 11, bold=True,
            ),
            cells(
                f"w.{letter}", look.by("layer head", w), MIDDLE, y, TALL, top=top(w, "layer head"),
                rows=heatmap.spans(tuple(map(str, range(config.d_model))), deep), columns=columns, role=role,
                name=f"W_{letter.upper()}", site=f"W_{letter.upper()}",
                # Of every layer and head: rows that share cells are for the eye, and a byte a number is enough.
                coarse=deep > 1, walk=deep == 1,
            ),
            Text(id=f"{letter}.is", text="→", x=(0.675, 0), y=y + TALL / 2, anchor="middle", size=18, bold=True),
            Text(
                id=f"{letter}.made", text=words(f"projected_{letter}", t=n, k=config.d_head), x=(RIGHT[0], 0), y=y - 12,
                bold=True,
            ),
            cells(
                f"made.{letter}", look.by("layer head", made), RIGHT, y, TALL, role=role, rows=names, columns=columns,
                top=top(made, "layer head"), name=letter.upper(), site=look.full(f"attn.{letter}"),
                where=look.cells(f"attn.{letter}", (head, ROW, COLUMN)) if pool == 1 else None,
            ),
        ]  # fmt: skip
        marks.append(_frame(f"row.{letter}", RIGHT, y, TALL, n, pool))
    marks.append(_frame("row.x", LEFT, TOP, whole, n, pool))
    panel = Panel(id="projected", marks=marks, height=TOP + whole + 4, min=560)
    scene = Scene(
        id="attention.projected",
        panels=[panel],
        title=words("projected_alt", head=look.head_number, layer=look.layer_number),
        note=look.common("pooled", rows=deep, columns=1) if deep > 1 else "",
    )
    return look.drawn(scene, [site, *(f"attn.{letter}" for letter in LETTERS)], data=found)


def _frame(id: str, place: tuple[float, float], y: float, height: float, n: int, pool: int) -> Rect:
    """Around the row of the selected token."""
    rows = -(-n // pool)
    at: Any = by("token", (y + height / rows * (np.arange(n) // pool)).astype(np.float32))
    return Rect(id=id, x=(place[0], 0), y=at, width=(place[1], 0), height=height / rows, stroke="accent", thick=2)


def tell(look: Look) -> Iterator[Line]:
    if (layer := read_of(look)) is not None:
        yield look.text("projected_read", layer=layer)
        return
    if (narrow := latent(look)) is not None:
        config = look.here
        own, shared = narrow.rank + narrow.d_rotated, 2 * config.n_heads * config.d_head
        yield look.text("projected_latent", rank=narrow.rank, shared=narrow.d_rotated, own=own, each=shared)
        return
    config = look.here
    bias: Any = look.trace.stack.block(look.layers.start).attn.q.bias
    yield look.text(
        "projected" if bias is None else "projected_bias", token=look.token_named(), d=config.d_model, k=config.d_head,
        t=len(look), head=look.head_number, layer=look.layer_number,
    )  # fmt: skip
