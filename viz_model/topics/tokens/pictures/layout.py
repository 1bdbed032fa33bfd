"""Room for tokens over their bytes: how wide labels are, and where lines break."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from viz_model.tokenizers.tokenizer import Token, token_of
from viz_model.topics.tokens.numbers import tokens as cutting

LINE = 40
"""The width of a line, in widths of a letter; longer texts are wrapped."""

SHORTEST = 16
"""The width of a picture at the least."""


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


def widths_of(raw: bytes, vocabularies: Sequence[Sequence[Token]]) -> np.ndarray:
    """[N]: a width for every byte, so that every token has room for its label and its id."""
    width = np.zeros(len(raw))
    starts = cutting.character_starts(raw)
    for start, stop in zip(starts, [*starts[1:], len(raw)], strict=True):
        width[start:stop] = columns(label_of(raw[start:stop])) / (stop - start)
    for tokens in vocabularies:
        for token, (start, stop) in zip(tokens, cutting.spans(tokens), strict=True):
            needs = max(columns(token.label), 0.85 * len(str(token.id))) + 0.7
            width[start:stop] += max(0.0, needs - width[start:stop].sum()) / (stop - start)
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
