"""Where one patch looks, painted over the picture: the selected head enlarged, all heads of its layer small."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.cells import COLUMN
from viz_model.drawing.picture import Painted, Tile, enlarged, tiles
from viz_model.drawing.scene import Scene, Select
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Phrase, by
from viz_model.island import quiz as asking
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.measures import patches
from viz_model.topics.attention.heads import PLACE, does, facts

LARGE, SMALL = 250.0, 116.0
"""Pixels of the picture of one head, and of those of all heads."""


@short_repr
class Looks(NamedTuple):
    """The weights [H, T] of one query, over the picture [height, width] that was cut into ``grid`` patches."""

    pixels: np.ndarray
    weights: Any
    grid: tuple[int, int]
    names: tuple[str, ...]
    site: Any
    head: int
    token: int


def draw(look: Look) -> Scene:
    """Full color is the largest weight of each head; a click on a patch selects it, on a small picture its head."""
    pattern, word = look.every("attn.pattern"), look.words("grid_head")
    own = look.by(PLACE, pattern)
    tops = np.where(pattern.max(-1) > 0, pattern.max(-1), 1.0)
    top: Any = look.by(PLACE, tops)
    where = look.cells("attn.pattern", ("head", "token", COLUMN))
    grid = patches.grid(look.config)
    view = Painted(patches.pixels(look.trace), own, grid, look.names, where.site, where.where, "token")
    name: Any = Phrase("{{word}} {{head}}", {"word": word, "head": look.head_number})
    most: Any = Phrase("≤ {{top}}", {"top": top._replace(write="%0")})
    each = [
        Tile(
            f"head.{n}",
            f"{word} {n}",
            look.by(PLACE, pattern, head=n),
            look.by(PLACE, tops, head=n),
            Select(head=n),
            does(look, head=n),
            by("head", [one == n for one in range(look.n_heads)]),
        )
        for n in range(look.n_heads)
    ]
    is_few = len(each) <= 4
    every = tiles(view, each, "heads", SMALL if is_few else SMALL * 0.7, 2 if is_few else 3, beside=is_few)
    title = look.words("painted_title", token=look.token_named(), layer=look.layer_number)
    panels = [enlarged(view, LARGE, top, name, most), every]
    scene = Scene(id="attention.painted", panels=panels, title=title, description=look.words("painted_hint"))
    weights = look.by("layer token", pattern.swapaxes(1, 2))
    data = Looks(view.pixels, weights, grid, look.names, where.site, look.head, look.token)
    call = look.call("painted", layer=look.layer, head=look.head, token=look.token)
    return look.drawn(scene, ["attn.pattern"], data=data, call=call)


def tell(look: Look) -> Iterator[Line]:
    """Where the weight of the selected patch goes: to [CLS], to patches with ink and to blank ones, and to itself."""
    pattern = look.every("attn.pattern")
    inked = np.concatenate([[False], patches.of(look.trace).any((1, 2))])
    blank = ~inked
    blank[0] = False
    shares = {
        "class_": pattern[..., 0],
        "inked": pattern[..., inked].sum(-1),
        "blank": pattern[..., blank].sum(-1),
        "itself": pattern.diagonal(axis1=-2, axis2=-1),
    }
    yield look.text(
        "see_painted", **{**facts(look), **{name: look.by(PLACE, one, "percent") for name, one in shares.items()}}
    )


def quiz(look: Look) -> Quiz:
    """Which patch [CLS] reads most in the layer."""
    mean = look.every("attn.pattern")[:, :, 0].mean(1)  # [L, T]
    return asking.one_of(look, mean, look.names, "guess_class")
