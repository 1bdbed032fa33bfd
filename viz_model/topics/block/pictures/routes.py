"""Tokens down, layers across: who is chosen for each token in each layer that has experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.scene import Items, Labels, Mark, Panel, Rect, Scene, Select, Text, Texts, points
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.theme import TOKENS

MOST_TOKENS = 22
MOST_MARKS = 16
"""In a row, of all layers together."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "circle-open", "square-open", "diamond-open")
"""By turns, and seven of them: with eight colours by turns, 56 experts differ in one or the other."""
ROW_HEIGHT, HEAD, STEP = 24, 26, 34


class RoutesView(NamedTuple):
    """The weights of the chosen experts [L, T, E] in the layers that have experts, 0 of those that are not.

    Attributes:
        labels: of all T tokens.
        layers, sites: the numbers of the layers, and the names of the values.
        layer, token: those that are looked at; the layer may be one without experts.
    """

    labels: tuple[str, ...]
    layers: tuple[int, ...]
    sites: tuple[str, ...]
    weights: np.ndarray
    layer: int
    token: int

    def chosen(self, n: int, token: int) -> list[int]:
        """The experts of a token in the n-th of the layers, by weight downwards."""
        row = self.weights[n, token]
        return [int(e) for e in np.argsort(-row, kind="stable") if row[e] > 0]

    @property
    def places(self) -> tuple[int, ...]:
        """The tokens that are drawn: of a long text what stands around the selected one."""
        first = max(0, min(self.token - MOST_TOKENS // 2, len(self.labels) - MOST_TOKENS))
        return tuple(range(first, min(len(self.labels), first + MOST_TOKENS)))

    @property
    def columns(self) -> tuple[int, ...]:
        """Which of the layers are drawn: of many those around the one that is looked at."""
        marks = max(1, int((self.weights > 0).sum(-1).max(initial=1)))
        most = max(1, MOST_MARKS // min(marks, 4))
        near = int(np.argmin(np.abs(np.array(self.layers) - self.layer)))
        first = max(0, min(near - most // 2, len(self.layers) - most))
        return tuple(range(first, min(len(self.layers), first + most)))


def draw_routes(view: RoutesView, id: str, words: Mapping[str, str]) -> Scene:
    """A mark for each chosen expert, larger with its weight, with its number beside it.

    ``words`` are "title", "layer" and "told", which has {layer}, {token}, {expert} and {weight}, and "alt".
    """
    places, columns = view.places, view.columns
    names = [f"{place}: {view.labels[place]}" for place in places]
    left = min(150.0, max(width_of(short(name, 16)) for name in names)) + 14
    height = HEAD + ROW_HEIGHT * len(places) + 4
    marks: list[Mark] = [
        Labels(id="tokens", texts=[short(name, 16) for name in names], along="y", x=left - 8, y=HEAD,
               length=ROW_HEIGHT * len(places), marked=places.index(view.token), most=16),
    ]  # fmt: skip
    for row, place in enumerate(places):
        marks.append(
            Rect(id=f"row.{row}", x=0, y=HEAD + row * ROW_HEIGHT, width=(1, 0), height=ROW_HEIGHT,
                 stroke="accent" if place == view.token else None, thick=2, act=Select(token=place), label=names[row])
        )  # fmt: skip
    for column, n in enumerate(columns):
        start = ((column / len(columns)), left * (1 - column / len(columns)))
        name = words["layer"].format(layer=view.layers[n])
        is_here = view.layers[n] == view.layer
        marks.append(Text(id=f"layer.{n}", text=name, x=start, y=HEAD / 2, bold=is_here, size=12))
        marks += _of_layer(view, n, (start[0], start[1]), words["told"])
    return Scene(
        id=id,
        panels=[Panel(id="routes", marks=marks, height=height, min=240, most=int(left) + 190 * len(columns))],
        title=words["title"],
        description=words["alt"],
    )


def _of_layer(view: RoutesView, n: int, start: tuple[float, float], told: str) -> list[Mark]:
    found = [
        (row, place, rank, expert)
        for row, place in enumerate(view.places)
        for rank, expert in enumerate(view.chosen(n, place)[:4])
    ]
    weights = [float(view.weights[n, place, expert]) for _, place, _, expert in found]
    y = np.array([HEAD + (row + 0.5) * ROW_HEIGHT for row, *_ in found], dtype=np.float32)
    x = points(np.zeros(len(found))) + np.array([[start[0], start[1] + 8 + rank * STEP] for _, _, rank, _ in found])
    beside = x + np.array([0, 10])
    colours = [f"token{expert % len(TOKENS)}" for *_, expert in found]
    labels = [
        told.format(layer=view.layers[n], token=view.labels[place], expert=expert, weight=f"{weight:.0%}")
        for (_, place, _, expert), weight in zip(found, weights, strict=True)
    ]
    items = Items(
        id=f"experts.{n}", x=x.astype(np.float32), y=y, symbol=[SYMBOLS[e % len(SYMBOLS)] for *_, e in found],
        size=[7 + 8 * weight for weight in weights], fill=colours, stroke=colours, labels=labels,
        name=view.sites[n], down=True,
        where=Cells(view.sites[n], (ROW, COLUMN), tuple(place for _, place, *_ in found), tuple(e for *_, e in found)),
    )  # fmt: skip
    numbers = Texts(
        id=f"numbers.{n}", texts=[str(expert) for *_, expert in found], x=beside.astype(np.float32), y=y,
        anchor="start", size=11,
    )  # fmt: skip
    return [items, numbers]
