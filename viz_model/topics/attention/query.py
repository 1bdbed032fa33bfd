"""One query's arithmetic: its product with every key, divided, masked, through softmax, and the values it mixes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from viz_model.drawing import strips
from viz_model.drawing.brief import brief
from viz_model.drawing.cells import COLUMN
from viz_model.drawing.scene import Scene
from viz_model.drawing.strips import Strip
from viz_model.drawing.tables import Among, Scaled
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures.heads import STRONGEST
from viz_model.topics.attention.heads import PLACE, facts, largest

MOST_KEYS = 16
"""Keys that are drawn at the most, so that every cell has room for its number."""
FORMS = ("", "_normed", "_rotated")
"""What may become of a query or a key before scores are made of it, in order."""


@brief
class Query(NamedTuple):
    """One query's way from dot products to a mixed value; over the keys [T], or tables of such by layer, head, token.

    ``products`` q·k of the form that scores are made of; ``scores`` after ÷√K, where the model divides; ``capped``
    those kept within a cap, or None; ``bias`` what the position scheme adds, or None; ``mask`` 0 or −∞; ``masked``
    the sum of these; ``pattern`` after softmax; ``values`` the value vectors [T, K], ``z`` their weighted sum [K].
    """

    labels: tuple[str, ...]
    query: int
    products: Any
    scores: Any
    capped: Any
    bias: Any
    mask: Any
    masked: Any
    pattern: Any
    values: Any
    z: Any


def whole(look: Look) -> Query:
    """All of it, as the run has it."""
    place = "layer head token"
    names = ("scores", "capped", "bias", "mask", "masked", "pattern")
    rows = {name: look.by(place, values_of(look, name)) if look.has(f"attn.{name}") else None for name in names}
    values, z = look.by("layer head", look.of_heads("attn.v")), look.by(place, look.every("attn.z"))
    return Query(look.labels, look.token, look.by(place, look.once(products)), **rows, values=values, z=z)


def values_of(look: Look, name: str) -> np.ndarray:
    """A T×T value of attention with an axis for heads, also where it is the same in all of them: [L, H, T, T]."""
    found = look.every(f"attn.{name}")
    return np.broadcast_to(found.reshape(len(found), -1, *found.shape[-2:]), look.every("attn.scores").shape)


class Steps(NamedTuple):
    """What becomes of the products, by the key of its name: each [L, H, T, K] of the keys that are shown, in order.

    ``fetched`` is the length of each weighted value, ``shown`` the positions of the keys.
    """

    rows: dict[str, np.ndarray]
    fetched: np.ndarray
    shown: np.ndarray


def form(look: Look, letter: str) -> str:
    """Queries or keys as the scores are made of them: as projected, normalized, or with their positions."""
    return next(f"attn.{letter}{form}" for form in reversed(FORMS) if look.has(f"attn.{letter}{form}"))


def products(look: Look) -> np.ndarray:
    """QKᵀ of the queries and keys that scores are made of: [L, H, T, T]."""
    q, k = look.of_heads(form(look, "q")), look.of_heads(form(look, "k"))
    return np.asarray(q @ k.swapaxes(-1, -2))


def shown(look: Look) -> np.ndarray:
    """For every query the keys to draw, in order: all, or of a long text its own, one that is hidden, and the largest.

    Whole numbers [L, H, T, K].
    """
    pattern, at = look.every("attn.pattern"), np.arange(len(look))
    if len(look) <= MOST_KEYS:
        return np.broadcast_to(at, pattern.shape)
    visible = np.broadcast_to(look.visible[:, None], pattern.shape)
    rank = np.where(visible, pattern, -1.0)
    away = np.where(visible, len(look), np.abs(at - at[:, None]))
    # The nearest that the mask hides stands for all of them, where there is one.
    nearest = away.argmin(-1)[..., None]
    some = ~np.take_along_axis(visible, nearest, -1)
    np.put_along_axis(rank, nearest, np.where(some, 2.0, np.take_along_axis(rank, nearest, -1)), -1)
    rank[..., at, at] = 3.0
    return np.asarray(torch.from_numpy(rank).topk(MOST_KEYS).indices.sort().values)


def steps(look: Look) -> Steps:
    config, keys = look.config, look.once(shown)
    found = {f"products{form(look, 'q').removeprefix('attn.q')}": look.once(products)}
    if config.scale_scores:
        found["scores" if config.scale_width is None else "scores_width"] = look.every("attn.scores")
    for name in ("capped", "bias"):
        if look.has(f"attn.{name}"):
            found[name] = look.every(f"attn.{name}")
    found["masked_bias" if look.has("attn.bias") else "masked"] = look.every("attn.masked")
    found["pattern"] = look.every("attn.pattern")
    lengths = np.linalg.norm(look.of_heads("attn.v"), axis=-1)[..., None, :]
    fetched = look.every("attn.pattern") * lengths
    rows = {
        name: np.take_along_axis(np.broadcast_to(values, (*keys.shape[:3], len(look))), keys, -1)
        for name, values in found.items()
    }
    return Steps(rows, np.take_along_axis(fetched, keys, -1), keys)


def draw(look: Look) -> Scene:
    """A column a key, a row a step, and below them the sizes of the weighted values."""
    found, words = look.once(steps), look.words
    keys = look.by(PLACE, found.shown)
    drawn = [_strip(look, name, values, words(f"step_{name}"), found) for name, values in found.rows.items()]
    bars = look.by(PLACE, found.fetched)
    tops = look.by(PLACE, _tops(found.fetched))
    drawn.append(Strip(words("step_weighted"), bars, "bars", tops, "value"))
    view = strips.steps(drawn, Among(look.labels, keys), ())
    scene = strips.scene(view, "attention.steps", words("steps_alt"), {"masked": look.common("masked")})
    names = (
        *(name for name in ("scores", "capped", "bias", "mask", "masked", "pattern") if look.has(f"attn.{name}")),
        "z",
    )
    notes = []
    if found.shown.shape[-1] < len(look):
        notes.append(words("steps_part", shown=found.shown.shape[-1], n=len(look)))
    if not look.config.scale_scores:
        notes.append(words("no_scale"))
    return look.drawn(
        scene,
        note=" ".join(notes),
        data=whole(look),
        sites=[f"attn.{name}" for name in names],
        call=look.call("steps", layer=look.layer, head=look.head, token=look.token),
    )


def _strip(look: Look, name: str, values: np.ndarray, label: str, found: Steps) -> Strip:
    """A row of cells; a click on one asks for its number. Products are the first step of the scores."""
    site = "scores" if name.startswith("products") else name.removesuffix("_bias").removesuffix("_width")
    where = look.cells(f"attn.{site}", ("head", "token", COLUMN), columns=look.by(PLACE, found.shown))
    cells: Any = look.by(PLACE, values)
    scores = found.rows.get("scores", found.rows.get("scores_width"))
    if scores is not None and name.startswith("products"):
        cells = Scaled(look.by(PLACE, scores), 1 / look.trace.stack.block(look.layer).attn.scale)
    elif name == "masked" and "capped" not in found.rows and scores is not None:
        cells = Scaled(look.by(PLACE, scores), seen=look.by(PLACE, np.isfinite(values)))
    if name == "pattern":
        return Strip(label, cells, "share", 1.0, cells=where)
    return Strip(label, cells, "signed", look.by(PLACE, _tops(values)), cells=where)


def _tops(values: np.ndarray) -> np.ndarray:
    """The largest magnitude of each row; 1 where there is none."""
    finite = np.where(np.isfinite(values), np.abs(values), 0.0).max(-1)
    return np.where(finite > 0, finite, 1.0)


def title(look: Look) -> Iterator[Line]:
    reads = look.claim_label(STRONGEST, look.once(largest), PLACE, **facts(look))
    yield look.title("steps_title", reads=reads)
