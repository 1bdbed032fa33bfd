"""Places in a picture: a learned vector for each, and how alike they are, as maps."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.digits import written
from viz_model.drawing.picture import Painted, across, painted
from viz_model.drawing.scene import Cells, Mark, Panel, Rect, Scene, Select, Text
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import by
from viz_model.island import quiz as asking
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs, Worked
from viz_model.measures import patches
from viz_model.measures.stream import cosines
from viz_model.topics.position import added

LARGE, SMALL, GAP, TOP, MOST = 260.0, 70.0, 10.0, 24.0, 640.0
"""Pixels of the map of one place, of those of all, between these, and above them; and of all together at the most."""


@short_repr
class Places(NamedTuple):
    """Cosines between the vectors of all positions, [T, T]; the first is [CLS], the others stand in ``grid``."""

    cosines: np.ndarray
    grid: tuple[int, int]

    def neighbors(self) -> tuple[float, float]:
        """The mean cosine of patches that share an edge, and of all other pairs of patches."""
        places = np.indices(self.grid).reshape(2, -1).T
        distance = np.abs(places[:, None] - places[None]).sum(-1)
        between = self.cosines[1:, 1:]
        return float(between[distance == 1].mean()), float(between[distance > 1].mean())


def places(look: Look) -> Places:
    """Of the positions that were added in a run."""
    return Places(cosines(look.once(added.added)), patches.grid(look.config))


def draw(look: Look) -> Scene:
    """The selected place enlarged, painted over the picture, and small maps of all patches in their places."""
    view = look.once(places)
    rows, columns = view.grid
    step = min(SMALL, MOST / max(rows, columns) - GAP) + GAP
    height = max(TOP + LARGE + 6, TOP + rows * step)
    wide, every_wide = int(across(LARGE)) + 20, int(columns * step) + 10
    panels = [
        Panel(id="large", marks=_large(look, view), height=height, min=wide, most=wide),
        Panel(id="every", marks=_small(look, view, step), height=height, min=every_wide, most=every_wide),
    ]
    scene = Scene(id="position.places", panels=panels, title=look.words("places_alt"))
    return look.drawn(scene, ["embed.position"], data=view)


def _large(look: Look, view: Places) -> list[Mark]:
    shown = by("token", view.cosines.astype(np.float32))
    seen = Painted(patches.pixels(look.trace), shown, view.grid, look.names, chosen="token")
    title = look.words("place_one", token=look.token_named())
    return [Text(id="name", text=title, y=12, bold=True), *painted(seen, 0, TOP, LARGE, 1.0, look="signed")]


def _small(look: Look, view: Places, step: float) -> list[Mark]:
    rows, columns = view.grid
    small = step - GAP
    marks: list[Mark] = [Text(id="name", text=look.words("place_every"), y=12, bold=True)]
    for n in range(rows * columns):
        row, column = divmod(n, columns)
        x, y = column * step, TOP + row * step
        marks += [
            Cells(
                id=f"map.{n}", x=x, y=y, width=small, height=small, top=1.0, coarse=True,
                values=view.cosines[1 + n, 1:].reshape(rows, columns), act=Select(token=1 + n), label=look.names[1 + n],
            ),
            Rect(
                id=f"own.{n}", x=x + column * small / columns, y=y + row * small / rows, width=small / columns,
                height=small / rows, stroke="ink", thick=1.5,
            ),
        ]  # fmt: skip
    return marks


lead = say.text("lead")


def tell(look: Look) -> Iterator[Line]:
    yield look.source("embed.position")
    near, far = (written(value, "+2") for value in look.once(places).neighbors())
    yield look.text("see_places", n=len(look), d_model=look.config.d_model, near=near, far=far)


def quiz(look: Look) -> Quiz | None:
    """Whose place is most like that of the selected patch."""
    cosines = look.once(places).cosines.copy()
    np.fill_diagonal(cosines, np.nan)
    shown = [1 + n for n in asking.spread(len(look) - 1)]
    names = [look.names[n] for n in shown]
    return asking.largest(look, "token", cosines[:, shown], names, "3", "guess_place_like", token=look.token_named())


to_try = say.to_try()


def _hand(look: Look) -> Any:
    column = int(added.largest_column(look)[look.token])
    at = (look.token, column)
    cells = [Worked(("position.hand_row",), "embed.position", at), Worked(("position.hand_added",), "embed.out", at)]
    return None, cells, {"token": look.code_name(look.token), "column": column}


APART = Tabs(
    lambda look: ["embed.position", "embed.out"], _hand, lambda look: ["embed.position", "embed.out"], added.numbers
)
