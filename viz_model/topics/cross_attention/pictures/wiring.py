"""How the two halves are joined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from viz_model.config import ModelConfig
from viz_model.drawing import axes, boxes, sheet, theme
from viz_model.drawing.writing import note

WORDS = ("source", "target", "block", "self", "cross", "ffn", "vectors", "logits", "keys", "query")


MOST_BLOCKS = 5


class WiringView(NamedTuple):
    """The boxes of an encoder–decoder, each stack from the top down; None stands for the blocks left out.

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
    """The blocks of a stack from the top down: all of a small one, else the ends and one more."""
    if depth <= MOST_BLOCKS:
        return tuple(range(depth))
    shown = sorted({0, kept, depth - 1})
    blocks: list[int | None] = []
    for n, block in enumerate(shown):
        if n and block > shown[n - 1] + 1:
            blocks.append(None)
        blocks.append(block)
    return tuple(blocks)


_FOLDED = "⋮"


class _Box(NamedTuple):
    text: str
    role: str
    block: int | None = None  # of the decoder: where the encoder's vectors enter it
    strong: bool = False


def draw_wiring(view: WiringView, names: Mapping[str, str]) -> sheet.Sheet:
    """Two towers of boxes: the encoder's last vectors go as keys and values to every block of the decoder.

    ``names`` are :data:`WORDS`.
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
    figure, spans = sheet.Sheet(), ((0.0, 0.38), (0.56, 1.0))
    for tower, (x0, x1) in zip((left, right), spans, strict=True):
        middle = (x0 + x1) / 2
        for y, box in enumerate(tower):
            colour = theme.ROLES[box.role]
            if box.text != _FOLDED:
                shade = theme.rgba(colour, 0.22 if box.strong else 0.1)
                edge = {"color": colour, "width": 2 if box.strong else 1}
                boxes.rectangle(figure, (x0, x1), (y - 0.34, y + 0.34), line=edge, fillcolor=shade)
            note(figure, box.text, middle, y, colour=theme.INK)
            if y:
                boxes.arrow(figure, (middle, y - 0.66), (middle, y - 0.36), arrowwidth=1.6)
    last, bus = len(left) - 1, 0.47
    enters = [y for y, box in enumerate(right) if box.block is not None]
    # Two rails, one of keys and one of values, from the encoder's last vectors to every block of the decoder.
    for role, shift, off in (("key", -0.012, -0.07), ("value", 0.012, 0.07)):
        colour, rail = theme.ROLES[role], bus + shift
        ends = [last + off, *(y + off for y in enters)]
        boxes.line(figure, (spans[0][1], last + off), (rail, last + off), color=colour)
        boxes.line(figure, (rail, min(ends)), (rail, max(ends)), color=colour)
        for y in enters:
            boxes.arrow(figure, (rail, y + off), (spans[1][0], y + off), arrowwidth=1.6, arrowcolor=colour)
    opened = next(y for y, box in enumerate(right) if box.block == view.layer)
    boxes.arrow(figure, (0.66, opened - 0.66), (0.66, opened - 0.36), arrowwidth=1.6, arrowcolor=theme.ROLES["query"])
    note(figure, names["keys"], bus, min(last, *enters) - 0.42, colour=theme.INK)
    note(figure, names["query"], 0.67, opened - 0.5, colour=theme.INK, xanchor="left")
    tall = max(len(left), len(right))
    axes.hidden(figure, x=(-0.01, 1.01), y=(tall - 0.5, -0.8))
    return theme.finished(figure, height=40 + 42 * tall, margin={"l": 2, "r": 2})
