"""One query's arithmetic: its product with every key, divided, masked, through softmax, and the values it mixes.

Of self-attention, part "attn", or of what a decoder reads of its source, part "cross". Tq are the tokens that ask, Tk
those that are read.
"""

from typing import Any, NamedTuple

import numpy as np
import torch

from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN
from viz_model.drawing.scene import Scene
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.strips import Strip
from viz_model.drawing.tables import Among, Scaled
from viz_model.island.look import Look
from viz_model.island.tabs import Worked
from viz_model.measures import patches
from viz_model.model import ops
from viz_model.runs.trace import Trace

PLACE = "layer head token"
MOST_KEYS = 16
"""Keys that are drawn at the most, so that every cell has room for its number."""
FORMS = ("", "_normed", "_rotated")
"""What may become of a query or a key before scores are made of it, in order."""


@short_repr
class Query(NamedTuple):
    """One query's way from dot products to a mixed value; over the keys [Tk], or tables of such by layer, head, token.

    ``products`` q·k of the form that scores are made of; ``scores`` after ÷√K, where the model divides; ``capped``
    those kept within a cap, or None; ``bias`` what the position scheme adds, or None; ``mask`` 0 or −∞; ``masked``
    the sum of these; ``pattern`` after softmax; ``values`` the value vectors [Tk, K], ``z`` their weighted sum [K].
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


def keys(look: Look, part: str = "attn") -> tuple[str, ...]:
    """Names of the tokens that are read: the look's own, or those of the source."""
    return look.labels if part == "attn" else tuple(token.label for token in look.trace.at("encoder").tokens)


def key_names(look: Look, part: str = "attn") -> tuple[str, ...]:
    """The same for prose: a patch is named by its place in the picture."""
    if part == "attn":
        return look.names
    return patches.names(look.trace, look.t) if look.config.reads_pictures else keys(look, part)


def whole(look: Look, part: str = "attn") -> Query:
    """All of it, as the run has it."""
    names = ("scores", "capped", "bias", "mask", "masked", "pattern")
    found = {
        name: look.by(PLACE, values_of(look, name, part)) if look.has(f"{part}.{name}") else None for name in names
    }
    values, z = look.by("layer head", look.of_heads(f"{part}.v")), look.by(PLACE, look.every(f"{part}.z"))
    return Query(keys(look, part), look.token, look.by(PLACE, products(look, part)), **found, values=values, z=z)


def values_of(look: Look, name: str, part: str = "attn") -> np.ndarray:
    """A Tq×Tk value of attention with an axis for heads, also where it is the same in all of them: [L, H, Tq, Tk]."""
    found = look.every(f"{part}.{name}")
    return np.broadcast_to(found.reshape(len(found), -1, *found.shape[-2:]), look.every(f"{part}.scores").shape)


def form(look: Look, letter: str, part: str = "attn") -> str:
    """Queries or keys as the scores are made of them: as projected, normalized, or with their positions."""
    return next(f"{part}.{letter}{form}" for form in reversed(FORMS) if look.has(f"{part}.{letter}{form}"))


def products(look: Look, part: str = "attn") -> np.ndarray:
    """QKᵀ of the queries and keys that scores are made of: [L, H, Tq, Tk]."""

    def make(look: Look) -> np.ndarray:
        q, k = look.of_heads(form(look, "q", part)), look.of_heads(form(look, "k", part))
        return np.asarray(q @ k.swapaxes(-1, -2))

    return look.once(make, f"products {part}")


class Steps(NamedTuple):
    """What becomes of the products, by the key of its name: each [L, H, Tq, K] of the keys that are shown, in order.

    ``fetched`` is the length of each weighted value, ``shown`` the positions of the keys.
    """

    rows: dict[str, np.ndarray]
    fetched: np.ndarray
    shown: np.ndarray


def every(look: Look, part: str = "attn", n_padding: int = 0) -> dict[str, np.ndarray]:
    """The same of all keys, each [L, H, Tq, Tk], and at the end the lengths of the weighted values, "weighted".

    Args:
        n_padding: keys at the end that are hidden, as padding in a batch is: then these are no numbers of the run.
    """
    return look.once(lambda look: _every(look, part, n_padding), f"every step {part} {n_padding}")


def _every(look: Look, part: str, n_padding: int) -> dict[str, np.ndarray]:
    config, scores = look.config, look.every(f"{part}.scores")
    found = {f"products{form(look, 'q', part).removeprefix(f'{part}.q')}": products(look, part)}
    if config.scale_scores:
        found["scores" if config.scale_width is None else "scores_width"] = scores
    for name in ("capped", "bias"):
        if look.has(f"{part}.{name}"):
            found[name] = look.every(f"{part}.{name}")
    masked, pattern = look.every(f"{part}.masked"), look.every(f"{part}.pattern")
    if n_padding:
        masked = np.where(np.arange(masked.shape[-1]) < masked.shape[-1] - n_padding, masked, -np.inf)
        pattern = ops.pattern(torch.from_numpy(masked)).numpy()
    found["masked_bias" if "bias" in found else "masked"] = masked
    lengths = np.linalg.norm(look.of_heads(f"{part}.v"), axis=-1)[..., None, :]
    found |= {"pattern": pattern, "weighted": pattern * lengths}
    return {name: np.broadcast_to(row, scores.shape) for name, row in found.items()}


