"""Where the norm stands in a block, with the lengths of one token's vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from viz_model.drawing import axes, boxes, curves, theme
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import note
from viz_model.topics.norm_placement.pictures.look import COLOURS, NAMES

RISE, HALF = 3.3, 0.28
"""The height of a sub-layer, and half that of a box."""
APART, BESIDE = 4.9, 1.75
"""From one column to the next, and from the stream to the branch."""


class Branch(NamedTuple):
    """A sub-layer: the length of what it adds, of the sum, and of the stream after it.

    Under Pre-LN the last two are the same; under Post-LN a norm stands between them.
    """

    name: str
    added: float
    total: float
    after: float


class BlockView(NamedTuple):
    """‖·‖ of one token's vectors on its way through one block."""

    entering: float
    branches: tuple[Branch, ...]

    @property
    def on_stream(self) -> tuple[float, ...]:
        """The lengths of all that stands on the stream."""
        return self.entering, *(length for branch in self.branches for length in (branch.total, branch.after))

    @property
    def out(self) -> float:
        return self.branches[-1].after


def draw_blocks(views: Mapping[str, BlockView], names: Mapping[str, str], chosen: str) -> Sheet:
    """Both blocks from top to bottom, the stream as thick as the token's vector is long.

    ``names`` has "norm", "attn", "cross" and "ffn"; the twin ``chosen`` bears a mark.
    """
    figure = Sheet()
    longest = max(length for view in views.values() for length in view.on_stream) or 1.0
    height = RISE * max(len(view.branches) for view in views.values())
    for column, (place, view) in enumerate(views.items()):
        left, before = APART * column, view.entering
        for n, branch in enumerate(view.branches):
            _sub_layer(figure, place, branch, before, names, longest, (left, RISE * n))
            before = branch.after
        note(figure, f"{before:.1f}", left - 0.26, height - 0.1, bold=True, colour=theme.INK, xanchor="right")
        mark = "● " if place == chosen and len(views) > 1 else ""
        note(figure, mark + NAMES[place], left, -0.4, size=15, bold=True, colour=COLOURS[place])
    across = [-1.2, 7.7] if len(views) > 1 else [-3.0, 4.8]
    axes.hidden(figure, across, [height + 0.1, -0.65], automargin=False)
    return theme.finished(figure, height=int(65 * height) + 40)


def _sub_layer(
    figure: Sheet,
    place: str,
    branch: Branch,
    before: float,
    names: Mapping[str, str],
    longest: float,
    corner: tuple[float, float],
) -> None:
    """One sub-layer: the branch with its boxes, the addition, and under Post-LN the norm on the stream."""
    (left, base), colour = corner, COLOURS[place]
    is_pre, beside, role = place == "pre", left + BESIDE, "ffn" if branch.name == "ffn" else "pattern"
    start, plus, end = base + 0.35, base + (2.75 if is_pre else 1.95), base + RISE

    def stream(low: float, high: float, length: float) -> None:
        boxes.line(figure, (left, low), (left, high), color=colour, width=2.0 + 12.0 * length / longest)

    def write(text: str, y: float, bold: bool = False) -> None:
        note(figure, text, left - 0.26, y, bold=bold, colour=theme.INK, xanchor="right")

    write(f"{before:.1f}", base + 0.12, bold=True)
    boxes.line(figure, (left, start), (beside, start))
    # Boxes leave a gap in the line, as nothing hides what is under a transparent box.
    on_branch = [(base + 0.95, "norm", "norm"), (base + 1.9, branch.name, role)]
    for y, name, hue in on_branch if is_pre else [(base + 1.15, branch.name, role)]:
        boxes.line(figure, (beside, start), (beside, y - HALF))
        _box(figure, beside, y, names[name], hue)
        start = y + HALF
    boxes.line(figure, (beside, start), (beside, plus))
    boxes.arrow(figure, (beside, plus), (left + 0.24, plus))
    added = f"+ {branch.added:.1f}"
    note(figure, added, beside + 0.08, plus, colour=theme.INK, xanchor="left", yanchor="bottom")
    stream(base, plus, before)
    if is_pre:
        stream(plus, end, branch.after)
    else:
        norm = base + 2.75
        stream(plus, norm - HALF, branch.total)
        _box(figure, left, norm, names["norm"], "norm")
        stream(norm + HALF, end, branch.after)
        write(f"{branch.total:.1f}", plus + 0.22)
    sign: dict[str, Any] = {"mode": "markers+text", "text": ["+"], "textfont": {"size": 15, "color": "#ffffff"}}
    curves.points(figure, [left], [plus], colour, size=22, **sign)


def _box(figure: Sheet, x: float, y: float, name: str, role: str) -> None:
    colour = theme.ROLES[role]
    look = {"line": {"color": colour, "width": 2}, "fillcolor": theme.rgba(colour, 0.2)}
    boxes.rectangle(figure, (x - 0.95, x + 0.95), (y - HALF, y + HALF), **look)
    note(figure, name, x, y, colour=theme.INK)
