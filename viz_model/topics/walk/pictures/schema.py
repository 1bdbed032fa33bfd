"""How one block is put together: the line of a token, its side ways with their parts, and where the norms stand."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.config import NormAt
from viz_model.drawing.scene import Mark, Path, Rect, Text
from viz_model.topics.walk.pictures.stage import LEFT, Shot, Stage, at, heading, lengths, link, wide

Part = Literal["attn", "cross", "ffn"]

_FILLS = {"attn": "pattern", "cross": "value", "ffn": "ffn"}
_LINE, _TOP, _BOTTOM, _LOW, _HIGH = 270.0, 60.0, 104.0, 148.0, 218.0
"""Pixels down to the line, to the upper and lower edge of a part, and to the middle of norms on a side way: the lower
side of it is passed first."""


class Schema(NamedTuple):
    """One block, drawn out.

    Attributes:
        parts: in the order in which the line passes them.
        norm_at: where their norms stand.
    """

    parts: tuple[Part, ...]
    norm_at: NormAt


def one_block(stage: Stage, view: Schema) -> Shot:
    """The line goes through, and every part reads it and adds to it."""
    say, stroke, y = stage.say, stage.colour(stage.asking), stage.middle(stage.asking)
    marks: list[Mark] = [
        *stage.chips(),
        heading("block", say("one_block"), LEFT),
        link(f"line.{stage.asking}", LEFT - 10, y, at(0.05), _LINE, stroke=stroke, thick=3),
        _way("line.whole", (0.05, 1.0), (_LINE, _LINE), stroke=stroke, thick=3),
    ]
    span = 0.95 / len(view.parts)
    for n, part in enumerate(view.parts):
        marks += _part(stage, part, 0.05 + n * span, span, view.norm_at)
    return Shot(say(f"one_{view.norm_at}"), marks, 3.2, 1.0)


def _part(stage: Stage, part: Part, left: float, span: float, norm_at: NormAt) -> list[Mark]:
    """A part on its side way, from the line up to it and down again, and its norms."""
    say, up, down = stage.say, left + 0.2 * span, left + 0.56 * span
    disc: dict[str, Any] = {"x": at(down, -10), "y": _LINE - 10, "width": 20, "height": 20, "radius": 10}
    marks: list[Mark] = [
        _way(f"up.{part}", (up, up), (_LINE, _BOTTOM), head=7),
        _way(f"down.{part}", (down, down), (_BOTTOM, _LINE - 10), head=7),
        *_box(part, say(f"box_{part}"), left + 0.02 * span, 0.72 * span, (_TOP, _BOTTOM), _FILLS[part]),
        Rect(id=f"plus.{part}", fill="paper", **disc),
        Rect(id=f"plus.edge.{part}", fill="residual", stroke="residual", opacity=0.15, **disc),
        Text(id=f"plus.sign.{part}", text="+", x=at(down), y=_LINE, anchor="middle", size=15, bold=True),
    ]
    wide_ = 0.34 * span
    if norm_at in ("pre", "both"):
        middle = _HIGH if norm_at == "pre" else (_LOW + _HIGH) / 2
        marks += _box(f"norm.{part}", say("box_norm"), up - wide_ / 2, wide_, (middle - 14, middle + 14), "norm")
    if norm_at in ("branch", "both"):
        middle = (_LOW + _HIGH) / 2
        marks += _box(f"norm.out.{part}", say("box_norm"), down - wide_ / 2, wide_, (middle - 14, middle + 14), "norm")
    if norm_at == "post":
        marks += _box(f"norm.{part}", say("box_norm"), down + 0.08 * span, wide_, (_LINE - 15, _LINE + 15), "norm")
    return marks


def _box(name: str, told: str, left: float, width: float, down: tuple[float, float], fill: str) -> list[Mark]:
    y, height = down[0], down[1] - down[0]
    box: dict[str, Any] = {"x": at(left), "y": y, "width": wide(width), "height": height, "radius": 6}
    return [
        Rect(id=f"box.back.{name}", fill="paper", **box),
        Rect(id=f"box.{name}", fill=fill, stroke=fill, opacity=0.25, **box),
        Text(id=f"box.name.{name}", text=told, x=at(left + width / 2), y=y + height / 2, anchor="middle", size=12.5),
    ]


def _way(
    id: str,
    across: tuple[float, float],
    down: tuple[float, float],
    *,
    stroke: str = "residual",
    thick: float = 2,
    head: float = 0,
) -> Path:
    y = np.array([[0, down[0]], [0, down[1]]], dtype=np.float32)
    return Path(id=id, x=lengths(np.array(across)), y=y, stroke=stroke, thick=thick, head=head)
