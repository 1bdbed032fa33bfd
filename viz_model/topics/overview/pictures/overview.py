"""The whole run in one picture: a row a token, a column a stage, every cell a value of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import theme
from viz_model.topics.attention.numbers.heads import HeadSummary
from viz_model.topics.overview.numbers import Look

MOST_NUMBERS = 32_000
"""Numbers of the whole picture, 4 bytes each: of strips that would be too wide every n-th dimension is drawn."""
HIDDEN = -1.0
"""What a masked cell holds in place of a weight."""
WORDS = (
    "tokens",
    "embedding",
    "position",
    "dimensions",
    "every",
    "dimension",
    "block",
    "head",
    "masked",
    "vectors",
    "hint",
    "alt",
)
"""Keys of the words that the picture is labelled with."""


class StripView(NamedTuple):
    """Vectors of all tokens at one site: ``values`` is [S, D]; ``part`` is its key in the words, and its page."""

    part: str
    page: str
    site: str
    values: np.ndarray


class BlockView(NamedTuple):
    """One block: the pattern [S, S] of the head that looks away most sharply, and residual norms [S].

    Cells that the mask hides are −1.
    """

    layer: int
    head: int
    does: HeadSummary
    pattern: np.ndarray
    norm: np.ndarray


class OverviewView(NamedTuple):
    """The stages of one run. S rows stand for T tokens, ``pool`` tokens each.

    Of pooled tokens each dimension shows the value of largest magnitude, patterns the largest
    weight, norms the mean. ``strips`` are what enters the blocks; where the run ends in vectors
    rather than in logits they are the last strip. ``next_tokens`` are those at ``token``, over the
    full vocabulary, and ``next_ids`` their ids; ``look`` is its strongest look at another position, ``read``
    at the source.
    Deep models show ``blocks`` at even distances, ``n_layers`` in all.
    """

    labels: tuple[str, ...]
    ids: tuple[int, ...]
    strips: tuple[StripView, ...]
    blocks: tuple[BlockView, ...]
    vectors: StripView | None
    next_tokens: tuple[tuple[str, float], ...]
    look: Look | None
    read: Look | None
    token: int
    pool: int
    n_layers: int
    next_ids: tuple[int, ...] = ()


def scene(view: OverviewView, kinds: Sequence[str], prefix: str = "") -> tuple[dict[str, Any], np.ndarray]:
    """What the browser draws: a header, and all numbers in one float32 array.

    The array holds the strips, then pattern and norms of every block, then the vectors that the
    run ends in, where it does. ``kinds`` says of each block's head what it does; ``prefix`` stands before the
    names of the blocks' sites.
    """
    ends = () if view.vectors is None else (view.vectors,)
    rows, width = view.strips[0].values.shape
    left = MOST_NUMBERS - len(view.blocks) * rows * (rows + 1)
    every = -(-width * rows * len((*view.strips, *ends)) // left)
    arrays = [strip.values[:, ::every] for strip in view.strips]
    for block in view.blocks:
        arrays += [block.pattern, block.norm]
    arrays += [strip.values[:, ::every] for strip in ends]
    header = {
        "rows": rows,
        "width": arrays[0].shape[-1],
        "dimensions": width,
        "every": every,
        "prefix": prefix,
        "labels": view.labels[:: view.pool],
        "tokens": len(view.labels),
        "after": view.labels[view.token],
        "ids": view.ids[:: view.pool],
        "colours": [theme.token_colour(position) for position in range(0, len(view.labels), view.pool)],
        "token": view.token // view.pool,
        "picked": view.token,
        "pool": view.pool,
        "strips": [{"part": strip.part, "page": strip.page, "site": strip.site} for strip in view.strips],
        "ends": [{"part": strip.part, "page": strip.page, "site": strip.site} for strip in ends],
        "blocks": [
            {"layer": block.layer, "head": block.head, "kind": kind}
            for block, kind in zip(view.blocks, kinds, strict=True)
        ],
        "next": [
            {"label": label, "probability": probability, "id": id}
            for (label, probability), id in zip(view.next_tokens, view.next_ids, strict=True)
        ],
        "palette": {role: theme.rgb(role) for role in ("pattern", "residual", "output")}
        | {"negative": theme.channels(theme.NEGATIVE), "positive": theme.channels(theme.POSITIVE)},
    }
    numbers = np.concatenate([np.asarray(array, dtype=np.float32).ravel() for array in arrays])
    return header, numbers
