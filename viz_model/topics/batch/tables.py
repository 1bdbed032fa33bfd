"""Tables of a batch, a cell for each position: ids with their padding and the mask under them, and losses."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing.scene import Cells, Labels, Mark, Panel, Run, Scene, Text, Texts, Words, along
from viz_model.drawing.scene.writing import short, width_of
from viz_model.island.look import Look

TALL, HEAD, BELOW, LONGEST = 34.0, 26.0, 40.0, 7
"""Pixels of a row, of a heading, and below the last table; letters of a token in its cell."""
WRITTEN, STRONG, ROOM = 0.35, 0.55, 1.2
"""How strongly a cell with a token is colored; from where on what stands in a cell is white; and of how many cells it
may have the width: where it is wider it is left out.
"""


class TableView(NamedTuple):
    """Cells [B, T] of one table.

    Attributes:
        heading: written over it.
        rows: B names.
        texts: what stands in the cells, [B][T], in lines.
        strength: [B, T] the depth of color, from 0 to 1; NaN is hatched: nobody wrote what stands there.
    """

    heading: str
    rows: Sequence[str]
    texts: Sequence[Sequence[Sequence[str]]]
    strength: np.ndarray


def ids_view(
    heading: str, rows: Sequence[str], ids: np.ndarray, padding: np.ndarray, labels: Sequence[Sequence[str]]
) -> TableView:
    """Ids [B, T] under the tokens that they stand for; ``labels`` are a row's own, without padding."""
    texts = [
        [(short(names[n], LONGEST), str(id)) if n < len(names) else (str(id),) for n, id in enumerate(line)]
        for line, names in zip(ids.tolist(), labels, strict=True)
    ]
    return TableView(heading, rows, texts, np.where(padding, np.nan, WRITTEN))


def mask_view(heading: str, rows: Sequence[str], padding: np.ndarray) -> TableView:
    """1 where a row has a token, 0 where it is filled up, [B, T]."""
    return TableView(heading, rows, [[(str(1 - int(each)),) for each in line] for line in padding],
                     np.where(padding, np.nan, WRITTEN))  # fmt: skip


def loss_view(heading: str, rows: Sequence[str], losses: np.ndarray, ignored: str) -> TableView:
    """Losses [B, T] in nats; NaN is a position of which nothing is asked."""
    texts = [[(ignored if np.isnan(each) else f"{each:.2f}",) for each in line] for line in losses]
    return TableView(heading, rows, texts, losses / (np.nanmax(losses, initial=0.0) or 1.0))


def draw(look: Look, id: str, alt: str, views: Sequence[TableView]) -> Scene:
    """Tables of the same columns below each other, each under its heading."""
    n_columns = views[0].strength.shape[1]
    left = max(width_of(name) for view in views for name in view.rows) + 12
    across = (1.0, -left - 4)
    marks: list[Mark] = []
    top = 0.0
    for k, view in enumerate(views):
        top += HEAD
        height = TALL * len(view.rows)
        said = ["\n".join(text) for line in view.texts for text in line]
        marks += [
            Text(id=f"heading.{k}", text=view.heading, x=left, y=top - HEAD / 2, bold=True),
            Cells(
                id=f"cells.{k}", x=left, y=top, width=across, height=height, values=view.strength.astype(np.float32),
                look="share", role="output", gap=2, labels=said, name=view.heading, rows=view.rows,
                columns=[str(n) for n in range(n_columns)], coarse=True,
            ),
            _written(f"texts.{k}", view, left, across, top),
            Labels(id=f"rows.{k}", texts=view.rows, x=left - 8, y=top, length=height, along="y", most=18),
        ]  # fmt: skip
        top += height
    places = [str(n) for n in range(n_columns)]
    marks.append(Labels(id="columns", texts=places, x=left, y=top + 2, length=across))
    middle = along(0.5, left, across)
    marks.append(Text(id="positions", text=look.words("position"), x=middle, y=top + BELOW - 8, anchor="middle"))
    words = {"masked": look.common("masked")}
    return Scene(id=id, panels=[Panel(id="tables", marks=marks, height=top + BELOW)], title=alt, words=words)


def _written(id: str, view: TableView, left: float, across: tuple[float, float], top: float) -> Texts:
    """What stands in the cells, where it has room."""
    rows, columns = np.indices(view.strength.shape).reshape(2, -1)
    n = view.strength.shape[1]
    texts: list[Words] = [tuple((Run(line),) for line in text) for each in view.texts for text in each]
    return Texts(
        id=id,
        texts=texts,
        x=along((columns + 0.5) / n, left, across),
        y=(top + (rows + 0.5) * TALL).astype(np.float32),
        fill=["white" if strong else "ink" for strong in (view.strength > STRONG).ravel()],
        rooms=along(np.full(len(texts), ROOM / n), 0, across),
    )
