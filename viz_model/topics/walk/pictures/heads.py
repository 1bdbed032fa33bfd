"""Many heads: all of a layer and of the model, and the heads that look at another text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import palettes
from viz_model.drawing.scene import Cells, Mark, Rect, Text
from viz_model.drawing.writing import percent
from viz_model.topics.walk.pictures.stage import LEFT, TOP, Shot, Stage, at, chips, heading, link, wide


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
    say, still = stage.say, chips(stage)
    own = _small(
        stage,
        view,
        view.maps[view.head],
        "map",
        LEFT,
        TOP,
        (0.54, -LEFT * 0.54),
        stage.step * stage.n,
        view.layer,
        view.head,
    )
    shots = [Shot(say("heads_one", head=view.head), [*still, own], 1.4)]
    count = len(view.maps)
    columns = min(count, 3 if count <= 9 else 4)
    lines = -(-count // columns)
    down = (stage.height - 16) / lines
    grid: list[Mark] = []
    for head, values in enumerate(view.maps):
        c, r = head % columns, head // columns
        x, y, width = at(c / columns, 2), 16 + r * down, wide(1 / columns, -8)
        name = f"{head} · {view.does[head]}" if view.does[head] else f"{head}"
        is_own = head == view.head
        grid.append(
            _small(
                stage,
                view,
                values,
                "map" if is_own else f"map.{view.layer}.{head}",
                x,
                y,
                width,
                down - 22,
                view.layer,
                head,
            )
        )
        grid.append(
            Text(
                id=f"map.name.{head}",
                text=name,
                x=x,
                y=y - 8,
                size=11.5,
                bold=is_own,
                fill="ink" if is_own else "muted",
            )
        )
    shots.append(Shot(say("heads_layer", n=count, layer=view.layer), [*still, *grid], 2.6, 1.2))
    down, across = (stage.height - 24) / len(view.layers), 1 / count
    every: list[Mark] = []
    for r, (layer, maps) in enumerate(zip(view.layers, view.every, strict=True)):
        for head, values in enumerate(maps):
            is_own = (layer, head) == (view.layer, view.head)
            mark = "map" if is_own else f"map.{layer}.{head}"
            x, y, width = at(head * across, 2), 20 + r * down, wide(across, -4)
            every.append(_small(stage, view, values, mark, x, y, width, down - 6, layer, head))
            if is_own:
                every.append(
                    Rect(
                        id="ring",
                        x=at(head * across, -1),
                        y=y - 2,
                        width=wide(across, 0),
                        height=down - 2,
                        stroke="accent",
                        thick=2,
                    )
                )
    shots.append(
        Shot(
            say("heads_all", n=len(view.layers) * count),
            [*still, *every, heading("map", say("heads_grid"), LEFT)],
            2,
            1.2,
        )
    )
    return shots


def _small(
    stage: Stage,
    view: Heads,
    values: np.ndarray,
    id: str,
    x: Any,
    y: float,
    width: Any,
    height: float,
    layer: int,
    head: int,
) -> Cells:
    site = view.site.replace(f"blocks.{view.layer}.", f"blocks.{layer}.")
    return Cells(
        id=id,
        x=x,
        y=y,
        width=width,
        height=height,
        values=values,
        look="share",
        top=1.0,
        rows=stage.labels,
        columns=stage.labels,
        row_axis=stage.say("key"),
        column_axis=stage.say("asks"),
        name=f"{layer}.{head}",
        site=f"{site}[{head}]",
        gap=0,
        walk=id == "map",
    )


class Source(NamedTuple):
    """Cross-attention of the token that asks: the source's tokens, and their shares [m] in a head."""

    labels: tuple[str, ...]
    shares: np.ndarray
    layer: int
    head: int


def source(stage: Stage, view: Source) -> list[Shot]:
    say, still = stage.say, chips(stage)
    step = min(30.0, (stage.height - TOP) / len(view.labels))
    asking = stage.y(stage.asking) + stage.high / 2
    words: list[Mark] = [heading("source", say("source"), at(1), "end")]
    ribbons: list[Mark] = []
    for n, label in enumerate(view.labels):
        y, share = TOP + n * step, float(view.shares[n])
        words += [
            Rect(
                id=f"source.{n}",
                x=at(1, -120),
                y=y,
                width=120,
                height=step - 4,
                fill=palettes.token(n),
                opacity=0.16,
                radius=4,
            ),
            Text(id=f"source.word.{n}", text=label[:12], x=at(1, -110), y=y + step / 2 - 2, size=13),
            Text(
                id=f"source.share.{n}",
                text=percent(share),
                x=at(1, -128),
                y=y + step / 2 - 2,
                size=12,
                anchor="end",
                opacity=0,
            ),
        ]
        ribbons.append(
            link(
                f"ribbon.{n}",
                LEFT - 10,
                asking,
                at(1, -182),
                y + step / 2 - 2,
                stroke=palettes.token(n),
                thick=max(0.6, 14 * share),
                opacity=0.5,
            )
        )
    told = [replace(mark, opacity=1.0) if isinstance(mark, Text) else mark for mark in words]
    return [
        Shot(say("source_two"), [*still, *words], 2),
        Shot(say("source_looks", token=stage.name, layer=view.layer, head=view.head), [*still, *told, *ribbons], 2.4),
    ]
