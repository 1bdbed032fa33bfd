"""How far the patterns of each head of two models lie apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from viz_model.drawing import matrix
from viz_model.drawing.brief import brief
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.architectures import pair
from viz_model.topics.architectures.choices import headed


@brief
class ApartView(NamedTuple):
    """How far the patterns A and B of each head lie apart: ``distances`` [L, H].

    Σ |A − B| / 2 over the keys, as a mean over the queries: 0 where all weights are equal, 1 where no query gives
    weight to a key that it gives weight to in the other model (total variation distance).
    """

    distances: np.ndarray


def view(look: Look) -> ApartView | None:
    """None where the two runs have not the same heads and positions, seen from one stack."""
    return look.once(_view, "distances")


def _view(look: Look) -> ApartView | None:
    first, second = (one.trace for one in pair.both(look))
    if first is None or second is None or first.stack.side != second.stack.side:
        return None
    if (first.n_layers, first.config.n_heads, len(first)) != (second.n_layers, second.config.n_heads, len(second)):
        return None
    names = [f"blocks.{layer}.attn.pattern" for layer in range(first.n_layers)]
    gaps = [(first[name] - second[name]).abs().sum(-1).mean(-1) / 2 for name in names]
    return ApartView(torch.stack(gaps).numpy())


def title(look: Look) -> Iterator[Line]:
    if (found := view(look)) is None:
        return
    layer, head = np.unravel_index(found.distances.argmax(), found.distances.shape)
    said = look.words("apart_title", layer=int(layer), head=int(head), distance=f"{found.distances.max():.2f}")
    yield Line(said, "part")


def draw(look: Look) -> Scene | None:
    """Rows are layers, columns heads."""
    if (found := view(look)) is None:
        return None
    rows, columns = (list(map(str, range(n))) for n in found.distances.shape)
    axes = look.words("apart_layer"), look.words("apart_head")
    scene = matrix.scene(
        "architectures.distances", look.words("apart_alt"), found.distances, rows, columns, axes=axes, frames=False,
        look="share", role="output", site="Σ |A − B| / 2", height=300, labels=(rows, columns),
    )  # fmt: skip
    call, other = pair.call(look, "distances")
    sites = [f"blocks.{layer}.attn.pattern" for layer in range(look.n_layers)]
    made = headed(scene, look.words("apart_name"))
    return look.drawn(made, sites, data=found, call=call, other=other, own=False)


def tell(look: Look) -> Iterator[Line]:
    if view(look) is not None:
        yield look.text("apart")
