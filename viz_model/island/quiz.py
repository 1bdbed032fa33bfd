"""Questions at the end of a page that this run answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz_model.drawing.digits import written
from viz_model.drawing.tables import Among, Each
from viz_model.island.look import Look
from viz_model.island.page import Quiz

MOST_OPTIONS = 6


def spread(n: int, most: int = MOST_OPTIONS) -> list[int]:
    """At most so many of 0 … n − 1, evenly spaced, the first and the last among them."""
    return sorted({*np.linspace(0, n - 1, min(n, most)).round().astype(int).tolist()}) if n else []


def largest(
    look: Look, axes: str, values: np.ndarray, names: Sequence[str], write: str, key: str = "guess", **facts: Any
) -> Quiz | None:
    """Which of these is the largest? Where two of them are written like the largest, nothing is asked.

    The topic's text ``key`` asks it, and ``key_found`` tells of the ``{{best}}`` and its value ``{{most}}``.

    Args:
        values: an array by ``axes``, and then of the options [N]; NaN where one is none.
        names: N labels.
    """
    if values.shape[-1] < 2:
        return None
    filled = np.where(np.isnan(values), -np.inf, values)
    best, ranked = filled.argmax(-1), np.sort(filled, -1)
    most, second = ranked[..., -1], ranked[..., -2]
    is_clear = np.vectorize(lambda a, b: np.isfinite(b) and written(a, write) != written(b, write))(most, second)
    at = look.by(axes, best)
    said = look.words(f"{key}_found", best=Among(tuple(names), at), most=look.by(axes, most, write), **facts)
    own = Each(look.t.labels("common")["guess_own"], {"name": tuple(names), "value": look.by(axes, values, write)})
    return Quiz(
        look.words(key, **facts),
        tuple(names),
        look.by(axes, np.where(is_clear, best, -1).astype(np.float32)),
        said,
        own,
    )


def one_of(look: Look, values: np.ndarray, names: Sequence[str], key: str) -> Quiz:
    """Which of many is the largest in each layer, of values [L, N]?

    Offered are some, evenly spread, and the right one: in the place of the last where it is none of them.
    """
    shown, best = spread(values.shape[-1]), values.argmax(-1)
    offered = np.stack([np.sort(shown if top in shown else [*shown[:-1], top]) for top in best])
    options, of_best = (Among(names, look.by("layer", at)) for at in (offered, best))
    own = look.by("layer", np.take_along_axis(values, offered, -1), "percent")
    return Quiz(
        look.words(key, layer=look.layer_number),
        options,
        look.by("layer", (offered == best[:, None]).argmax(-1)),
        look.words(f"{key}_found", best=of_best, most=look.by("layer", values.max(-1), "percent")),
        Each(look.t.labels("common")["guess_own"], {"name": options, "value": own}),
    )
