"""Numbers as colored cells or bars, and the numbers that stand in them."""

import base64
import math
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from viz_model.drawing import digits as signs
from viz_model.drawing import theme
from viz_model.drawing.scene.marks import Cells
from viz_model.drawing.scene.svg.ground import Ground, element, n, speakable
from viz_model.drawing.scene.svg.writing import written
from viz_model.drawing.scene.writing import width_of


def data_uri(pixels: np.ndarray) -> str:
    """uint8 [H, W, 4], red green blue alpha -> the address of an image that is in the file itself."""
    height, width, _ = pixels.shape
    # Every line begins with its filter: 0, none.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)
    return "data:image/png;base64," + base64.b64encode(data).decode()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


MOST_SHAPES = 2_000
"""Cells of a matrix that are drawn one by one; of more, as an image."""

_GREY, _STEP = "#808491", 6.0
"""Of cells without a number, and pixels from line to line across them."""

_MOST_NUMBERS, _LOWEST = 2_500, 14
"""Numbers are written in no more cells than these, and in none that is lower, in pixels."""


class Box(NamedTuple):
    """A cell: its row and column, the upper left corner, and its size."""

    row: int
    column: int
    x: float
    y: float
    width: float
    height: float


class Matrix(NamedTuple):
    """The cells of a mark: ``values`` and ``shares``, float64 [R, C], how much of its role's color each has."""

    mark: Cells
    values: np.ndarray
    roles: np.ndarray
    shares: np.ndarray
    x: float
    y: float
    width: float
    height: float

    @classmethod
    def of(cls, mark: Cells, ground: Ground) -> "Matrix":
        values = np.atleast_2d(np.asarray(mark.values, dtype=float))
        sides = (ground.px(length) for length in (mark.x, mark.y, mark.width, mark.height))
        return cls(mark, values, *_tints(mark, values), *sides)

    def boxes(self) -> Iterator[Box]:
        rows, columns = self.values.shape
        across, down = self.width / columns, self.height / rows
        for row, column in np.ndindex(rows, columns):
            yield Box(row, column, self.x + column * across, self.y + row * down, across, down)


