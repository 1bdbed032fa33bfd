"""Writing as text: words of one look or of several, names along edges, lines that are broken."""

import math
import re
from collections.abc import Sequence

import numpy as np

from viz_model.drawing.scene import writing
from viz_model.drawing.scene.marks import Labels, Run, Text, Texts, Words
from viz_model.drawing.scene.svg.ground import Ground, element, n, nth, speakable

MONO = "ui-monospace, 'Source Code Pro', 'Noto Sans Mono', 'DejaVu Sans Mono', monospace"

LINE = 15.0
"""Pixels that a line of writing takes."""

_LEADING = 1.25
_BOLD = 1.06
"""Of the size from line to line; how much wider bold writing is."""

_COUNTED = tuple(step * 10**power for power in range(3) for step in (1, 2, 5))
"""Every how many-th of names that are numbers may be written."""

_PIECE = re.compile(r"\s*(?:[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]|[^\s\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]+)")
"""What a line may be broken after: a word, or one character of Chinese."""


def lines_of(words: Words) -> tuple[tuple[Run, ...], ...]:
    return ((Run(words),),) if isinstance(words, str) else words


def plain(words: Words) -> str:
    return " ".join("".join(run.text for run in line) for line in lines_of(words))


def wide(words: Words, size: float = 12) -> float:
    """Pixels of the widest line."""
    return max(
        (
            writing.width_of("".join(run.text for run in line), size) * (_BOLD if any(run.bold for run in line) else 1)
            for line in lines_of(words)
        ),
        default=0.0,
    )


def broken(text: str, width: float, size: float) -> list[str]:
    """Text in lines of so many pixels at the most; a word that is wider, such as a link, is broken where it must be."""
    lines: list[str] = []
    pieces = (part for piece in _PIECE.findall(text) for part in ([piece] if wide(piece, size) <= width else piece))
    for piece in pieces:
        if lines and wide(lines[-1] + piece, size) <= width:
            lines[-1] += piece
        else:
            lines.append(piece.strip())
    return lines


def written(
    ground: Ground,
    words: Words,
    x: float,
    y: float,
    *,
    anchor: str = "start",
    align: str = "middle",
    size: float = 12,
    fill: str = "ink",
    bold: bool = False,
    mono: bool = False,
    rotate: float = 0,
    opacity: float = 1,
) -> str:
    """A text element; ``align`` says which line of several stands at ``y``."""
    return element(
        "text",
        speakable(words) if isinstance(words, str) else _runs(ground, words, x, y, align, size),
        x=x,
        y=y,
        text_anchor=anchor,
        dominant_baseline="central",
        fill=ground.color(fill),
        fill_opacity=None if opacity == 1 else opacity,
        font_size=None if size == 12 else size,
        font_weight="700" if bold else None,
        font_family=MONO if mono else None,
        transform=f"rotate({n(rotate)} {n(x)} {n(y)})" if rotate else None,
    )


def _runs(ground: Ground, lines: Sequence[Sequence[Run]], x: float, y: float, align: str, size: float) -> str:
    first = {"top": 0.0, "middle": (1 - len(lines)) / 2}[align]
    return "".join(
        element(
            "tspan",
            speakable(run.text),
            x=x if i == 0 else None,
            y=y + (first + row) * size * _LEADING if i == 0 else None,
            font_weight="700" if run.bold else None,
            fill=ground.color(run.fill) if run.fill else None,
        )
        for row, line in enumerate(lines)
        for i, run in enumerate(line)
    )


def text(mark: Text, ground: Ground) -> list[str]:
    return [
        written(
            ground,
            mark.text,
            ground.px(mark.x),
            ground.px(mark.y),
            anchor=mark.anchor,
            size=mark.size,
            fill=mark.fill,
            bold=mark.bold,
            mono=mark.mono,
            rotate=mark.rotate,
            opacity=mark.opacity,
        )
    ]


def texts(mark: Texts, ground: Ground) -> list[str]:
    """Those that have a place, and room in it."""
    xs, ys = ground.along(mark.x), ground.along(mark.y)
    rooms = np.full(len(xs), np.inf) if mark.rooms is None else ground.along(mark.rooms)
    return [
        written(ground, words, x, y, anchor=nth(mark.anchor, i), size=mark.size, fill=nth(mark.fill, i), mono=mark.mono)
        for i, (words, x, y, room) in enumerate(zip(mark.texts, xs, ys, rooms, strict=True))
        if plain(words) and math.isfinite(x) and math.isfinite(y) and wide(words, mark.size) + 4 <= room
    ]


def labels(mark: Labels, ground: Ground) -> list[str]:
    """Names along an edge, as many as there is room for; slanted where they would touch."""
    names = [writing.short(name, mark.most) if isinstance(name, str) else name for name in mark.texts]
    if not names:
        return []
    x, y, is_upright = ground.px(mark.x), ground.px(mark.y), mark.along == "y"
    places, step = _places(mark, ground)
    longest = max(wide(name, mark.size) for name in names)
    is_counted = all(re.fullmatch("[0-9]+", plain(name)) for name in names)
    marked: int | None = mark.marked
    is_slanted = False
    if is_upright:
        every = max(1, math.ceil(LINE / step))
    elif is_counted and mark.turn != "always":
        every, marked = next((m for m in _COUNTED if longest + 10 <= step * m), len(names)), None
    elif mark.turn != "always" and longest + 6 <= step:
        every = 1
    else:
        is_slanted = mark.turn != "never"
        every = max(1, math.ceil((LINE if is_slanted else longest + 8) / step))
    drawn = []
    for i, (name, place) in enumerate(zip(names, places, strict=True)):
        # The marked name is always written; neighbors that would touch it are not.
        if i != marked and (i % every or (marked is not None and abs(i - marked) < every)):
            continue
        at: tuple[float, float, str, str, float]
        if is_upright:
            at = x, place, mark.anchor or "end", "middle", 0
        elif is_slanted:
            at = place + 4, y + 4, "end", "top", -45
        else:
            at = place, y + 8, "middle", "top", 0
        left, above, anchor, align, rotate = at
        drawn.append(
            written(
                ground,
                name,
                left,
                above,
                anchor=anchor,
                align=align,
                rotate=rotate,
                size=mark.size,
                fill=mark.fill,
                bold=i == mark.marked,
                mono=mark.mono,
            )
        )
    return drawn


def _places(mark: Labels, ground: Ground) -> tuple[np.ndarray, float]:
    """Where the names stand, in pixels [N], and how far apart the nearest two are."""
    count, length = len(mark.texts), ground.px(mark.length)
    begin = ground.px(mark.y if mark.along == "y" else mark.x)
    even = length / count
    places = begin + (np.arange(count) + 0.5) * even if mark.places is None else ground.along(mark.places)
    nearest = float(np.abs(np.diff(places)).min()) if count > 1 else abs(length)
    return places, nearest or even
