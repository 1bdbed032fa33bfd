"""What attention begins with: the vectors X times W_Q, W_K and W_V are the queries, keys and values of a head."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from torch import nn

from viz_model.config import Latent
from viz_model.drawing import heatmap
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.heatmap import Pool
from viz_model.drawing.scene import Cells, Mark, Panel, Rect, Scene, Text
from viz_model.drawing.tables import by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import heads
from viz_model.model import stored
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
    """What is read, [L, T, D], and by letter the ``weights``, [L, H, D, K], and what they make of it, [L, H, T, K].

    Of keys and values that heads share there is one for each group.
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
    weights = {letter: _by_head(look, letter, _numbers) for letter in LETTERS}
    made = {letter: look.every(made_of(look, letter)) for letter in LETTERS}
    return Products(look.every(read_site(look)), weights, made)


def _by_head(look: Look, letter: str, read: Callable[[nn.Linear], np.ndarray]) -> np.ndarray:
    """What is read, [H·K, D], of the matrix of every layer that is held, as [L, H, D, K]."""
    attention: list[Any] = [look.trace.stack.block(layer).attn for layer in look.layers]
    found = np.stack([read(stored.running(getattr(one, letter))) for one in attention])
    return found.reshape(len(found), -1, look.here.d_head, found.shape[-1]).swapaxes(-1, -2)


def _numbers(matrix: nn.Linear) -> np.ndarray:
    return stored.single(matrix.weight.detach()).numpy()


def _deep(width: int) -> int:
    """How many entries of a row share a cell."""
    return -(-width // MOST_DEEP)


_DRAWN: WeakKeyDictionary[nn.Linear, tuple[int, np.ndarray]] = WeakKeyDictionary()
"""Matrices as they are drawn, with the version of their weights: of a large model it takes time to read them all."""


def _drawn(matrix: nn.Linear) -> np.ndarray:
    version = 0 if matrix.weight.is_inference() else matrix.weight._version  # another once somebody has trained on
    if _DRAWN.get(matrix, (-1, None))[0] != version:
        _DRAWN[matrix] = version, heatmap.pooled(_numbers(matrix), Pool(1, _deep(matrix.in_features)))
    return _DRAWN[matrix][1]


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
    site, words, n = read_site(look), look.words, len(look)
    read = look.every(site)
    pool, deep = -(-n // MOST_ROWS), _deep(read.shape[-1])
    names, config = heatmap.spans(look.labels, pool), look.here
    whole = 3 * TALL + 2 * GAP
    group = by("head", np.array([heads.shared_with(config, head)[0] for head in range(look.n_heads)]))
    own: dict[str, dict[str, Any]] = {"q": {}, "k": {"head": group}, "v": {"head": group}}

    def cells(id: str, values: Any, place: tuple[float, float], y: float, height: float, **more: Any) -> Cells:
        place_: dict[str, Any] = {"x": (place[0], 0), "y": y, "width": (place[1], 0), "height": height}
        return Cells(id=id, values=values, look="signed", **place_, **more)

    def top(values: np.ndarray, axes: str, **fixed: Any) -> Any:
        most = np.abs(values).max((-2, -1))  # of pooled numbers, too: they are those furthest from 0
        return look.by(axes, np.where(most > 0, most, 1.0).astype(np.float32), **fixed)

    x = heatmap.pooled(read, Pool(pool, 1))
    marks: list[Mark] = [
        Text(id="x.name", text=words("projected_x", t=n, d=config.d_model), x=(LEFT[0], 0), y=10, bold=True),
        cells(
            "x", look.by("layer", x), LEFT, TOP, whole, top=top(x, "layer"), rows=names, name="X",
            columns=tuple(map(str, range(x.shape[-1]))), site=look.full(site),
            where=look.cells(site, (ROW, COLUMN)) if pool == 1 else None,
        ),
    ]  # fmt: skip
    for n_row, (letter, role) in enumerate(LETTERS.items()):
        y, fixed = TOP + n_row * (TALL + GAP), own[letter]
        w = _by_head(look, letter, _drawn)
        made = heatmap.pooled(look.every(made_of(look, letter)), Pool(pool, 1))
        columns = tuple(map(str, range(config.d_head)))
        marks += [
            Text(id=f"{letter}.times", text="·", x=(0.335, 0), y=y + TALL / 2, anchor="middle", size=20, bold=True),
            Text(
                id=f"{letter}.weight", text=words(f"projected_w{letter}", d=config.d_model, k=config.d_head),
                x=(MIDDLE[0], 0), y=y - 11, bold=True,
            ),
            cells(
                f"w.{letter}", look.by("layer head", w, **fixed), MIDDLE, y, TALL, top=top(w, "layer head", **fixed),
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
                f"made.{letter}", look.by("layer head", made, **fixed), RIGHT, y, TALL, role=role, rows=names,
                columns=columns, top=top(made, "layer head", **fixed), name=letter.upper(),
                site=look.full(f"attn.{letter}"),
                where=look.cells(f"attn.{letter}", (fixed.get("head", "head"), ROW, COLUMN)) if pool == 1 else None,
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
    return look.drawn(scene, [site, *(f"attn.{letter}" for letter in LETTERS)], data=products(look.narrow))


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
