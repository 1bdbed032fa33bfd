"""The weights that are shown as one large map, and beside it those of every head."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.drawing import heatmap, matrix
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.heatmap import HeatmapView, Pool
from viz_model.drawing.scene import Cells, Mark, Panel, Scene, Select, Text
from viz_model.drawing.tables import Phrase
from viz_model.island import query
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.cross_attention.weights import axes, facts, shown, weights

LARGE, SMALL = 88, 64
"""Cells along a side of the large map and of a small one; of longer texts some tokens share a cell."""
HEAD, EDGE, LEAST = 24.0, 6.0, 96
"""Pixels above a small map, for its name, around it, and its width at the least."""


def pooled(values: np.ndarray, most: int) -> tuple[np.ndarray, Pool]:
    """Weights [..., q, s] with at most so many cells along a side, each the largest of those that share it."""
    pool = Pool(*(-(-length // most) for length in values.shape[-2:]))
    return heatmap.pooled(values, pool), pool


def names(look: Look, pool: Pool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of rows and columns."""
    return heatmap.spans(look.labels, pool.rows), heatmap.spans(query.keys(look, "cross"), pool.columns)


def title(look: Look) -> Iterator[Line]:
    yield look.title(f"maps_{shown(look)}", **facts(look))


def large(look: Look) -> Scene:
    """One map, a row a target token."""
    found, pool = pooled(weights(look), LARGE)
    rows, columns = names(look, pool)
    is_head = shown(look) == "head"
    named = f"{{{{site}}}} · {look.words(f'shown_{shown(look)}')}"
    site: Any = Phrase(named, {"site": look.full("cross.pattern")})
    where = look.cells("cross.pattern", ("head", ROW, COLUMN)) if is_head and pool == Pool() else None
    values, named_axes = look.by(axes(look), found), (look.words("axis_target"), look.words("axis_source"))
    scene = matrix.scene(
        "cross_attention.map",
        look.words("map_alt"),
        values,
        rows,
        columns,
        axes=named_axes,
        frames=pool.rows == 1,
        look="share",
        site=site,
        where=where,
        bound="≤ " if pool != Pool() else "",
    )
    data = HeatmapView(values, rows, columns, site, "pattern", "probability", *named_axes)
    call = look.call("cross", layer=look.layer, head=look.head if is_head else None, token=look.token)
    note = look.words("pooled", target=pool.rows, source=pool.columns) if pool != Pool() else ""
    return look.drawn(scene, ["cross.pattern"], data=data, call=call, note=note)


def every(look: Look) -> Scene:
    """A map a head: a click on one selects it, another on a cell asks for its number."""
    found, pool = pooled(look.every("cross.pattern"), SMALL)
    rows, columns = names(look, pool)
    # Two lengths of text may differ a lot; a map keeps a shape that can be read.
    tall = min(1.35, max(0.4, len(rows) / len(columns)))
    panels = []
    for head in range(look.n_heads):
        name = f"{look.words('grid_head')} {head}"
        marks: list[Mark] = [
            Text(id="name", text=name, x=EDGE + 2, y=14, size=13, bold=True),
            Cells(
                id="cells",
                x=EDGE,
                y=HEAD,
                width=(1, -2 * EDGE),
                height=(tall, -2 * EDGE * tall),
                values=look.by("layer head", found, head=head),
                look="share",
                name=name,
                rows=rows,
                columns=columns,
                row_axis=look.words("axis_target"),
                column_axis=look.words("axis_source"),
                site=look.full("cross.pattern"),
                where=look.cells("cross.pattern", (head, ROW, COLUMN)) if pool == Pool() else None,
                bound="≤ " if pool != Pool() else "",
                walk=False,
            ),
        ]
        height = (tall, HEAD + EDGE - 2 * EDGE * tall)
        act = Select(head=head)
        panels.append(Panel(id=f"head.{head}", marks=marks, height=height, min=LEAST, most=260, act=act, label=name))
    return look.drawn(
        Scene(
            id="cross_attention.grid",
            panels=panels,
            title=look.words("grid_title", layer=look.layer_number),
            description=look.words("grid_hint"),
            words={"masked": look.common("masked")},
            note=look.words("pooled", target=pool.rows, source=pool.columns) if pool != Pool() else "",
            even=True,
        ),
        ["cross.pattern"],
    )
