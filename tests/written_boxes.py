"""Where the writing of an SVG file stands: the box of every text, by the widths of Arial's letters."""

import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from matplotlib.transforms import Affine2D

_LETTERS = {
    191: "'", 222: "ijl", 260: "|", 278: " !,./:;I[\\]ft", 333: "()-`r", 334: "{}", 355: '"', 389: "*", 469: "^",
    500: "Jcksvxyz", 556: "#$0123456789?L_abdeghnopqu", 584: "+<=>~−", 611: "FTZ", 667: "&ABEKPSVXY", 722: "CDHNRUw",
    778: "GOQ", 833: "Mm", 889: "%", 944: "W", 1000: "…", 1015: "@",
}  # fmt: skip
"""Thousandths of the size, as Arial and the fonts of the same widths have them (Liberation Sans, Helvetica)."""
_WIDTHS = {letter: width / 1000 for width, letters in _LETTERS.items() for letter in letters}
_TALL, _BOLD, _MONO, _OTHER = 0.36, 1.05, 0.6, 0.556
"""Of the size: half a capital, bold writing against plain, a letter of a typewriter, one that is not in the list."""
_SVG = "{http://www.w3.org/2000/svg}"


class Box(NamedTuple):
    """A line of writing and its four corners in the file, float64 [4, 2], in the order of its own outline."""

    text: str
    size: float
    corners: np.ndarray

    def wider(self, pixels: float) -> np.ndarray:
        """Its corners, so many pixels further out at both ends."""
        begin, end = self.corners[0], self.corners[1]
        along = (end - begin) / (np.linalg.norm(end - begin) or 1) * pixels
        return self.corners + np.stack([-along, along, along, -along])


class Written(NamedTuple):
    width: float
    height: float
    boxes: list[Box]


def read(file: str) -> Written:
    root = ET.fromstring(file)
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    return Written(width, height, list(_boxes(root, np.eye(3))))


def beyond(written: Written, near: float = 1) -> list[str]:
    """What crosses an edge, or on the right comes nearer to it than so many pixels."""
    found = []
    for box in written.boxes:
        (left, top), (right, bottom) = box.corners.min(0), box.corners.max(0)
        if left < -0.01 or right > written.width - near or top < -0.01 or bottom > written.height:
            found.append(f"{box.text!r} at {left:.0f}–{right:.0f}, {top:.0f}–{bottom:.0f}")
    return found


def touching(written: Written, apart: float = 2) -> list[str]:
    """What lies over each other, or in one line nearer than so many pixels."""
    boxes = written.boxes
    wide, narrow = [box.wider(apart) for box in boxes], [box.corners for box in boxes]
    # Few come near each other: how deep they lie is only asked of those whose upright frames meet.
    low, high = np.reshape([c.min(0) for c in narrow], (-1, 2)), np.reshape([c.max(0) for c in narrow], (-1, 2))
    found = []
    for i, box in enumerate(boxes):
        meets = (low[i + 1 :] <= wide[i].max(0)).all(1) & (high[i + 1 :] >= wide[i].min(0)).all(1)
        for j in i + 1 + np.flatnonzero(meets):
            if _overlap(wide[i], narrow[j]) > 0.5:
                found.append(f"{box.text!r} and {boxes[j].text!r}")
    return found


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    """How deep two rectangles lie in each other (separating axes); negative where they are apart."""
    sides = np.concatenate([corners[1:3] - corners[:2] for corners in (a, b)])
    axes = sides / np.maximum(np.linalg.norm(sides, axis=1, keepdims=True), 1e-9)
    p, q = a @ axes.T, b @ axes.T
    return float((np.minimum(p.max(0), q.max(0)) - np.maximum(p.min(0), q.min(0))).min())


def _boxes(part: ET.Element, frame: np.ndarray) -> Iterator[Box]:
    if transform := part.get("transform"):
        frame = frame @ _moved(transform)
    if part.tag != f"{_SVG}text":
        for inner in part:
            yield from _boxes(inner, frame)
        return
    size, anchor = float(part.get("font-size") or 12), part.get("text-anchor")
    for x, y, runs in _lines(part):
        text = "".join(run for run, _ in runs)
        if not text.strip():
            continue
        long = sum(_wide(run, size, is_bold, is_mono=part.get("font-family") is not None) for run, is_bold in runs)
        left = x - {"middle": long / 2, "end": long}.get(anchor or "", 0)
        up, down = y - _TALL * size, y + _TALL * size
        corners = np.array([(left, up, 1), (left + long, up, 1), (left + long, down, 1), (left, down, 1)])
        yield Box(text, size, (corners @ frame.T)[:, :2])


def _lines(part: ET.Element) -> Iterator[tuple[float, float, list[tuple[str, bool]]]]:
    """Where each line of a text stands, and its runs, each with whether it is bold."""
    is_bold = part.get("font-weight") == "700"
    x, y = float(part.get("x") or 0), float(part.get("y") or 0)
    runs = [(part.text, is_bold)] if part.text else []
    for span in part:
        if span.get("x") is not None and runs:
            yield x, y, runs
            runs = []
        x, y = float(span.get("x") or x), float(span.get("y") or y)
        runs.append((span.text or "", is_bold or span.get("font-weight") == "700"))
    yield x, y, runs


def _wide(text: str, size: float, is_bold: bool, *, is_mono: bool) -> float:
    each = (
        1.0 if unicodedata.east_asian_width(letter) in "WF" else _MONO if is_mono else _WIDTHS.get(letter, _OTHER)
        for letter in text
        if unicodedata.category(letter) not in ("Mn", "Me", "Cf")
    )
    return size * sum(each) * (_BOLD if is_bold else 1)


def _moved(transform: str) -> np.ndarray:
    """``translate`` and ``rotate`` -> a matrix [3, 3]."""
    frame = Affine2D()
    for name, said in reversed(re.findall(r"(\w+)\(([^)]*)\)", transform)):
        numbers = [float(number) for number in re.split(r"[ ,]+", said.strip())]
        if name == "translate":
            frame.translate(numbers[0], numbers[1])
        else:
            frame.rotate_deg_around(numbers[1], numbers[2], numbers[0])
    return frame.get_matrix()
