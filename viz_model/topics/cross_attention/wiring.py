"""How the two stacks are joined, and what the decoder keeps of the source."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import ModelConfig
from viz_model.drawing.scene import Mark, Panel, Path, Rect, Scene, Text
from viz_model.island import query
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import kv_cache
from viz_model.topics.cross_attention.weights import facts

MOST_BLOCKS = 5
"""Blocks of a stack that are drawn at the most; of a deeper one the ends and the selected one."""
TOP, PITCH, TALL = 34.0, 42.0, 28.0
"""Pixels above the middle of the first box, from box to box, and of a box."""
LEFT, RIGHT, RAIL = (0.0, 0.38), (0.56, 1.0), 0.47
"""Shares of the width: the two towers, and the rails between them."""


class Box(NamedTuple):
    """A box of a tower; ``block`` is that of the decoder whose cross-attention it holds, "" where blocks are left out.

    A ``strong`` one is filled.
    """

    text: str
    role: str
    block: int | None = None
    strong: bool = False


def folded(depth: int, kept: int) -> list[int | None]:
    """The blocks of a stack from above to below: all of a small one, else the ends and one more, and None between."""
    if depth <= MOST_BLOCKS:
        return list(range(depth))
    shown = sorted({0, kept, depth - 1})
    blocks: list[int | None] = []
    for n, block in enumerate(shown):
        if n and block > shown[n - 1] + 1:
            blocks.append(None)
        blocks.append(block)
    return blocks


def towers(look: Look, layer: int) -> tuple[list[Box], list[Box]]:
    """The encoder's boxes and the decoder's, whose block ``layer`` is drawn open."""
    config, words = look.config, look.words

    def block(n: int | None) -> str:
        return "" if n is None else f"{words('wire_block')} {n}"

    n_source, depth = len(query.keys(look, "cross")), config.depth("encoder")
    left = [Box(f"{words('wire_source')}  [{n_source}]", "token")]
    left += [Box(block(n), "residual") for n in folded(depth, depth - 1)]
    left.append(Box(f"{words('wire_vectors')}  [{n_source}×{config.d_model}]", "residual", strong=True))
    right = [Box(f"{words('wire_target')}  [{len(look)}]", "token")]
    for n in folded(look.n_layers, layer):
        if n == layer:
            right.append(Box(f"{block(n)}: {words('wire_self')}", "residual", strong=True))
            right.append(Box(words("wire_cross"), "pattern", n, strong=True))
            right.append(Box(words("wire_ffn"), "ffn", strong=True))
        else:
            right.append(Box(block(n), "residual", n))
    right.append(Box(words("wire_logits"), "output"))
    return left, right


def draw(look: Look) -> Scene:
    """Two towers of boxes: the encoder's last vectors go as keys and values to every block of the decoder."""
    left, right = towers(look, look.layer)
    marks: list[Mark] = []

    def middle(n: float) -> float:
        return TOP + PITCH * n

    def line(id: str, ends: tuple[tuple[float, float], tuple[float, float]], stroke: str, head: float = 0) -> None:
        x, y = (
            np.array([[end[0], 0] for end in ends], np.float32),
            np.array([end[1] for end in ends], np.float32),
        )
        marks.append(Path(id=id, x=x, y=y, stroke=stroke, head=head))

    for side, tower, (start, end) in (("left", left, LEFT), ("right", right, RIGHT)):
        for n, box in enumerate(tower):
            place: dict[str, Any] = {
                "x": (start, 1),
                "width": (end - start, -2),
                "y": middle(n) - TALL / 2,
                "height": TALL,
            }
            if box.text:
                marks.append(Rect(id=f"{side}.{n}", fill=box.role, opacity=0.22 if box.strong else 0.1, **place))
                marks.append(Rect(id=f"{side}.edge.{n}", stroke=box.role, thick=2 if box.strong else 1, **place))
            x = ((start + end) / 2, 0.0)
            marks.append(Text(id=f"{side}.name.{n}", text=box.text or "⋮", x=x, y=middle(n), anchor="middle"))
            if n:
                line(f"{side}.up.{n}", ((x[0], middle(n - 1) + TALL / 2), (x[0], middle(n) - TALL / 2)), "muted", 6)
    last = middle(len(left) - 1)
    enters = [middle(n) for n, box in enumerate(right) if box.block is not None]
    # Two rails, one of keys and one of values, from the encoder's last vectors to every block of the decoder.
    for role, shift, off in (("key", -0.012, -3.0), ("value", 0.012, 3.0)):
        rail, ends = RAIL + shift, [last + off, *(y + off for y in enters)]
        line(f"{role}.out", ((LEFT[1], last + off), (rail, last + off)), role)
        line(f"{role}.rail", ((rail, min(ends)), (rail, max(ends))), role)
        for n, y in enumerate(enters):
            line(f"{role}.in.{n}", ((rail, y + off), (RIGHT[0], y + off)), role, 6)
    opened = next(middle(n) for n, box in enumerate(right) if box.block == look.layer)
    line("query", ((0.66, opened - PITCH + TALL / 2), (0.66, opened - TALL / 2)), "query", 6)
    names = look.words("wire_keys"), look.words("wire_query")
    marks.append(Text(id="keys", text=names[0], x=(RAIL, 0), y=min(last, *enters) - 16, anchor="middle"))
    marks.append(Text(id="query.name", text=names[1], x=(0.67, 0), y=opened - PITCH / 2))
    panel = Panel(id="wiring", marks=marks, height=TOP + PITCH * max(len(left), len(right)) - 8, min=300)
    scene = Scene(id="cross_attention.wiring", panels=[panel], title=look.words("wiring_alt"))
    return look.drawn(look.only_here(scene), ["cross.q", "cross.k", "cross.v"])


def tell(look: Look) -> Iterator[Line]:
    known, config = facts(look), look.config
    n_source, n_target = int(known["n_source"]), int(known["n_target"])
    kept = kv_cache.cache(config, n_target, config.n_kv_heads, kv_cache.itemsize(look.trace), n_source)
    yield look.text("wiring", **known)
    yield look.text(
        "cache",
        n_source=n_source,
        n_target=n_target,
        source_bytes=f"{kept.cross_attention:,}",
        target_bytes=f"{kept.self_attention:,}",
        products=f"{spared(config, n_source):,}",
        a_number=kv_cache.itemsize(look.trace),
    )


def spared(config: ModelConfig, n_source: int) -> int:
    """Multiplications that each step would spend on the source's keys and values, were they not kept: 2·L·Ts·D·G·K."""
    return 2 * config.n_layers * n_source * config.d_model * config.n_kv_heads * config.d_head
