"""Many heads: all of a layer and of the model, and the heads that look at another text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import palettes
from viz_model.drawing.scene import Cells, Mark, Rect, Text
from viz_model.drawing.writing import percent
from viz_model.topics.walk.pictures.stage import LEFT, TOP, Shot, Stage, at, heading, link, wide


class Heads(NamedTuple):
    """All heads: maps [H, n, n] of a layer, a row a key; of some layers [L, H, n, n].

    Attributes:
        does: what each head of the layer does, in a word or two.
    """

    layer: int
    head: int
    maps: np.ndarray
    every: np.ndarray
    layers: tuple[int, ...]
    does: tuple[str, ...]
    site: str


def heads(stage: Stage, view: Heads) -> list[Shot]:
    say, still = stage.say, stage.chips()
    whole = {"x": LEFT, "y": TOP, "width": wide(0.54), "height": stage.step * stage.n}
    own = _small(stage, view, view.maps[view.head], view.layer, view.head, **whole)
    shots = [Shot(say("heads_one", head=view.head), [*still, own], 1.4)]
    count = len(view.maps)
    columns = min(count, 3 if count <= 9 else 4)
    lines = -(-count // columns)
    down = (stage.height - 16) / lines
    grid: list[Mark] = []
    for head, values in enumerate(view.maps):
        r, c = divmod(head, columns)
        x, y, is_own = at(c / columns, 2), 16 + r * down, head == view.head
        place = {"x": x, "y": y, "width": wide(1 / columns, -8), "height": down - 22}
        grid.append(_small(stage, view, values, view.layer, head, **place))
        name, fill = f"{head} · {view.does[head]}" if view.does[head] else f"{head}", "ink" if is_own else "muted"
        grid.append(Text(id=f"map.name.{head}", text=name, x=x, y=y - 8, size=11.5, bold=is_own, fill=fill))
    shots.append(Shot(say("heads_layer", n=count, layer=view.layer), [*still, *grid], 2.6, 1.2))
    down, across = (stage.height - 24) / len(view.layers), 1 / count
    every: list[Mark] = []
    for r, (layer, maps) in enumerate(zip(view.layers, view.every, strict=True)):
        y = 20 + r * down
        for head, values in enumerate(maps):
            place = {"x": at(head * across, 2), "y": y, "width": wide(across, -4), "height": down - 6}
            every.append(_small(stage, view, values, layer, head, **place))
            if (layer, head) == (view.layer, view.head):
                x, width = at(head * across, -1), wide(across)
                every.append(Rect(id="ring", x=x, y=y - 2, width=width, height=down - 2, stroke="accent", thick=2))
    marks = [*still, *every, heading("map", say("heads_grid"), LEFT)]
    shots.append(Shot(say("heads_all", n=len(view.layers) * count), marks, 2, 1.2))
    return shots


def _small(stage: Stage, view: Heads, values: np.ndarray, layer: int, head: int, **place: Any) -> Cells:
    is_own = (layer, head) == (view.layer, view.head)
    id = "map" if is_own else f"map.{layer}.{head}"
    site = view.site.replace(f"blocks.{view.layer}.", f"blocks.{layer}.")
    own: dict[str, Any] = {"name": f"{layer}.{head}", "site": f"{site}[{head}]", "walk": is_own}
    return stage.map(id, values, look="share", **own, **place)


class Source(NamedTuple):
    """Cross-attention of the token that asks: the source's tokens, and their shares [m] in a head."""

    labels: tuple[str, ...]
    shares: np.ndarray
    layer: int
    head: int


def source(stage: Stage, view: Source) -> list[Shot]:
    say, still = stage.say, stage.chips()
    step = min(30.0, (stage.height - TOP) / len(view.labels))
    asking = stage.middle(stage.asking)
    words: list[Mark] = [heading("source", say("source"), at(1), "end")]
    ribbons: list[Mark] = []
    for n, label in enumerate(view.labels):
        y, share, colour = TOP + n * step, float(view.shares[n]), palettes.token(n)
        middle, told, thick = y + step / 2 - 2, percent(share), max(0.6, 14 * share)
        box: dict[str, Any] = {"x": at(1, -120), "y": y, "width": 120, "height": step - 4}
        words += [
            Rect(id=f"source.{n}", fill=colour, opacity=0.16, radius=4, **box),
            Text(id=f"source.word.{n}", text=label[:12], x=at(1, -110), y=middle, size=13),
            Text(id=f"source.share.{n}", text=told, x=at(1, -128), y=middle, size=12, anchor="end", opacity=0),
        ]
        ends = LEFT - 10, asking, at(1, -182), middle
        ribbons.append(link(f"ribbon.{n}", *ends, stroke=colour, thick=thick, opacity=0.5))
    told_too = [replace(mark, opacity=1.0) if isinstance(mark, Text) else mark for mark in words]
    looks = say("source_looks", token=stage.name, layer=view.layer, head=view.head)
    return [Shot(say("source_two"), [*still, *words], 2), Shot(looks, [*still, *told_too, *ribbons], 2.4)]
