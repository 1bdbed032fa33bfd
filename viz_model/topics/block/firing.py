"""The feed-forward of a model that reads pictures: which patches fire a hidden neuron."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.drawing.cells import COLUMN
from viz_model.drawing.digits import written
from viz_model.drawing.picture import Painted, Tile, enlarged, tiles
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import patches
from viz_model.topics.block import neurons
from viz_model.topics.block.memory import chosen

LARGE, SMALL = 220.0, 72.0
"""Pixels of the picture of the chosen neuron, and of those of others."""
MOST_SHOWN = 8


def title(look: Look) -> Iterator[Line]:
    if neurons.count(look):
        yield look.title("firing_title", neuron=chosen(look), layer=look.layer)
    else:
        yield from neurons.title(look)


def draw(look: Look) -> Scene:
    """The chosen neuron enlarged, then those that fire most at the selected patch."""
    acts, number, grid = look.trace[look.site("ffn.act")].numpy(), chosen(look), patches.grid(look.config)
    top = float(np.abs(acts[:, number]).max()) or 1.0
    site, name = look.trace.full_name(look.site("ffn.act")), look.words("firing_name")
    view = Painted(
        patches.pixels(look.trace), acts[:, number], grid, look.names, site, (COLUMN, number), chosen=look.token
    )
    large = enlarged(view, LARGE, top, name.replace("#", str(number)), f"≤ {top:.2f}", look="signed")
    each = [
        Tile(
            f"neuron.{n}",
            str(n),
            acts[:, n],
            float(np.abs(acts[:, n]).max()) or 1.0,
            None,
            name.replace("#", str(n)),
            n == number,
        )
        for n in np.argsort(-np.abs(acts[look.token]), kind="stable")[:MOST_SHOWN].tolist()
    ]
    small: Any = tiles(view, each, "neurons", SMALL, 4, look="signed", beside=False)
    title = look.words("firing_alt", token=look.names[look.token])
    return look.only_here(Scene(id="block.firing", panels=[large, small], title=title), token=True)


def tell(look: Look) -> Iterator[Line]:
    acts, number = look.trace[look.site("ffn.act")].numpy(), chosen(look)
    best = int(acts[:, number].argmax())
    yield look.source("ffn.act")
    yield look.text(
        "see_firing",
        token=look.names[look.token],
        value=written(acts[look.token, number], "+2"),
        best=look.names[best],
        most=written(acts[best, number], "+2"),
        n_fires=int((acts[:, number] > 0).sum()),
        n=len(acts),
        n_neurons=acts.shape[1],
    )
