"""All heads of all layers at once, a row a layer: a click selects one."""

import math
from typing import NamedTuple

import numpy as np

from viz_model.drawing.scene import Cells, Mark, Panel, Scene, Select, Text
from viz_model.drawing.short_repr import short_repr
from viz_model.island.look import Look
from viz_model.measures import states
from viz_model.measures.heads import HEAD, HeadSummary

SMALL, LARGE = 44, 150
"""Pixels of a map where all stand beside a page, and where they are the picture, at the most."""
SIDE, TOP, GAP = 18.0, 16.0, 3.0
"""Pixels for the layers' numbers, for the heads' numbers, and between two maps."""
MOST_CELLS, LONGEST = 90_000, 48
"""Cells of all heads together, a byte each on their way to the browser; and along a side of one."""


@short_repr
class Thumbnails(NamedTuple):
    """Patterns float32 [L, H, S, S], pooled by maximum from T, NaN where a mask hides; and what each head does.

    Of a layer with a state the size of each token's share in what is read, where its heads are the model's, or else
    nothing; and None.
    """

    patterns: np.ndarray
    does: tuple[tuple[HeadSummary | None, ...], ...]


def every(look: Look) -> Thumbnails:
    trace = look.trace
    size = min(LONGEST, max(4, math.isqrt(MOST_CELLS // (look.n_layers * look.n_heads))))
    pool = -(-len(look) // size)
    patterns, does = [], list[tuple[HeadSummary | None, ...]]()
    for layer in range(look.n_layers):
        own = look.heads(layer, pool)
        attends = look.site("attn.pattern", layer) in trace
        if trace.config.sums_heads and not attends:
            patterns.append(np.abs(states.pooled(states.proportions(trace, layer), pool)).astype(np.float32))
        else:
            patterns.append(own.patterns)
        does.append(own.does if attends else (None,) * look.n_heads)
    return Thumbnails(np.stack(patterns), tuple(does))


def draw(look: Look, most: int = LARGE) -> Scene:
    """A map is at most ``most`` pixels wide."""
    view, share, across = look.once(every), 1 / look.n_heads, -SIDE / look.n_heads
    marks: list[Mark] = []
    for head in range(look.n_heads):
        x = ((head + 0.5) * share, SIDE + (head + 0.5) * across)
        marks.append(Text(id=f"head.{head}", text=str(head), x=x, y=TOP / 2, anchor="middle", fill="muted"))
    for layer in range(look.n_layers):
        y = (layer * share, TOP + layer * across)
        middle = (y[0] + share / 2, y[1] + across / 2)
        marks.append(Text(id=f"layer.{layer}", text=str(layer), x=SIDE - 6, y=middle, anchor="end", fill="muted"))
        for head in range(look.n_heads):
            own = view.does[layer][head]
            instead = "head_convolution" if look.site("attn.convolved", layer) in look.trace else "head_state"
            does = look.common(instead) if own is None else HEAD.label(look.t.language, own)
            marks.append(
                Cells(
                    id=f"{layer}.{head}",
                    x=(head * share, SIDE + head * across),
                    y=y,
                    width=(share, across - GAP),
                    height=(share, across - GAP),
                    values=view.patterns[layer, head],
                    look="share",
                    coarse=True,
                    act=Select(layer=layer, head=head),
                    label=look.common("head_name", layer=layer, head=head, does=does),
                )
            )
    width = int(SIDE + look.n_heads * most)
    height = (look.n_layers * share, TOP + look.n_layers * across)
    panel = Panel(id="heads", marks=marks, height=height, min=min(200, width), most=width)
    sites = tuple(look.site("attn.pattern", layer) for layer in range(look.n_layers))
    title, call = look.common("heads"), look.call("heads")
    return Scene(id=f"heads.{most}", panels=[panel], title=title, chooses=True, data=view, sites=sites, call=call)
