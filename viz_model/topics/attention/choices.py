"""What a visitor chooses on this page."""

from __future__ import annotations

import re
from collections.abc import Iterable

from viz_model.app.choices import Choice, one_of, switch, whole, wholes
from viz_model.measures import masks
from viz_model.topics.attention.numbers import caveats, layer

FURTHEST = 99_999
"""More than any position. Whether the sentence is that long is for the page to say."""
MOST_FLIPPED = 400
"""Cells of a drawing that an address holds."""


def _cells(text: str) -> tuple[tuple[int, int], ...]:
    if not re.fullmatch(r"\d{1,5}\.\d{1,5}(~\d{1,5}\.\d{1,5})*", text[: 12 * MOST_FLIPPED], re.ASCII):
        raise ValueError(text)
    pairs = (cell.split(".") for cell in text.split("~", MOST_FLIPPED)[:MOST_FLIPPED])
    return tuple((int(query), int(key)) for query, key in pairs)


def _written(cells: Iterable[tuple[int, int]]) -> str:
    return "~".join(f"{query}.{key}" for query, key in tuple(cells)[:MOST_FLIPPED])


MATRIX = one_of("matrix", layer.MATRICES, "pattern")
SPAN = one_of("span", ("near", "whole"))
GROUP = one_of("group", caveats.GROUPS)
RUN = switch("run")

MASK = one_of("mask", masks.MASKS)
"""Of the masks, no mask and a drawn one are edits of the view where edits can say so."""
N_PADDING = whole("n_padding", masks.MaskChoice().n_padding, 1, FURTHEST)
SIZE = whole("size", masks.MaskChoice().size, 1, FURTHEST)
CHOSEN = wholes("chosen", masks.MaskChoice().chosen, FURTHEST, most=64)
FLIPPED: Choice[tuple[tuple[int, int], ...]] = Choice("flipped", (), _cells, _written)

MASKS = (MASK, N_PADDING, SIZE, CHOSEN, FLIPPED)
ALL = (MATRIX, SPAN, GROUP, RUN, *MASKS)
