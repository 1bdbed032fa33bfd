"""One target token's steps: from its products with the keys of the source to what it mixes of the values."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing.scene import Scene
from viz_model.island import query
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line

MASKS = ("none", "padding")
"""Whether the steps are shown as if the end of the source were padding."""
N_PADDING = 2
"""Tokens at the end of the source that are taken for padding, where that is asked for."""


class Padded(NamedTuple):
    """Tokens at the end of a source that are taken for padding, and the weight that they had in the run, [...]."""

    n: int
    weight: np.ndarray


PADDING: Verdict[Padded] = Verdict(
    "cross_attention.padding",
    Claim("none", lambda hidden: np.full(np.shape(hidden.weight), hidden.n == 0)),
    Claim("moves", lambda hidden: hidden.weight > 0),
)


def n_padding(look: Look) -> int:
    """Tokens that are taken for padding now; one stays."""
    is_asked = look.options.get("mask") == "padding"
    return min(N_PADDING, len(query.keys(look, "cross")) - 1) if is_asked else 0


def padded(look: Look) -> Padded:
    """Of every target token: [L, H, Tq]."""
    n, pattern = n_padding(look), look.every("cross.pattern")
    return Padded(n, pattern[..., pattern.shape[-1] - n :].sum(-1))


def choose(look: Look) -> Chooser:
    options = {name: look.words(f"mask_{name}") for name in MASKS}
    return Chooser("mask", options, look.words("mask"), look.words("mask_help"), asks=True)


def draw(look: Look) -> Scene:
    """A column a source token, a row a step, and below them the sizes of the weighted values."""
    return query.draw(look, "cross_attention.steps", "cross", n_padding(look))


def tell(look: Look) -> Iterator[Line]:
    """Which values of the run these are; and that nothing is masked, or what padding would change."""
    yield look.source(*(f"cross.{name}" for name in ("scores", "masked", "pattern", "z")))
    if look.options.get("mask") != "padding":
        yield look.text("no_mask")
        return
    found = padded(look)
    weight = look.by(query.PLACE, found.weight, "percent")
    yield look.claim(PADDING, found, query.PLACE, "text", n=found.n, weight=weight)
