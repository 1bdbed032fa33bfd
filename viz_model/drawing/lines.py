"""Two columns of tokens, joined by lines as thick as the attention weights between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.drawing import palettes
from viz_model.drawing.scene import Length, Mark, Panel, Path, Pick, Rect, Scene, Select, Text
from viz_model.drawing.scene.writing import short
from viz_model.drawing.spans import around, window

MOST_LINES = 28
"""Tokens of either text that are joined by lines at the most."""

WORDS = ("source", "target", "reads", "is_read")
"""What is written over the columns, and below the lines: who reads, and who is read."""


class LinesView(NamedTuple):
    """Weights [q, s] from a window of the target to a window of the source.

    ``first`` is where the windows (target, source) begin, ``selected`` a row of ``weights``, and
    ``share`` the part of that row's weight which the source window holds.
    """

    weights: np.ndarray
    target: tuple[str, ...]
    source: tuple[str, ...]
    first: tuple[int, int]
    selected: int
    share: float

    @classmethod
    def of(
        cls, pattern: np.ndarray, target: Sequence[str], source: Sequence[str], token: int, most: int = MOST_LINES
    ) -> LinesView:
        """``pattern`` is [Tq, Ts]; the windows, of ``most`` tokens, follow the selected one and what it reads."""
        rows, columns = around(token, len(target), most), window(pattern[token], most)
        return cls(
            weights=pattern[rows, columns],
            target=tuple(target[rows]),
            source=tuple(source[columns]),
            first=(rows.start, columns.start),
            selected=token - rows.start,
            share=float(pattern[token, columns].sum()),
        )


_LEAST, _TALL, _HEAD, _WIDE = 0.02, 22.0, 26.0, 0.34
"""The smallest weight that is drawn; pixels of a token and above the first; share of the width that a token takes."""


def scene(
    view: LinesView, id: str, title: str, words: Mapping[str, str], pitch: int = 32, *, picks: bool = False
) -> Scene:
    """Those that are read on the left, those that read on the right; the selected one's lines are strong.

    ``words`` has those of :data:`WORDS`; a token takes ``pitch`` pixels of height. A click on one that reads
    selects it, or where it ``picks``, tells the page.
    """
    rows = max(len(view.target), len(view.source))
    places = {"source": _spread(len(view.source), rows, pitch), "target": _spread(len(view.target), rows, pitch)}
    marks: list[Mark] = []
    strong: list[Mark] = []
    faint: list[Mark] = []
    for q, s in zip(*np.nonzero(view.weights >= _LEAST), strict=True):
        weight, lit = float(view.weights[q, s]), q == view.selected
        line = Path(
            id=f"line.{view.first[0] + q}.{view.first[1] + s}",
            x=np.array([[_WIDE, 3], [1 - _WIDE, -3]]),
            y=np.array([[0, places["source"][s]], [0, places["target"][q]]]),
            stroke="pattern",
            thick=0.6 + 7 * weight,
            opacity=0.35 + 0.65 * weight if lit else 0.1,
            curve="link",
        )
        (strong if lit else faint).append(line)
    marks += [*faint, *strong]
    for side, labels in (("source", view.source), ("target", view.target)):
        is_source = side == "source"
        top = places[side][0] - _TALL / 2 - 10
        place: Length = (_WIDE, 0) if is_source else (1 - _WIDE, 0)
        marks.append(
            Text(id=side, text=words[side], x=place, y=top, anchor="end" if is_source else "start", fill="muted")
        )
        for i in range(len(labels)):
            marks += _token(view, side, i, places[side][i], words, picks)
    height = _HEAD + pitch * rows + 4
    return Scene(id=id, panels=[Panel(id="lines", marks=marks, height=height, min=260)], title=title)


def _spread(count: int, rows: int, pitch: int) -> list[float]:
    """Where ``count`` tokens stand: the shorter text in the middle, spread a little, so that the lines run level."""
    step = min(1.5 * pitch, pitch * rows / count)
    first = (pitch * rows - step * count) / 2
    return [_HEAD + first + step * (i + 0.5) for i in range(count)]


def _token(view: LinesView, side: str, i: int, middle: float, words: Mapping[str, str], picks: bool) -> list[Mark]:
    """A token in its box: of one that is read, with its share of the selected one's weight."""
    is_source = side == "source"
    labels, others = (view.source, view.target) if is_source else (view.target, view.source)
    position, label = view.first[is_source] + i, labels[i]
    reads = view.weights[:, i] if is_source else view.weights[i]
    best = int(reads.argmax())
    told = f"{position}: {label} · {words['is_read' if is_source else 'reads']} {others[best]}: {reads[best]:.4f}"
    role, left = palettes.token(position), 0.0 if is_source else (1 - _WIDE, 0)
    is_selected = not is_source and i == view.selected
    box: dict[str, Any] = {"x": left, "y": middle - _TALL / 2, "width": (_WIDE, 0), "height": _TALL, "radius": 4}
    act = None if is_source else Pick(position) if picks else Select(token=position)
    share = float(view.weights[view.selected, i]) if is_source else 0.0
    marks: list[Mark] = [
        Rect(id=f"{side}.{position}", fill=role, opacity=0.13 + 0.3 * is_selected, act=act, label=told, **box)
    ]
    edge: Length = (_WIDE, -4) if is_source else left
    marks.append(Rect(id=f"{side}.mark.{position}", **{**box, "x": edge, "width": 4, "radius": 0}, fill=role))
    at: Length = (_WIDE, -10) if is_source else (1 - _WIDE, 10)
    anchor: Literal["start", "end"] = "end" if is_source else "start"
    marks.append(Text(id=f"{side}.name.{position}", text=short(label), x=at, y=middle, anchor=anchor, size=13))
    if share >= 0.005:
        marks.append(Text(id=f"share.{position}", text=f"{share:.0%}", x=8, y=middle, fill="muted"))
    return marks
