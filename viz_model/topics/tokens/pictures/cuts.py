"""The same bytes, cut by two vocabularies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, boxes, sheet, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.writing import hover, letters, note, shown_part
from viz_model.tokenizers.text import make_visible
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.pictures.layout import SHORTEST, label_of, lines_of, width_of, widths_of


class Cut(NamedTuple):
    """One vocabulary's tokens over N bytes.

    ``starts`` and ``stops`` [tokens] are byte offsets; ``shared`` [tokens] is whether the other
    vocabulary has a token of exactly these bytes; ``origin`` [tokens] is its position there, or −1.
    """

    name: str
    tokens: tuple[Token, ...]
    starts: np.ndarray
    stops: np.ndarray
    shared: np.ndarray
    origin: np.ndarray


@brief
class CutsView(NamedTuple):
    """The same text in two vocabularies, laid out in lines.

    Per byte, all [N]: its ``line``, its left edge ``x`` in that line and its ``width``, in widths
    of a letter. ``selected`` is a position of the first vocabulary, or None.
    """

    upper: Cut
    lower: Cut
    line: np.ndarray
    x: np.ndarray
    width: np.ndarray
    n_characters: int
    n_bytes: int
    selected: int | None

    @property
    def n_lines(self) -> int:
        return int(self.line[-1]) + 1

    @property
    def n_shared(self) -> int:
        """Tokens that both vocabularies cut alike."""
        return int(self.upper.shared.sum())

    @property
    def characters(self) -> list[str]:
        """For each token of the upper row the characters that its bytes belong to, made visible."""
        return [make_visible(text) for text in cutting.characters(self.upper.tokens)]

    def over(self, position: int) -> list[Token]:
        """The lower row's tokens that hold a byte of the upper row's token at ``position``."""
        start, stop = self.upper.starts[position], self.upper.stops[position]
        touched = np.flatnonzero((self.lower.starts < stop) & (self.lower.stops > start))
        return [self.lower.tokens[i] for i in touched]

    @classmethod
    def of(
        cls, upper: Sequence[Token], lower: Sequence[Token], names: tuple[str, str], selected: int | None = None
    ) -> CutsView:
        raw = b"".join(token.bytes for token in upper)
        spans = [cutting.spans(tokens) for tokens in (upper, lower)]
        width = widths_of(raw, (upper, lower))
        line = lines_of(raw, width, spans)
        x = np.concatenate([np.cumsum(width[line == n]) - width[line == n] for n in range(int(line[-1]) + 1)])
        cuts = []
        for n in (0, 1):
            other = {span: position for position, span in enumerate(spans[1 - n])}
            edges = np.array(spans[n]).reshape(-1, 2)
            origin = np.array([other.get(span, -1) for span in spans[n]], dtype=int)
            cuts.append(Cut(names[n], tuple((upper, lower)[n]), edges[:, 0], edges[:, 1], origin >= 0, origin))
        return cls(
            upper=cuts[0],
            lower=cuts[1],
            line=line,
            x=x,
            width=width,
            n_characters=len(cutting.character_starts(raw)),
            n_bytes=len(raw),
            selected=selected,
        )


MOST_BOXES = 300
"""Tokens of a vocabulary that are drawn at the most; of longer texts the lines around the selected one are shown."""


def _lines_shown(view: CutsView) -> range:
    """The lines that are drawn: all of them, or as many around the selected token as hold :data:`MOST_BOXES`."""
    per_line = max(1, MOST_BOXES * view.n_lines // max(len(view.upper.tokens), len(view.lower.tokens)))
    if per_line >= view.n_lines:
        return range(view.n_lines)
    chosen = int(view.line[view.upper.starts[view.selected or 0]])
    first = max(0, min(chosen - per_line // 2, view.n_lines - per_line))
    return range(first, first + per_line)


class _Box(NamedTuple):
    """A token, or the part of it that stands in one line: its bytes from ``start``, within [left, right]."""

    token: int
    line: int
    left: float
    right: float
    start: int
    raw: bytes
    first: bool

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def _boxes(view: CutsView, cut: Cut) -> list[_Box]:
    boxes = []
    for position, (start, stop) in enumerate(zip(cut.starts, cut.stops, strict=True)):
        for n in np.unique(view.line[start:stop]):
            inside = np.flatnonzero(view.line[start:stop] == n)
            a, b = int(inside[0]), int(inside[-1])
            left, right = float(view.x[start + a]), float(view.x[start + b] + view.width[start + b])
            raw = cut.tokens[position].bytes[a : b + 1]
            boxes.append(_Box(position, int(n), left, right, int(start) + a, raw, a == 0))
    return boxes


class Glyph(NamedTuple):
    """What is written at a place."""

    x: float
    y: float
    text: str


def _glyphs(view: CutsView, box: _Box, y: float) -> list[Glyph]:
    """What is written into a box: its label, or each wide character over its own bytes.

    The same wide character then stands at the same place in both rows, though its box may be
    stretched by what the other vocabulary needs room for.
    """
    try:
        text = box.raw.decode()
    except UnicodeDecodeError:
        text = ""
    if not text or max(map(width_of, text)) < 2:
        return [Glyph(box.middle, y, label_of(box.raw))]
    glyphs, at = [], box.start
    for character in text:
        end = at + len(character.encode())
        glyphs.append(
            Glyph(float(view.x[at] + view.x[end - 1] + view.width[end - 1]) / 2, y, label_of(character.encode()))
        )
        at = end
    return glyphs


class Band(NamedTuple):
    """One of the two rows of boxes: the middle of each, how high they are, and the size of the labels."""

    cut: Cut
    boxes: Sequence[_Box]
    middles: Sequence[float]
    height: int
    letters: int


def draw_cuts(view: CutsView, words: Mapping[str, str]) -> sheet.Sheet:
    """Two rows of boxes a line, over the same bytes, with the ids beneath the labels.

    A lower box has the colour of the upper one if it holds the same bytes, and is grey if not.
    ``words`` names ``position``, ``id`` and ``bytes`` for the hover text, and the two rows as
    ``upper`` and ``lower``.
    """
    lines = _lines_shown(view)
    widest = max(float((view.x + view.width).max()), SHORTEST)
    size, height, gap = (19, 46, 18) if widest <= 24 else (15, 42, 16) if len(lines) <= 6 else (13, 36, 12)
    step, head = 2 * height + 3 + gap, 20
    figure = sheet.Sheet()
    for cut, offset in ((view.upper, 0), (view.lower, height + 3)):
        shown = [box for box in _boxes(view, cut) if box.line in lines]
        # The name of the lower row stands beneath the first line and pushes the others down.
        rows = [box.line - lines.start for box in shown]
        tops = [head + row * step + (head if row else 0) + offset for row in rows]
        _draw_band(figure, view, Band(cut, shown, [-(top + height / 2) for top in tops], height, size), words)
        if len(lines) < view.n_lines and cut is view.upper:
            shown_part(figure, shown[0].token, shown[-1].token, len(cut.tokens))
    note(figure, words["upper"], 0, -(head - 3), xanchor="left", yanchor="bottom")
    note(figure, words["lower"], 0, -(head + 2 * height + 5), xanchor="left", yanchor="top")
    bottom = 2 * head + len(lines) * step - gap + 4
    axes.hidden(figure, [0, widest], [-bottom, 0])
    return theme.finished(figure, height=bottom + 8, margin={"l": 2, "r": 2, "t": 4, "b": 4})


def _draw_band(figure: sheet.Sheet, view: CutsView, band: Band, words: Mapping[str, str]) -> None:
    """Boxes in the colours of the upper row's tokens, their labels, and the ids of the tokens."""
    tokens = [band.cut.tokens[box.token] for box in band.boxes]
    owners = [box.token if band.cut is view.upper else int(band.cut.origin[box.token]) for box in band.boxes]
    drawn = []
    for box, y, owner in zip(band.boxes, band.middles, owners, strict=True):
        colour = theme.token_colour(owner) if owner >= 0 else theme.ROLES["token"]
        fill, line = (0.5, 2.5) if owner >= 0 and owner == view.selected else (0.22, 1)
        left, width = box.left + 0.06, box.right - box.left - 0.12
        drawn.append(boxes.Box(left, width, y, theme.rgba(colour, fill), colour, line))
    hovers = [_hover(token, box.token, words) for token, box in zip(tokens, band.boxes, strict=True)]
    boxes.draw(figure, drawn, band.height, hovers, band.cut.name)
    labels = [glyph for box, y in zip(band.boxes, band.middles, strict=True) for glyph in _glyphs(view, box, y + 7)]
    write(figure, labels, band.letters)
    low = 9 - band.height / 2
    found = zip(band.boxes, band.middles, tokens, strict=True)
    write(figure, [Glyph(box.middle, y + low, str(token.id)) for box, y, token in found if box.first], theme.SMALL)


def _hover(token: Token, position: int, words: Mapping[str, str]) -> str:
    raw = token.bytes.hex(" ").upper()
    lines = f"{words['position']} {position}", f"{words['id']} {token.id}", f"{words['bytes']} {raw}"
    return hover(("", token.label), *lines)


def write(figure: sheet.Sheet, glyphs: Sequence[Glyph], size: int) -> None:
    """Labels of boxes."""
    x, y, texts = zip(*glyphs, strict=True) if glyphs else ((), (), ())
    lines = [theme.plain(text) for text in texts]
    letters(figure, x, y, lines, size=size, family="monospace", cliponaxis=False)
