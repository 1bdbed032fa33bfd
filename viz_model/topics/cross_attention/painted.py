"""Where the decoder looks in a picture for each token that it writes: word by word, and head by head."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.cells import COLUMN
from viz_model.drawing.picture import Painted, Tile, enlarged, tiles
from viz_model.drawing.scene import Scene, Select
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, Phrase, by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import patches
from viz_model.topics.cross_attention.decoding import steps
from viz_model.topics.cross_attention.weights import axes, facts, place, shown, weights

LARGE, SMALL = 316.0, 146.0
"""Pixels of the picture of the selected token, and of those of all tokens or heads."""


@short_repr
class Looks(NamedTuple):
    """The weights [Tq, Ts] of every target token, over the picture [height, width] that was cut into ``grid`` patches.

    ``writes`` are the tokens that follow them.
    """

    pixels: np.ndarray
    weights: Any
    grid: tuple[int, int]
    writes: tuple[str, ...]
    token: int


def writes(look: Look) -> tuple[str, ...]:
    """For each target token the one that is written after it: the target's next, or where it ends, the prediction."""
    return tuple((step.came or step.guesses[0][0]).label for step in steps(look))


def _view(look: Look, values: Any) -> Painted:
    where = look.cells("cross.pattern", ("head", "token", COLUMN)) if shown(look) == "head" else None
    site = {} if where is None else {"site": where.site, "place": where.where}
    names = patches.names(look.trace, look.t)
    pixels, grid = patches.pixels(look.trace), patches.grid(look.config)
    return Painted(pixels, values, grid, names, has_class=look.config.patches.cls, **site)


def draw(look: Look) -> Scene:
    """The selected token's weights over the picture, and below it those of every token in turn; full color is the
    largest weight of each.
    """
    found, follows, axis = weights(look), writes(look), axes(look)
    tops = np.where(found.max(-1) > 0, found.max(-1), 1.0)
    view = _view(look, look.by(place(look), found))
    named = [f"{read} → {next_}" for read, next_ in zip(look.labels, follows, strict=True)]
    top: Any = look.by(place(look), tops)
    most: Any = Phrase("≤ {{top}}", {"top": top._replace(write="%0")})
    name: Any = Among(named, by("token", np.arange(len(named))))
    large = enlarged(view, LARGE, top, name, most, selects=False)
    each = [
        Tile(
            f"word.{n}",
            label,
            look.by(axis, found[..., n, :]),
            look.by(axis, tops[..., n]),
            Select(token=n),
            label,
            by("token", [one == n for one in range(len(named))]),
        )
        for n, label in enumerate(named)
    ]
    words = tiles(view, each, "words", SMALL, 2)
    title = look.words("painted_title")
    scene = Scene(id="cross_attention.painted", panels=[large, words], title=title)
    data = Looks(view.pixels, look.by(axis, found), view.grid, follows, look.token)
    head = look.head if shown(look) == "head" else None
    call = look.call("painted", layer=look.layer, head=head, token=look.token)
    return look.drawn(scene, ["cross.pattern"], data=data, call=call)


def heads(look: Look) -> Scene:
    """The selected token's weights in every head of the layer; a click selects the head."""
    found = look.every("cross.pattern")  # [L, H, Tq, Ts]
    tops, axis = np.where(found.max(-1) > 0, found.max(-1), 1.0), "layer head token"
    view, word = _view(look, look.by(axis, found)), look.words("grid_head")
    each = [
        Tile(
            f"head.{n}",
            f"{word} {n}",
            look.by(axis, found, head=n),
            look.by(axis, tops, head=n),
            Select(head=n),
            f"{word} {n}",
            by("head", [one == n for one in range(look.n_heads)]),
        )
        for n in range(look.n_heads)
    ]
    title = look.words("painted_heads", token=look.token_named(), layer=look.layer_number)
    scene = Scene(id="cross_attention.painted_heads", panels=[tiles(view, each, "heads", SMALL, 2)], title=title)
    return look.drawn(scene, ["cross.pattern"])


def heads_title(look: Look) -> Iterator[Line]:
    yield look.title("painted_heads", token=look.token_named(), layer=look.layer_number)


def tell(look: Look) -> Iterator[Line]:
    """How much of the selected token's weight lies on ink, and at which column on average."""
    found = weights(look)
    inked = np.asarray(patches.of(look.trace).any((1, 2)))
    inked = np.concatenate([np.zeros(int(look.config.patches.cls), bool), inked])
    rows, columns = patches.grid(look.config)
    column = np.tile(np.arange(1, columns + 1), rows)
    cut = found[..., len(inked) - rows * columns :]
    where = (cut * column).sum(-1) / np.maximum(cut.sum(-1), 1e-30)
    shares = {"inked": found[..., inked].sum(-1), "blank": found[..., ~inked].sum(-1)}
    known: dict[str, Any] = {name: look.by(place(look), one, "percent") for name, one in shares.items()}
    follows: Any = Among(writes(look), by("token", np.arange(len(look))), is_code=True)
    known |= {"column": look.by(place(look), where, "1"), "n_columns": columns, "writes": follows}
    yield look.text("see_painted", **{**facts(look), **known})
