"""The weights of one token's row as bars: of a long text the part that is read most."""

from typing import Any

import numpy as np

from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN
from viz_model.drawing.scene import Scene
from viz_model.drawing.spans import windows
from viz_model.drawing.strips import Strip, StripsView
from viz_model.drawing.tables import Among
from viz_model.island import query
from viz_model.island.look import Look

MOST_COLUMNS = 24
"""Tokens beside each other at the most."""


def row(look: Look, id: str, alt: str, place: str, weights: np.ndarray, part: str) -> Scene:
    """A bar a token that is read.

    Args:
        alt: the key of the picture's title.
        place: the axes of ``weights`` [..., Tk]; numbers of the run where a head is among them.
        part: "attn" or "cross".
    """
    labels = query.keys(look, part)
    n = min(len(labels), MOST_COLUMNS)
    at = windows(weights, n)[..., None] + np.arange(n)
    shares = np.take_along_axis(weights, at, -1)
    top: Any = look.by(place, np.maximum(shares.max(-1), 1e-30))
    columns, where = look.by(place, at), None
    if "head" in place:
        where = look.cells(f"{part}.pattern", ("head", "token", COLUMN), columns=columns)
    strip = Strip(look.words("weight"), look.by(place, shares), "bars", top, cells=where)
    view = StripsView((strip,), Among(labels, columns), 190, written=True)
    scene = strips.scene(view, id, look.words(alt), {"masked": look.common("masked")})
    return look.drawn(scene, [f"{part}.pattern"])
