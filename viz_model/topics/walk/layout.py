"""Where things stand in a picture of 760 × 430: rows of tokens with their names on the left. Pixels, or shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from viz_model.island.beats import Box, Cells, Length, Mark, Text
from viz_model.topics.walk.run import Run

HEIGHT, NAMES, DOT, PITCH = 430, 96, 10, 27


def pitch(n: int, top: float, bottom: float = HEIGHT) -> float:
    """The height of each of n rows between two heights."""
    return min(PITCH, (bottom - top) / max(1, n))


def turn(n: int, count: int) -> tuple[float, float]:
    """When the n-th of so many rows moves."""
    return 0.6 * n / count, 0.6 * n / count + 0.4


def name(text: Any, y: Any, **more: Any) -> Text:
    """On the left of a row whose middle is at ``y``."""
    return Text(text=text, x=NAMES - 8, y=y, anchor="end", **more)


def rows(run: Run, top: float, high: float, **more: Any) -> Iterator[Mark]:
    """The names of the tokens that have a row; a click selects one."""
    for n, at in enumerate(run.window):
        chosen = run.by("token", np.where(np.arange(len(run)) == at, 1.0, 0.0))
        yield name(run.labels[at], top + high * (n + 0.5), **more)
        picked: dict[str, Any] = {"act": {"token": at}, "label": run.labels[at]}
        yield Box(look="frame", width=(1, 0), y=top + high * n, height=high - 1, part="row", **picked, **more)
        yield Box(x=NAMES - 4, width=3, y=top + high * n + 3, height=high - 7, present=chosen, part="chosen", **more)
    if rest := len(run) - len(run.window):
        yield Text(text=run.look.words("more_tokens", n=rest), y=HEIGHT - 6, look="small", **more)


def beside_names(share: float) -> Length:
    """A share of the room to the right of the names."""
    return (share, NAMES * (1 - share))


def strip(values: Any, x: Length, y: Length, width: Length, height: float = 18, top: Any = 1.0, **more: Any) -> Cells:
    """Numbers side by side."""
    return Cells(values=values, x=x, y=y, width=width, height=height, top=top, **more)


def points(values: np.ndarray, scale: tuple[float, float], left: Length, width: Length) -> np.ndarray:
    """Where values stand on a line, as lengths [..., 2]. Points and not bars: where all scores are below 0, the
    shortest bar would be the best.
    """
    least, most = scale
    share = (np.where(np.isfinite(values), values, 0) - least) / (most - least)
    return (np.asarray(left) + share[..., None] * np.asarray(width) - (0, DOT / 2)).astype(np.float32)


def at_zero(scale: tuple[float, float], left: Length, width: Length) -> np.ndarray:
    """Where 0 is on that line."""
    return points(np.zeros(()), scale, left, width) + np.array([0, DOT / 2], dtype=np.float32)


def span(values: np.ndarray) -> tuple[float, float]:
    """The least and the most of some values and 0."""
    seen = values[np.isfinite(values)]
    least, most = min(float(seen.min(initial=0)), 0), max(float(seen.max(initial=0)), 0)
    return least, most if most > least else least + 1


def most(values: np.ndarray) -> float:
    """What is full color."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0)) or 1.0


def bars(
    labels: Sequence[Any], shares: Sequence[Any], form: str, top: float, high: float, **more: Any
) -> Iterator[Mark]:
    """A row each: a label, a bar as long as ``shares`` says of what room there is, and the number."""
    for n, (label, share) in enumerate(zip(labels, shares, strict=True)):
        y = top + high * n
        length, number = share
        when = turn(n, len(labels))
        yield Text(text=label, x=150, y=y + high / 2, anchor="end", when=when, **more)
        yield Box(x=160, y=y + 4, width=length, height=high - 8, when=when, **more)
        yield Text(text=number, form=form, x=(1, -4), y=y + high / 2, anchor="end", when=when, **more)


def lengths(share: np.ndarray, width: float = 1.0, less: float = 240) -> np.ndarray:
    """Shares of the room for bars, as lengths [..., 2]."""
    return np.stack([width * share, -less * share], -1).astype(np.float32)
