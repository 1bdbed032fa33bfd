"""Room for tokens over their bytes: how wide labels are, where lines break, and boxes with labels in them."""

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.scene import Items, Mark, Texts, along
from viz_model.tokenizers.tokenizer import Token, token_of
from viz_model.topics.tokens import cutting

LINE, SHORTEST = 40, 16
"""The width of a line, in widths of a letter, as longer texts are wrapped; and of a picture at the least."""
EDGE = 2.0
"""Pixels at the sides."""


def columns(label: str) -> int:
    """The width of a label in widths of a letter: wide characters count twice."""
    return sum(width_of(character) for character in label)


def width_of(character: str) -> int:
    """The width of a character in widths of a letter."""
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def label_of(raw: bytes) -> str:
    """Any run of bytes as the label of a token would be."""
    return token_of(-1, raw).label


def needs(token: Token) -> float:
    """The room for a token's label and its id."""
    return max(columns(token.label), 0.85 * len(str(token.id))) + 0.7


def widths_of(raw: bytes, vocabularies: Sequence[Sequence[Token]]) -> np.ndarray:
    """[N]: a width for every byte, so that every token has room for its label and its id."""
    width = np.zeros(len(raw))
    starts = cutting.character_starts(raw)
    for start, stop in zip(starts, [*starts[1:], len(raw)], strict=True):
        width[start:stop] = columns(label_of(raw[start:stop])) / (stop - start)
    for tokens in vocabularies:
        for token, (start, stop) in zip(tokens, cutting.spans(tokens), strict=True):
            width[start:stop] += max(0.0, needs(token) - width[start:stop].sum()) / (stop - start)
    return width


def lines_of(raw: bytes, width: np.ndarray, spans: Sequence[list[tuple[int, int]]]) -> np.ndarray:
    """[N]: the line of every byte. Lines break where both vocabularies cut, as far as they can."""
    stops = [{stop for _, stop in row} for row in spans]
    common = sorted(stops[0] & stops[1] | {len(raw)})
    starts = cutting.character_starts(raw)
    line = np.zeros(len(raw), dtype=int)
    now, used, begin = 0, 0.0, 0
    for end in common:
        if used and used + width[begin:end].sum() > LINE:
            now, used = now + 1, 0.0
        if width[begin:end].sum() <= LINE:
            line[begin:end] = now
            used += width[begin:end].sum()
        else:  # a stretch in which the two never meet: it breaks between characters
            inner = [s for s in starts if begin < s < end]
            for a, b in zip([begin, *inner], [*inner, end], strict=True):
                if used and used + width[a:b].sum() > LINE:
                    now, used = now + 1, 0.0
                line[a:b] = now
                used += width[a:b].sum()
        begin = end
    return line


class Box(NamedTuple):
    """A token, or the part of it that stands in one line, between ``left`` and ``right``.

    ``labels`` are what is written in it, each with its middle; ``is_first`` says whether the id stands in it.
    """

    token: int
    line: int
    left: float
    right: float
    labels: Sequence[tuple[float, str]]
    is_first: bool = True


class Place(NamedTuple):
    """Where boxes stand in a picture: pixels to the left, and how many letters the rest of the width has."""

    widest: float
    left: float = EDGE
    right: float = EDGE

    def across(self, letters: Any) -> Any:
        """Lengths [..., 2] of places."""
        return along(np.divide(letters, self.widest), self.left, (1, -self.left - self.right))

    def wide(self, letters: Any) -> Any:
        """Lengths [..., 2] of widths."""
        return along(np.divide(letters, self.widest), 0, (1, -self.left - self.right))

    def boxes(self, id: str, left: Any, right: Any, y: Any, height: float, **look: Any) -> Items:
        """Boxes of one height."""
        wide = self.wide(np.subtract(right, left))
        return Items(
            id=id, x=self.across(left), y=np.asarray(y, np.float32), width=wide, down=True,
            height=np.full(len(left), height, np.float32), **look,
        )  # fmt: skip

    def texts(self, id: str, middles: Any, y: Any, texts: Sequence[str], size: float) -> Texts:
        """What is written in boxes."""
        return Texts(id=id, texts=texts, x=self.across(middles), y=np.asarray(y, np.float32), size=size, mono=True)

    def band(
        self, id: str, boxes: Sequence[Box], tops: Sequence[float], tokens: Sequence[Token], size: float, **look: Any
    ) -> list[Mark]:
        """A row of tokens, with their ids beneath the labels; ``look`` has the height of the boxes."""
        height = look["height"]
        placed = list(zip(boxes, tops, strict=True))
        labels = [(x, top, text) for box, top in placed for x, text in box.labels]
        first = [(box, top) for box, top in placed if box.is_first]
        return [
            self.boxes(id, [box.left + 0.06 for box in boxes], [box.right - 0.06 for box in boxes], tops, **look),
            self.texts(
                f"{id}.labels", [x for x, *_ in labels], [top + height / 2 - 7 for _, top, _ in labels],
                [text for *_, text in labels], size,
            ),
            self.texts(
                f"{id}.ids", [(box.left + box.right) / 2 for box, _ in first], [top + height - 9 for _, top in first],
                [str(tokens[box.token].id) for box, _ in first], 12,
            ),
        ]  # fmt: skip
