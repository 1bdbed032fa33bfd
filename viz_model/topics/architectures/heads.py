"""The selected head in each of the two, which tokens it attends to; and how far the patterns of all heads lie apart."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from viz_model.claims import Claim, Verdict
from viz_model.drawing import heatmap, matrix
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.heatmap import HeatmapView
from viz_model.drawing.scene import Scene
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Phrase, by
from viz_model.island.look import Look
from viz_model.island.page import there
from viz_model.island.prose import Line
from viz_model.topics.architectures import pair
from viz_model.topics.architectures.choices import headed
from viz_model.topics.architectures.pair import One

HALF = 0.5
LOOK: Verdict[Any] = Verdict("architectures.look", Claim("mostly", lambda weight: weight > HALF))
"""Of the largest weight that one query gives to a key."""


def weights(look: Look, one: One) -> np.ndarray:
    """Its pattern: [L, H, T, T] by the page's layers that are held and its heads."""
    return look.once(lambda look: pair.patterns(look, one), f"patterns {one.which}")


def strongest(look: Look, one: One) -> tuple[np.ndarray, np.ndarray]:
    """The key with the largest weight of each of the page's tokens, and that weight: [L, H, T]."""

    def read(look: Look) -> tuple[np.ndarray, np.ndarray]:
        found = np.nan_to_num(weights(look, one)[:, :, pair.tokens_of(look, one)], nan=-1.0)
        return found.argmax(-1), found.max(-1)

    return look.once(read, ("strongest", one.which, look.options.get("other_token", "")))


def numbers(look: Look, one: One) -> dict[str, Any]:
    """Which layer and which head of a model are shown."""
    layers, heads = pair.layers_of(look, one), pair.heads_of(look, one)
    return {"layer": by("layer", layers, "whole"), "head": by("head", heads, "whole")}


def title(look: Look, one: One) -> Iterator[Line]:
    if one.trace is None or not pair.has_weights(one.trace):
        return
    keys, most = strongest(look, one)
    named = {
        "token": pair.named(look, one.trace, look.by("token", pair.tokens_of(look, one))),
        "key": pair.named(look, one.trace, look.by("layer head token", keys)),
        "p": look.by("layer head token", most, "percent"),
    }
    yield look.claim(LOOK, most, "layer head token", "part", model=one.code_name, **named)


def tell(look: Look, one: One) -> Iterator[Line]:
    if one.trace is not None and pair.has_weights(one.trace):
        yield look.note("head_note", last=one.trace.n_layers - 1, **numbers(look, one))


def draw(look: Look, one: One) -> Scene | None:
    """Rows look, columns are looked at; the name of the model stands above. Of a long text every cell is the largest of
    a square.
    """
    if one.trace is None or not pair.has_weights(one.trace):
        return None
    found, trace = weights(look, one), one.trace
    labels, axes = [token.label for token in trace.tokens], (look.common("axis_query"), look.common("axis_key"))
    pool = -(-len(labels) // pair.LARGEST)
    if pool > 1:
        found = look.once(lambda _: heatmap.extremes(found, heatmap.Pool(pool, pool)), f"pooled {one.which}")
        labels = shortened(labels, pool)
    # Of many tokens hardly one gets a weight near 1, and the picture would be blank.
    top: Any = 1.0 if pool == 1 else look.by("layer head", np.nanmax(found, (-2, -1)))
    places = numbers(look, one)
    site = Phrase(
        trace.full_name("blocks.0.attn.pattern").replace("blocks.0.", "blocks.{{layer}}.") + "[{{head}}]", places
    )
    own = not one.which
    where = look.cells("attn.pattern", ("head", ROW, COLUMN)) if own and pool == 1 else None
    values = look.by("layer head", found)
    scene = matrix.scene(
        f"architectures.head{one.which}", look.words("head_alt", model=one.name), values, labels, labels, axes=axes,
        top=top, frames=False, look="share", site=site, where=where, height=340, written=False,
        bound="≤ " if pool > 1 else "", hidden=look.common("masked"),
    )  # fmt: skip
    heading = look.words("head_name", model=one.name, **places)
    scale: Any = "probability" if pool == 1 else "positive"
    data = HeatmapView(values, tuple(labels), tuple(labels), site, "pattern", scale, *axes)  # type: ignore[arg-type]
    call, other = pair.call(look, f"head{one.which}")
    sites = ["attn.pattern"] if own else ()
    return look.drawn(headed(scene, heading), sites, data=data, call=call, other=other, own=own)


def shortened(labels: list[str], pool: int) -> list[str]:
    return [f"{label}…" for label in labels[::pool]]


@short_repr
class ApartView(NamedTuple):
    """How far the patterns A and B of each head lie apart: ``distances`` [L, H].

    Σ |A − B| / 2 over the keys, as a mean over the queries: 0 where all weights are equal, 1 where no query gives
    weight to a key that it gives weight to in the other model (total variation distance).
    """

    distances: np.ndarray


def distances(look: Look) -> ApartView | None:
    """None where the two runs have not the same heads and positions, seen from one stack, or layers hold states."""
    first, second = (one.trace for one in pair.both(look))
    if first is None or second is None or first.stack.side != second.stack.side:
        return None
    if (first.n_layers, first.config.n_heads, len(first)) != (second.n_layers, second.config.n_heads, len(second)):
        return None
    if not (pair.has_weights(first) and pair.has_weights(second)):
        return None
    names = [f"blocks.{layer}.attn.pattern" for layer in range(first.n_layers)]
    gaps = [(first[name] - second[name]).abs().sum(-1).mean(-1) / 2 for name in names]
    return ApartView(torch.stack(gaps).numpy())


def title_distances(look: Look) -> Iterator[Line]:
    found = there(distances(look))
    layer, head = np.unravel_index(found.distances.argmax(), found.distances.shape)
    said = look.words("apart_title", layer=int(layer), head=int(head), distance=f"{found.distances.max():.2f}")
    yield Line(said, "part")


def draw_distances(look: Look) -> Scene | None:
    """Rows are layers, columns heads."""
    if (found := distances(look)) is None:
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
