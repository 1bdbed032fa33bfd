"""Where things stand in a picture of 760 × 430: rows of tokens with their names on the left. Pixels, or shares."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import numpy as np

from viz_model.island.beats import Box, Cells, Length, Mark, Text, Toy
from viz_model.topics.walk.run import Run

Marks: TypeAlias = Iterator[Mark]
HEIGHT, NAMES, DOT, PITCH = 430, 96, 10, 27
WIDTH, RIGHT = (1, 0), (1, -4)
"""The whole width; where a number ends that stands at its right edge."""


@dataclass(frozen=True)
class Pen:
    """Draws marks that have fields in common, those of a row in their place: ``y`` is its top, ``high`` its height."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    y: float = 0
    high: float = 0

    def but(self, **fields: Any) -> Self:
        """The same with other fields."""
        return replace(self, fields={**self.fields, **fields})

    def text(self, text: Any, x: Length = 0, y: Length | None = None, **more: Any) -> Text:
        """Words or a number, in a row in its middle."""
        return Text(text=text, x=x, y=self.y + self.high / 2 if y is None else y, **{**self.fields, **more})

    def end(self, text: Any, x: Length = RIGHT, y: Length | None = None, **more: Any) -> Text:
        """The same on the left of ``x``."""
        return self.text(text, x, y, anchor="end", **more)

    def name(self, text: Any, y: Length | None = None, **more: Any) -> Text:
        """The same on the left of a row."""
        return self.end(text, NAMES - 8, y, **more)

    def box(self, x: Length, y: Length, width: Length, height: Length, look: Any = "fill", **more: Any) -> Box:
        return Box(look=look, x=x, y=y, width=width, height=height, **{**self.fields, **more})

    def bar(self, x: Length, width: Length, gap: float = 4, look: Any = "fill", **more: Any) -> Box:
        """As high as the row, but for a gap above and below."""
        return self.box(x, self.y + gap, width, self.high - 2 * gap, look, **more)

    def dot(self, x: Length, size: Any = DOT, **more: Any) -> Box:
        """A point in the row, at lengths such as :func:`points` finds."""
        return self.box(x, self.y + self.high / 2 - DOT / 2, size, size, "dot", **more)

    def cells(self, values: Any, x: Length, y: Length, width: Length, height: Length, **more: Any) -> Cells:
        return Cells(values=values, x=x, y=y, width=width, height=height, **{**self.fields, **more})

    def strip(self, values: Any, x: Length, width: Length, top: Any, gap: float = 3, **more: Any) -> Cells:
        """Numbers side by side in the row; ``top`` is full color."""
        return self.cells(values, x, self.y + gap, width, self.high - 1 - 2 * gap, top=top, **more)

    def rows(self, count: int, top: float, high: float) -> Iterator[tuple[int, Self]]:
        """Rows one below the other, each of which moves a moment after the one above it."""
        for n in range(count):
            yield n, type(self)({**self.fields, "when": turn(n, count)}, top + high * n, high)


PLAIN = Pen()


def pitch(n: int, top: float, bottom: float = HEIGHT) -> float:
    """The height of each of n rows between two heights."""
    return min(PITCH, (bottom - top) / max(1, n))


def turn(n: int, count: int) -> tuple[float, float]:
    """When the n-th of so many rows moves."""
    return 0.6 * n / count, 0.6 * n / count + 0.4


def token_rows(run: Run, top: float, pen: Pen = PLAIN) -> Iterator[tuple[int, Pen]]:
    """The rows of the tokens that have one, each with its token."""
    for n, row in pen.rows(len(run.around()), top, pitch(len(run.around()), top)):
        yield run.around()[n], row


def names(run: Run, top: float, pen: Pen = PLAIN) -> Marks:
    """The names of those rows; a click selects one."""
    for n, row in token_rows(run, top, pen):
        chosen = run.by("token", np.where(np.arange(len(run)) == n, 1.0, 0.0))
        yield row.name(run.labels[n])
        yield row.box(0, row.y, WIDTH, row.high - 1, "frame", part="row", act={"token": n}, label=run.labels[n])
        yield row.box(NAMES - 4, row.y + 3, 3, row.high - 7, present=chosen, part="chosen")
    if rest := len(run) - len(run.around()):
        yield pen.text(run.look.words("more_tokens", n=rest), y=HEIGHT - 6, look="small")


def matrix(run: Run, weights: np.ndarray, x: Length, y: float, width: Length, height: float, pen: Pen) -> Marks:
    """Learned numbers, and how many they are."""
    pen, (rows, columns) = pen.but(part="matrix"), weights.shape
    yield pen.text(run.look.words("matrix", rows=rows, columns=columns), x, y - 14)
    yield pen.cells(weights, x, y, width, height, top=most(weights) / 2)


def toy(name: str, data: Mapping[str, Any], label: Any, height: float = HEIGHT, **more: Any) -> Toy:
    """What is tried by hand, as wide as the picture."""
    return Toy(toy=name, width=WIDTH, height=height, data=data, label=label, **more)


def points(values: Any, scale: tuple[float, float], left: Length, width: Length, size: float = DOT) -> np.ndarray:
    """Where values stand on a line, as lengths [..., 2]: as points, for the shortest bar below 0 would be the best."""
    least, most = scale
    share = (np.where(np.isfinite(values), values, 0) - least) / (most - least)
    return (np.asarray(left) + share[..., None] * np.asarray(width) - (0, size / 2)).astype(np.float32)


def span(values: np.ndarray) -> tuple[float, float]:
    """The least and the most of some values and 0."""
    seen = values[np.isfinite(values)]
    least, most = min(float(seen.min(initial=0)), 0), max(float(seen.max(initial=0)), 0)
    return least, most if most > least else least + 1


def most(values: np.ndarray) -> float:
    """What is full color."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0)) or 1.0


def lengths(share: Any, width: float = 1.0, less: float = 240) -> np.ndarray:
    """Shares of the room for bars, as lengths [..., 2]."""
    return np.stack([width * np.asarray(share), -less * np.asarray(share)], -1).astype(np.float32)


def bars(
    run: Run, labels: Sequence[Any], values: Any, form: str, top: float, high: float = 44, most: Any = 1, **more: Any
) -> Marks:
    """A row each: a label, a bar and its value, a number or one for each token; ``most`` takes all the room."""
    axes = "token" if np.ndim(values[0]) else ""
    for n, row in Pen(more).rows(len(labels), top, high):
        yield row.end(labels[n], 150)
        yield row.bar(160, run.by(axes, lengths(values[n] / most)))
        yield row.end(run.by(axes, values[n]), form=form)