def _tints(mark: Cells, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The role of each value, str [R, C], and how much of its color, 0 to 1 [R, C]; without a value, nothing."""
    known = np.isfinite(values)
    held = np.where(known, values, 0.0)
    if mark.look == "stops":
        places, roles, opacities = (np.array(column) for column in zip(*mark.stops, strict=True))
        after = np.searchsorted(places, held, side="right")
        near, far = np.maximum(after - 1, 0), np.minimum(after, len(places) - 1)
        span = places[far] - places[near]
        part = np.divide(held - places[near], span, out=np.zeros_like(held), where=span > 0)
        shares = opacities[near] + part * (opacities[far] - opacities[near])
        return np.where(part < 0.5, roles[near], roles[far]), np.where(known, shares, 0.0)
    is_signed = mark.look == "signed" or (mark.look == "bars" and mark.signed)
    hues = ("negative", "positive") if is_signed else (mark.role, mark.role)
    return np.where(held < 0, *hues), np.minimum(1.0, np.abs(held) / mark.top)


def painted(mark: Cells, ground: Ground) -> list[str]:
    """The cells without their numbers."""
    if mark.look == "blank" or not np.size(mark.values):
        return []
    matrix = Matrix.of(mark, ground)
    shapes = _hatched(list(_hidden(matrix)))
    if mark.look == "bars":
        shapes += [bar for box in matrix.boxes() for bar in _bar(matrix, box, ground)]
    elif matrix.values.size > MOST_SHAPES:
        shapes.append(_image(matrix, ground))
    else:
        shapes += [cell for box in matrix.boxes() for cell in _cell(matrix, box, ground)]
    # Without crisp edges seams show between cells.
    opacity = None if mark.opacity == 1 else mark.opacity
    return [element("g", "\n".join(["", *shapes, ""]), shape_rendering="crispEdges", opacity=opacity)]


def _cell(matrix: Matrix, box: Box, ground: Ground) -> list[str]:
    mark, at = matrix.mark, (box.row, box.column)
    right, below = min(mark.gap, box.width / 4), min(mark.gap, box.height / 4) if len(matrix.values) > 1 else 0.0
    fill, share = ground.color(str(matrix.roles[at])), float(matrix.shares[at])
    return [_filled(box.x, box.y, box.width - right, box.height - below, fill, share)] if share > 0.001 else []


def _bar(matrix: Matrix, box: Box, ground: Ground) -> list[str]:
    """Bars stand on the lower edge; signed ones on the middle."""
    at, value = (box.row, box.column), matrix.values[box.row, box.column]
    left, across = box.x + 0.12 * box.width, 0.76 * box.width
    if not math.isfinite(value):
        return []
    room = box.height / 2 if matrix.mark.signed else box.height
    zero, tall = box.y + room, max(1.0 if value else 0.0, room * float(matrix.shares[at]))
    above = zero if value < 0 else zero - tall
    return [_filled(left, above, across, tall, ground.color(str(matrix.roles[at])))] if tall else []


def _filled(x: float, y: float, width: float, height: float, fill: str, opacity: float = 1.0) -> str:
    # Not by `element`, which takes twice as long: a figure may have tens of thousands of these.
    place = f'x="{n(x)}" y="{n(y)}" width="{n(width)}" height="{n(height)}"'
    return f'<rect {place} fill="{speakable(fill)}" fill-opacity="{opacity:.3g}"/>'


def _hidden(matrix: Matrix) -> Iterator[Box]:
    """Neighbors without a number, in a row, as one box; of bars each for itself."""
    mark = matrix.mark
    if mark.empty and mark.look != "bars":
        return
    rows, columns = matrix.values.shape
    across, down = matrix.width / columns, matrix.height / rows
    lacking = ~np.isfinite(matrix.values)
    if mark.look == "bars":
        for row, column in np.argwhere(lacking):
            left, top = matrix.x + (column + 0.12) * across, matrix.y + row * down
            yield Box(row, column, left, top, 0.76 * across, down)
        return
    edges = np.diff(np.pad(lacking.astype(int), ((0, 0), (1, 1))), axis=1)
    for (row, first), (_, end) in zip(np.argwhere(edges == 1), np.argwhere(edges == -1), strict=True):
        yield Box(row, first, matrix.x + first * across, matrix.y + row * down, (end - first) * across, down)


def _hatched(boxes: list[Box]) -> list[str]:
    """One shape for all boxes and one for all lines across them: readers of PDF show seams between the tiles of
    a pattern, and between shapes that touch.
    """
    if not boxes:
        return []
    ground, lines = [], []
    for _, _, x, y, width, height in boxes:
        right, low = x + width, y + height
        ground.append(f"M{n(x)} {n(y)}H{n(right)}V{n(low)}H{n(x)}Z")
        for k in range(math.ceil((x + y) / _STEP), math.floor((right + low) / _STEP) + 1):
            end, start = min(right, k * _STEP - y), max(x, k * _STEP - low)
            lines.append(f"M{n(start)} {n(k * _STEP - start)}L{n(end)} {n(k * _STEP - end)}")
    return [
        element("path", d="".join(ground), fill=_GREY, fill_opacity=0.18),
        element("path", d="".join(lines), stroke=_GREY, stroke_opacity=0.45, shape_rendering="auto"),
    ]


def _image(matrix: Matrix, ground: Ground) -> str:
    """A pixel a cell, stretched; a map smaller than its cells is averaged, not skipped."""
    colors = {role: theme.channels(ground.color(role)) for role in map(str, np.unique(matrix.roles))}
    pixels = np.zeros((*matrix.values.shape, 4), np.uint8)
    for role, channels in colors.items():
        pixels[matrix.roles == role, :3] = channels
    pixels[..., 3] = np.rint(255 * matrix.shares)
    rows, columns = matrix.values.shape
    # A row of a vector would be averaged to a color that no value has, and run into the next row.
    is_large = matrix.width >= columns or matrix.height >= rows
    return element(
        "image",
        x=matrix.x,
        y=matrix.y,
        width=matrix.width,
        height=matrix.height,
        preserveAspectRatio="none",
        style="image-rendering:pixelated" if is_large else None,
        href=data_uri(pixels),
    )


def numbers(mark: Cells, ground: Ground) -> list[str]:
    """The numbers of cells that have room for them."""
    if not mark.written or not np.size(mark.values):
        return []
    matrix = Matrix.of(mark, ground)
    rows, columns = matrix.values.shape
    if matrix.height / rows < _LOWEST or matrix.values.size > _MOST_NUMBERS:
        return []
    for digits in (2, 1):
        texts = [_brief(value, digits, mark.hidden) for value in matrix.values.flat]
        if all(width_of(text) + 4 <= matrix.width / columns for text in texts):
            break
    else:
        return []
    drawn = []
    for text, box in zip(texts, matrix.boxes(), strict=True):
        share, y = float(matrix.shares[box.row, box.column]), box.y + box.height / 2
        if mark.look == "bars":
            is_up = matrix.values[box.row, box.column] > 0
            head = y - box.height / 2 * share * is_up if mark.signed else box.y + box.height * (1 - share)
            y, fill = max(box.y + 7, head - 8), "ink"
        else:
            fill = _readable(ground, str(matrix.roles[box.row, box.column]), share)
        drawn.append(written(ground, text, box.x + box.width / 2, y, anchor="middle", fill=fill))
    return drawn


def _brief(value: float, digits: int, hidden: str) -> str:
    if not math.isfinite(value):
        return hidden
    return "0" if value == 0 else signs.written(value, str(digits))


def _readable(ground: Ground, role: str, share: float) -> str:
    """Black or white, whichever can be read on a tint of a role over the page (WCAG 2.2, relative luminance)."""
    over, under = theme.channels(ground.color(role)), theme.channels(ground.color("paper"))
    linear = []
    for a, b in zip(over, under, strict=True):
        mixed = (a * share + b * (1 - share)) / 255
        linear.append(mixed / 12.92 if mixed <= 0.04045 else ((mixed + 0.055) / 1.055) ** 2.4)
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if light > 0.179 else "#ffffff"
