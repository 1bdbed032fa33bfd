"""A tutorial's batch of four pieces of 16 ids, looked up in a table of the size that it has there."""

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from viz_model.drawing import matrix
from viz_model.drawing.scene import Scene
from viz_model.drawing.strips import top_of
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import cl100k_base
from viz_model.topics.batch import tables
from viz_model.topics.batch.rows import sizes

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


OPTION = ("piece", tuple(map(str, range(len(IDS)))))


def piece(look: Look) -> int:
    return int(look.options.get("piece") or 0)


def _names(look: Look) -> tuple[str, ...]:
    return tuple(look.words("row", n=n) for n in range(len(IDS)))


lead = say.text("tutorial", lambda _: {"rows": f"{ROWS:,}", "width": WIDTH})


def draw(look: Look) -> Scene:
    found = lookup()
    heading = look.words("tutorial_ids", shape=sizes("BT", found.ids.shape))
    view = tables.ids_view(heading, _names(look), found.ids, np.zeros_like(found.ids, dtype=bool), found.labels)
    return look.drawn(tables.draw(look, "batch.tutorial", look.words("tutorial_alt"), [view]), own=False)


def choose(look: Look) -> Chooser:
    return Chooser("piece", dict(zip(OPTION[1], _names(look), strict=True)), look.words("piece"), asks=True)


def title(look: Look) -> Iterator[Line]:
    yield look.part("tutorial_rows", shape=sizes("BTD", lookup().vectors.shape), n=piece(look))


def draw_rows(look: Look) -> Scene:
    """The rows of the chosen piece."""
    found, n = lookup(), piece(look)
    rows = [f"{id} {label}" for id, label in zip(found.ids[n], found.labels[n], strict=True)]
    scene = matrix.scene(
        "batch.tutorial.rows", look.words("tutorial_rows_alt"), found.vectors[n], rows, list(map(str, range(WIDTH))),
        axes=(look.words("position"), look.common("axis_dimension")), top=top_of(found.vectors[n]), frames=False,
        written=False, labels=(rows, list(map(str, range(WIDTH)))), height=70 + 20.0 * len(rows), role="residual",
    )  # fmt: skip
    return look.drawn(scene, own=False)


def tell(look: Look) -> Iterator[Line]:
    found = lookup()
    yield look.text(
        "tutorial_slip",
        own=" ".join(map(str, found.ids[0, :3])),
        printed=" ".join(map(str, found.printed[:3])),
        text=literal("".join(found.labels[piece(look)])),
        own_text=literal(found.labels[0][0] + found.labels[0][1]),
        printed_text=literal(PRINTED[:4]),
    )
