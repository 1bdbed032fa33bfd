"""The merges that build one token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, sheet, theme
from viz_model.drawing.boxes import Box, draw
from viz_model.tokenizers.merging import Join
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.pictures.cuts import Glyph, write
from viz_model.topics.tokens.pictures.layout import SHORTEST, columns, label_of

BAND = 30
"""Pixels of a row."""


class MergesView(NamedTuple):
    """How a token is built. Row 0 of ``parts`` are its single bytes, row n what is there after merge n.

    ``left`` [n_bytes] and ``width`` [n_bytes] are the place of every byte, in widths of a letter;
    ``new`` is the part of each row that the merge made (−1 in row 0), ``ranks`` its rank.
    """

    label: str
    parts: tuple[tuple[bytes, ...], ...]
    new: tuple[int, ...]
    ranks: tuple[int, ...]
    left: np.ndarray
    width: np.ndarray
    position: int

    @classmethod
    def of(cls, ranks: Mapping[bytes, int], token: Token, position: int) -> MergesView:
        """How ``token`` is merged from its bytes."""
        start = [bytes([byte]) for byte in token.bytes]
        return cls.joined(token.label, start, cutting.merges(ranks, token.bytes), position)

    @classmethod
    def joined(cls, label: str, start: Sequence[bytes], joins: Sequence[Join], position: int) -> MergesView:
        """Parts at the start, and after each join."""
        rows = [tuple(start), *(join.parts for join in joins)]
        width = np.zeros(sum(map(len, start)))
        for parts in rows:
            at = 0
            for part in parts:
                span = slice(at, at := at + len(part))
                width[span] += max(0.0, columns(label_of(part)) + 1 - width[span].sum()) / len(part)
        return cls(
            label=label,
            parts=tuple(rows),
            new=(-1, *(join.at for join in joins)),
            ranks=(-1, *(join.rank for join in joins)),
            left=np.cumsum(width) - width,
            width=width,
            position=position,
        )


def draw_merges(view: MergesView, words: Mapping[str, str], now: int | None = None) -> sheet.Sheet:
    """A row of boxes a step, bytes on top, the token at the bottom; each step's new part in colour.

    ``words`` holds ``start``, the name of row 0, and ``step``, a format of {n} and {rank}. With ``now`` that row is
    pointed out, and those after it are pale.
    """
    boxes: list[Box] = []
    labels: list[str] = []
    for n, (parts, new) in enumerate(zip(view.parts, view.new, strict=True)):
        at, fade = 0, 0.3 if now is not None and n > now else 1.0
        for i, part in enumerate(parts):
            left, width = float(view.left[at]) + 0.08, float(view.width[at : at + len(part)].sum()) - 0.16
            boxes.append(Box(left, width, -n * BAND, *_colours(view, i == new, fade)))
            labels.append(label_of(part))
            at += len(part)
    figure = sheet.Sheet()
    draw(figure, boxes, BAND - 6)
    glyphs = [Glyph(box.left + box.width / 2, box.y, label) for box, label in zip(boxes, labels, strict=True)]
    write(figure, glyphs, theme.FONT_SIZE)
    steps = [words["step"].format(n=n, rank=f"{rank:,}") for n, rank in enumerate(view.ranks[1:], 1)]
    n_rows = 1 + len(steps)
    axes.hidden(figure, [0, max(float(view.width.sum()), 2 * SHORTEST)])
    ends = [-(n_rows - 0.5) * BAND, BAND / 2]
    places = [-n * BAND for n in range(n_rows)]
    axes.rows(
        figure, [words["start"], *steps], places=places, bold=[now] if now is not None else [], range=ends, visible=True
    )
    return theme.finished(figure, height=n_rows * BAND + 12, margin={"t": 4, "b": 4})


def _colours(view: MergesView, is_new: bool, fade: float) -> tuple[str, str]:
    """Of a box and its edge."""
    if is_new:
        colour = theme.token_colour(view.position)
        return theme.rgba(colour, 0.45 * fade), theme.rgba(colour, fade)
    grey = theme.ROLES["token"]
    return theme.rgba(grey, 0.12 * fade), theme.rgba(grey, 0.6 * fade)
