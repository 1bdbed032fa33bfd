"""Two columns of tokens joined by lines as thick as attention weights: who reads whom."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.scene import Length, Mark, Panel, Path, Rect, Scene, Select, Text
from viz_model.drawing.scene.writing import short
from viz_model.drawing.spans import windows
from viz_model.drawing.tables import Among, Lengths, by
from viz_model.island.look import Look

MOST, PITCH = 20, 26
"""Tokens on either side at the most, and the pixels that each takes."""
LEAST, TALL, TOP, WIDE = 0.02, 22.0, 26.0, 0.34
"""The smallest weight that is drawn; pixels of a token and above the first; share of the width that a token takes."""


def draw(look: Look, id: str, axes: str, weights: np.ndarray, source: Sequence[str], part: str) -> Scene:
    """What is read on the left, the look's own tokens on the right; a click on one of these selects it.

    Of long texts those around the selected token stand there, and the tokens that it reads most.

    Args:
        axes: "layer head", or "layer".
        weights: by ``axes``, and then [Tq, Ts].
        source: names of the tokens that are read.
        part: the key of a text that says of a long text which ``{{share}}`` of the weight is seen.
    """
    n_target, n_source = min(len(look), MOST), min(len(source), MOST)
    positions, place = np.arange(len(look)), f"{axes} token"
    first = np.clip(positions - n_target // 2, 0, len(look) - n_target)
    keys = windows(weights, n_source)  # [..., Tq]: where the tokens that are read most begin
    shown = np.take_along_axis(weights, keys[..., None] + np.arange(n_source), -1)  # [..., Tq, n_source]
    rows = max(n_target, n_source)
    sources, targets = _spread(n_source, rows), _spread(n_target, rows)
    is_whole = (n_target, n_source) == (len(look), len(source))
    marks: list[Mark] = []
    if is_whole:
        drawn = (weights >= LEAST).any(tuple(range(weights.ndim - 2)))
        for q, s in zip(*np.nonzero(drawn), strict=True):
            weight = look.by(f"{axes} query key", weights, query=int(q), key=int(s))
            marks.append(_line(f"faint.{q}.{s}", sources[s], targets[q], weight, 0.1))
    middle = by("token", targets[positions - first])
    for s in range(n_source):
        weight = look.by(f"{place} key", shown, key=s)
        seen = look.by(f"{place} key", shown >= LEAST, key=s)
        marks.append(_line(f"strong.{s}", sources[s], middle, weight, Lengths(weight, 0, 1, 0.35, 1.0), seen))
    for side, at, anchor, ys in (("source", WIDE, "end", sources), ("target", 1 - WIDE, "start", targets)):
        top = min(ys) - TALL / 2 - 10
        marks.append(Text(id=side, text=look.words(f"lines_{side}"), x=(at, 0), y=top, anchor=anchor, fill="muted"))  # type: ignore[arg-type]
    for i in range(n_source):
        marks += _token("source", i, sources[i], source, look.by(place, keys + i), None)
        share, seen = (look.by(f"{place} key", *one, key=i) for one in ((shown, "%0"), (shown >= 0.005,)))
        marks.append(Text(id=f"share.{i}", text=share, x=8, y=float(sources[i]), fill="muted", present=seen))
    for i in range(n_target):
        act = Select(token=i) if n_target == len(look) else None
        marks += _token("target", i, targets[i], look.labels, by("token", first + i), act)
    frame: Any = by("token", targets[positions - first] - TALL / 2)
    box: dict[str, Any] = {"x": (1 - WIDE, 0), "y": frame, "width": (WIDE, 0), "height": TALL, "radius": 4}
    marks.append(Rect(id="selected", stroke="accent", thick=2, **box))
    note = "" if is_whole else look.words(part, share=look.by(place, shown.sum(-1), "%0"))
    panel = Panel(id="lines", marks=marks, height=TOP + PITCH * rows + 4, min=260)
    return Scene(id=id, panels=[panel], title=look.words("lines_title"), note=note)


def _spread(n: int, rows: int) -> np.ndarray:
    """Where ``n`` tokens stand: the shorter text in the middle, spread a little, so that the lines run level."""
    step = min(1.5 * PITCH, PITCH * rows / n)
    first = TOP + (PITCH * rows - step * n) / 2
    return (first + step * (np.arange(n) + 0.5)).astype(np.float32)


def _line(id: str, source: Any, target: Any, weight: Any, opacity: Any, present: Any = True) -> Path:
    ends = np.array([[WIDE, 3], [1 - WIDE, -3]], np.float32)
    if np.ndim(getattr(target, "values", target)) == 0:
        y: Any = np.array([source, target], np.float32)
    else:
        y = by("token", np.array([[source, at] for at in target.values], np.float32))
    thick: Any = Lengths(weight, 0, 1, 0.6, 7.6)
    return Path(id=id, x=ends, y=y, stroke="pattern", thick=thick, opacity=opacity, curve="link", present=present)


def _token(side: str, i: int, middle: Any, labels: Sequence[str], position: Any, act: Select | None) -> list[Mark]:
    """A token in its box."""
    is_source, middle = side == "source", float(middle)
    left: Length = 0.0 if is_source else (1 - WIDE, 0)
    at: Length = (WIDE, -10) if is_source else (1 - WIDE, 10)
    role: Any = Among([theme.token(n) for n in range(len(labels))], position)
    named: Any = Among([f"{n}: {label}" for n, label in enumerate(labels)], position)
    text: Any = Among([short(label) for label in labels], position)
    edge: Length = (WIDE, -4) if is_source else left
    box: dict[str, Any] = {"y": middle - TALL / 2, "height": TALL, "fill": role}
    return [
        Rect(id=f"{side}.{i}", x=left, width=(WIDE, 0), radius=4, opacity=0.13, act=act, label=named, **box),
        Rect(id=f"{side}.mark.{i}", x=edge, width=4, **box),
        Text(id=f"{side}.name.{i}", text=text, x=at, y=middle, anchor="end" if is_source else "start", size=13),
    ]