def steps(look: Look, part: str = "attn", n_padding: int = 0) -> Steps:
    """Of every query, the keys that are shown."""

    def make(look: Look) -> Steps:
        found = every(look, part, n_padding)
        masked = found["masked_bias" if "bias" in found else "masked"]
        shown = _shown(found["pattern"], np.isfinite(masked), part == "attn")
        rows = {name: np.take_along_axis(row, shown, -1) for name, row in found.items()}
        fetched = rows.pop("weighted")
        return Steps(rows, fetched, shown)

    return look.once(make, f"steps {part} {n_padding}")


def _shown(pattern: np.ndarray, visible: np.ndarray, is_own: bool) -> np.ndarray:
    """For every query the keys to draw, in order: all, or of a long text the largest, one that is hidden, and where it
    ``is_own`` text, the query's own. Whole numbers [L, H, Tq, K].
    """
    asking, at = np.arange(pattern.shape[-2]), np.arange(pattern.shape[-1])
    if len(at) <= MOST_KEYS:
        return np.broadcast_to(at, pattern.shape)
    rank = np.where(visible, pattern, -1.0)
    away = np.where(visible, 2 * len(at), np.abs(at - asking[:, None]))
    # The nearest that the mask hides stands for all of them, where there is one.
    nearest = away.argmin(-1)[..., None]
    some = ~np.take_along_axis(visible, nearest, -1)
    np.put_along_axis(rank, nearest, np.where(some, 2.0, np.take_along_axis(rank, nearest, -1)), -1)
    if is_own:
        rank[..., at, at] = 3.0
    return np.asarray(torch.from_numpy(rank).topk(MOST_KEYS).indices.sort().values)


def draw(look: Look, id: str, part: str = "attn", n_padding: int = 0) -> Scene:
    """A column a key, a row a step, and below them the sizes of the weighted values."""
    found, words, names = steps(look, part, n_padding), look.words, keys(look, part)
    tops = look.by(PLACE, _tops(found.fetched))
    drawn = [_strip(look, name, found, part, n_padding) for name in found.rows]
    drawn.append(Strip(words("step_weighted"), look.by(PLACE, found.fetched), "bars", tops, "value"))
    view = strips.steps(drawn, Among(names, look.by(PLACE, found.shown)))
    scene = strips.scene(view, id, words("steps_alt"), {"masked": look.common("masked")})
    sites = ("scores", "capped", "bias", "mask", "masked", "pattern", "z")
    note = words("steps_part", shown=found.shown.shape[-1], n=len(names)) if found.shown.shape[-1] < len(names) else ""
    return look.drawn(scene, [f"{part}.{name}" for name in sites if look.has(f"{part}.{name}")], note=note)


def _strip(look: Look, name: str, found: Steps, part: str, n_padding: int) -> Strip:
    """A row of cells; a click on one asks for its number. Products are the first step of the scores."""
    label, values = look.words(f"step_{name}"), found.rows[name]
    site = "scores" if name.startswith("products") else name.removesuffix("_bias").removesuffix("_width")
    where = look.cells(f"{part}.{site}", ("head", "token", COLUMN), columns=look.by(PLACE, found.shown))
    where = None if n_padding else where
    if name == "pattern":
        return Strip(label, look.by(PLACE, values), "share", 1.0, cells=where)
    cells: Any = look.by(PLACE, values)
    scores = found.rows.get("scores", found.rows.get("scores_width"))
    if scores is not None and name.startswith("products"):
        block: Any = look.trace.stack.block(look.layer)
        cells = Scaled(look.by(PLACE, scores), 1 / getattr(block, part).scale)
    elif name == "masked" and "capped" not in found.rows and scores is not None:
        cells = Scaled(look.by(PLACE, scores), seen=look.by(PLACE, np.isfinite(values)))
    return Strip(label, cells, "signed", look.by(PLACE, _tops(values)), cells=where)


def _tops(values: np.ndarray) -> np.ndarray:
    """The largest magnitude of each row; 1 where there is none."""
    finite = np.where(np.isfinite(values), np.abs(values), 0.0).max(-1)
    return np.where(finite > 0, finite, 1.0)


def by_hand(trace: Trace, layer: int, head: int, query: int, key: int, part: str = "attn") -> list[Worked]:
    """From one score to dimension 0 of what attention writes, such as this model does it."""
    config, at = trace.config, f"blocks.{layer}.{part}."
    form = next((form for form in reversed(FORMS) if form and f"{at}q{form}" in trace), "")
    bias = ("attention.hand_bias",) if f"{at}bias" in trace else ()
    scale = "attention.hand_no_scale"
    if config.scale_scores:
        scale = "attention.hand_scale" if config.divides_by_root else "attention.hand_scale_width"
    cell = (head, query, key)
    capped = [Worked(("attention.hand_capped",), f"{at}capped", cell)] if f"{at}capped" in trace else []
    heads = "attention.hand_heads" if config.has_out_bias else "attention.hand_heads_no_bias"
    projected = [] if part == "cross" else [Worked(("attention.hand_project",), f"{at}q", (head, query, 0))]
    return [
        *projected,
        Worked((f"attention.hand_product{form}", scale), f"{at}scores", cell),
        *capped,
        Worked((*bias, "attention.hand_mask"), f"{at}masked", cell),
        Worked(("attention.hand_softmax",), f"{at}pattern", cell),
        Worked(("attention.hand_mix",), f"{at}z", (head, query, 0)),
        Worked((heads,), f"{at}out", (query, 0)),
    ]
