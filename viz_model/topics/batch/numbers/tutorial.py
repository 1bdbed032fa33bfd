"""The batch of a tutorial: four pieces of 16 ids of its textbook, and the look-up of each."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import torch

from viz_model.tokenizers.tokenizer import cl100k_base

IDS = (
    (627, 1383, 88861, 279, 1989, 315, 25607, 16940, 65931, 323, 32097, 11, 584, 26458, 13520, 449),
    (15749, 311, 9615, 3619, 872, 6444, 6, 3966, 11, 10742, 11, 323, 32097, 13, 3296, 22815),
    (13189, 315, 1701, 5557, 304, 6763, 374, 88861, 7528, 10758, 7526, 13, 4314, 7526, 2997, 2613),
    (323, 6376, 2867, 26470, 1603, 16661, 264, 49148, 627, 18, 13, 81745, 48023, 75311, 7246, 66044),
)
"""Published ids of ``cl100k_base``: Wayland Zhang, *Transformer Architecture*, step 2 (word embeddings)."""
PRINTED = ". By mastering the art of identifying underlying motivations and desires, we equip ourselves with"
"""What that step prints as the text of the first piece."""
ROWS, WIDTH = 100_069, 64
"""The size of its table."""


class Lookup(NamedTuple):
    """The batch through a table of random numbers.

    Attributes:
        ids: [4, 16].
        labels: of each id, as visitors read it.
        vectors: [4, 16, 64].
        printed: the ids of the text that is printed for the first piece.
    """

    ids: np.ndarray
    labels: tuple[tuple[str, ...], ...]
    vectors: np.ndarray
    printed: tuple[int, ...]


@functools.cache
def lookup() -> Lookup:
    """Look the batch up in a table that is drawn as the tutorial draws its own: N(0, 1), untrained."""
    tokenizer, ids = cl100k_base(), torch.tensor(IDS)
    table = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(0))
    return Lookup(
        ids=ids.numpy(),
        labels=tuple(tuple(token.label for token in tokenizer.tokens(piece)) for piece in IDS),
        vectors=table[ids].numpy(),
        printed=tuple(tokenizer.encode(PRINTED)),
    )
