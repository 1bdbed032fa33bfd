"""Joins step by step: the single bytes on top, one more pair joined in each row below, the whole at the bottom."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.scene import Labels, Mark, Panel, Scene
from viz_model.drawing.scene.writing import width_of
from viz_model.drawing.tables import By, by
from viz_model.island.look import Look
from viz_model.tokenizers.merging import Join
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.tokens import cutting
from viz_model.topics.tokens.layout import SHORTEST, Place, columns, label_of

BAND, FLAT, TALL = 30.0, 14.0, 900.0
"""Pixels of a row, of one where there are many, and of all of them together while rows are not as flat as that."""


class MergesView(NamedTuple):
    """How a token is built. Row 0 of ``parts`` are its single bytes, row n what is there after merge n.

    ``left`` [n_bytes] and ``width`` [n_bytes] are the place of every byte, in widths of a letter;
    ``new`` is the part of each row that the merge made (−1 in row 0), ``ranks`` its rank.
    """

    parts: tuple[tuple[bytes, ...], ...]
    new: tuple[int, ...]
    ranks: tuple[int, ...]
    left: np.ndarray
    width: np.ndarray
    position: int

    @classmethod
    def of(cls, ranks: Mapping[bytes, int], token: Token, position: int) -> "MergesView":
        """How ``token`` is merged from its bytes."""
        start = [bytes([byte]) for byte in token.bytes]
        return cls.joined(start, cutting.merges(ranks, token.bytes), position)

    @classmethod
    def joined(cls, start: Sequence[bytes], joins: Sequence[Join], position: int) -> "MergesView":
        """Parts at the start, and after each join."""
        rows = [tuple(start), *(join.parts for join in joins)]
        width = np.zeros(sum(map(len, start)))
        for parts in rows:
            at = 0
            for part in parts:
                span = slice(at, at := at + len(part))
                width[span] += max(0.0, columns(label_of(part)) + 1 - width[span].sum()) / len(part)
        new, ranks = [-1, *(join.at for join in joins)], [-1, *(join.rank for join in joins)]
        return cls(tuple(rows), tuple(new), tuple(ranks), np.cumsum(width) - width, width, position)


def draw(look: Look, key: str, view: MergesView, step: By | None = None) -> Scene:
    """A row of boxes a step; each step's new part is in color. With ``step`` that row's name is bold, and those after
    it are pale.
    """
    names = [look.words("step", n=n, rank=f"{rank:,}") for n, rank in enumerate(view.ranks[1:], 1)]
    names = [look.words("start" if step is None else "word_start"), *names]
    band = min(BAND, max(FLAT, TALL / len(names)))
    left = max(map(width_of, names)) + 12
    on = Place(max(float(view.width.sum()), 2.0 * SHORTEST), left)
    marks: list[Mark] = []
    for n, (parts, new) in enumerate(zip(view.parts, view.new, strict=True)):
        edges = np.cumsum([0, *map(len, parts)])
        starts, stops = view.left[edges[:-1]], np.append(view.left, view.width.sum())[edges[1:]]
        is_new = np.arange(len(parts)) == new
        hues = [theme.token(view.position) if one else "token" for one in is_new]
        opacity: Any = [0.45 if one else 0.12 for one in is_new]
        if step is not None:
            is_past = by("word_step", (np.asarray(step.values) >= n).astype(int))
            opacity = By(("word_step",), [[0.3 * one for one in opacity], opacity], {"word_step": is_past})
        tops = np.full(len(parts), 7 + n * band)
        look_: Any = {"fill": hues, "stroke": hues, "opacity": opacity, "walk": False}
        marks += [
            on.boxes(f"row.{n}", starts + 0.08, stops - 0.08, tops, band - 6, **look_),
            on.texts(
                f"labels.{n}", (starts + stops) / 2, tops + band / 2 - 3, list(map(label_of, parts)), min(13, band - 3)
            ),
        ]
    whole: Any = {"length": band * len(names), "along": "y", "most": 60, "marked": step}
    marks.append(Labels(id="names", texts=names, x=left - 8, y=4, **whole))
    panel = Panel(id=key, marks=marks, height=len(names) * band + 12)
    return Scene(id=f"tokens.{key}", panels=[panel], title=look.words("merges_alt"))
