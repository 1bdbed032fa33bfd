"""Filters of a projection as small pictures, and one patch under one of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.picture import ink
from viz_model.drawing.scene import Cells, Mark, Panel, Pick, Rect, Scene, Text
from viz_model.topics.embedding.numbers.filters import Filtered

SIDE, GAP, PICTURE, LARGE, TOP = 42.0, 6.0, 168.0, 126.0, 26.0
"""Pixels of a filter, between two, of the picture, of a patch in large, and above them."""


def grid(view: Filtered, id: str, title: str, description: str, name: str, answers: np.ndarray) -> Scene:
    """All filters, as many in a row as there is room for; a click picks one.

    ``answers`` [D] are what each makes of the patch, and ``name`` is written with "#" for the number of a filter.
    """
    top = float(np.abs(view.filters).max())
    panels = []
    for n, values in enumerate(view.filters):
        said = f"{name.replace('#', str(n))}: {answers[n]:+.3f}"
        cells = Cells(id="filter", width=SIDE, height=SIDE, values=values, top=top, walk=False, coarse=True)
        marks: list[Mark] = [cells, Rect(id="frame", width=SIDE, height=SIDE, stroke="grid")]
        if n == view.number:
            marks.append(Rect(id="ring", x=1, y=1, width=SIDE - 2, height=SIDE - 2, stroke="accent", thick=3))
        size = int(SIDE)
        panels.append(Panel(id=f"filter.{n}", marks=marks, height=SIDE, min=size, most=size, act=Pick(n), label=said))
    return Scene(id=id, panels=panels, title=title, description=description)


def worked(
    view: Filtered,
    pixels: np.ndarray,
    grid: tuple[int, int],
    patch: int,
    labels: Mapping[str, str],
    id: str,
    title: str,
) -> Scene:
    """The patch in its picture, the patch, the filter, and their products, whose sum with the bias is the number."""
    rows, columns = grid
    row, column = divmod(patch, columns)
    wide, tall = PICTURE / columns, PICTURE / rows
    marks: list[Mark] = [
        Text(id="name", text=labels["picture"], y=12, bold=True),
        *ink("ink", pixels, 0, TOP, PICTURE, PICTURE),
        Rect(id="frame", y=TOP, width=PICTURE, height=PICTURE, stroke="grid"),
        Rect(id="ring", x=column * wide, y=TOP + row * tall, width=wide, height=tall, stroke="accent", thick=3),
    ]
    height = TOP + PICTURE + 6
    panels = [Panel(id="picture", marks=marks, height=height, min=int(PICTURE), most=int(PICTURE))]
    side = view.patch.shape[1]
    parts = (("patch", view.patch), ("filter", view.filters[view.number]), ("product", view.products))
    for name, values in parts:
        cells = Cells(
            id="cells", y=TOP, width=LARGE, height=LARGE, values=values, top=float(np.abs(values).max()) or 1.0,
            rows=[f"{n + 1}" for n in range(len(values))], columns=[f"{n + 1}" for n in range(side)], digits=3,
            name=labels[name],
        )  # fmt: skip
        sign = {"patch": "×", "filter": "=", "product": ""}[name]
        panels.append(
            Panel(
                id=name,
                marks=[
                    Text(id="name", text=labels[name], y=12, bold=True),
                    cells,
                    Rect(id="frame", y=TOP, width=LARGE, height=LARGE, stroke="grid"),
                    Text(id="sign", text=sign, x=LARGE + 12, y=TOP + LARGE / 2, anchor="middle", size=20),
                ],
                height=height,
                min=int(LARGE + 26),
                most=int(LARGE + 26),
            )
        )
    value = Cells(
        id="value", y=TOP + LARGE / 2 - 18, width=96, height=36, values=np.array([[view.value]]), look="blank",
        rows=("",), columns=("",), where=Where("patches.projected", (patch, view.number)), name=labels["value"],
    )  # fmt: skip
    total = f"{view.products.sum():+.3f} {view.bias:+.3f}"
    panels.append(
        Panel(
            id="sum",
            marks=[
                Text(id="name", text=labels["value"], y=12, bold=True),
                Text(id="parts", text=total, y=TOP + LARGE / 2 - 34, fill="muted"),
                Text(id="sum", text=f"= {view.value:+.4f}", y=TOP + LARGE / 2, size=18, bold=True),
                value,
            ],
            height=height,
            min=150,
            most=200,
        )
    )
    return Scene(id=id, panels=panels, title=title)
