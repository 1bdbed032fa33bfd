"""A picture fitted to its place: nothing marked, square cells, another height, letters for its panels."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from viz_model.drawing.scene import Cells, Items, Labels, Mark, Panel, Path, Rect, Scene, Text, Texts
from viz_model.drawing.scene.svg import MILLIMETRES, tall
from viz_model.drawing.scene.svg.cells import numbers
from viz_model.drawing.scene.svg.frame import flowed
from viz_model.drawing.scene.svg.ground import Ground
from viz_model.drawing.theme import PALETTES

MARKED = ("selected", "chosen", "layer", "numbers")
"""Marks of what is selected, where a picture has a frame or a line of its own for that."""
LETTER, LEAST = 20.0, 0.3
"""Pixels for the letter of a panel; and the least share of its height that a picture may be pressed to."""

Map = Callable[[Any], Any]


def unmarked(scene: Scene) -> Scene:
    """The picture without frames round what is selected."""
    return replace(scene, panels=[replace(panel, marks=_unmarked(panel.marks)) for panel in scene.panels])


def _unmarked(marks: Sequence[Mark]) -> list[Mark]:
    own = {mark.id for mark in marks if mark.id in MARKED}
    if "selected" not in own:
        own.discard("numbers")
    kept: list[Mark] = []
    for mark in marks:
        if mark.id in own:
            continue
        if isinstance(mark, Rect) and mark.fill is None and mark.stroke == "accent":
            continue
        kept.append(replace(mark, marked=None) if isinstance(mark, Labels) else mark)
    return kept


def lettered(scene: Scene) -> Scene:
    """(a), (b), … over the panels."""
    panels = []
    for n, panel in enumerate(scene.panels):
        letter = Text(id="letter", text=letter_of(n), y=LETTER / 2, bold=True, size=13)
        lower = _moved(panel, 0, lambda y: y + LETTER)
        height = panel.height
        high = (height[0], height[1] + LETTER) if isinstance(height, tuple) else height + LETTER
        panels.append(replace(lower, marks=[letter, *lower.marks], height=high))
    return replace(scene, panels=panels)


def letter_of(n: int) -> str:
    return f"({chr(ord('a') + n % 26)})"


def squared(scene: Scene, width: float) -> Scene:
    """The picture with square cells at a width in pixels: rows as high as columns are wide."""

    def fit(panel: Panel, across: float) -> Panel:
        ground = Ground(across, {})
        bands: dict[tuple[float, float], float] = {}
        for mark in panel.marks:
            if isinstance(mark, Cells) and mark.look in ("share", "signed") and np.ndim(mark.values) == 2:
                rows, columns = np.shape(mark.values)
                if min(rows, columns) > 1:
                    start = ground.px(mark.y)
                    bands[start, start + ground.px(mark.height)] = ground.px(mark.width) * rows / columns
        return _stretched(panel, across, bands)

    return _each(scene, width, fit)


def heightened(scene: Scene, width: float, height: float, caption: str = "") -> Scene:
    """The picture so high, with its title, legend and caption, all in pixels.

    Raises:
        ValueError: it would be pressed to less than its writing needs.
    """
    _, panels = flowed(scene, width)
    share = (height - (tall(scene, width, caption) - panels)) / panels
    if share < LEAST:
        least = (tall(scene, width, caption) - (1 - LEAST) * panels) * MILLIMETRES
        raise ValueError(f"height_mm: at this width the picture needs at least {least:.0f} mm")

    def fit(panel: Panel, across: float) -> Panel:
        high = Ground(across, {}).px(panel.height)
        return _stretched(panel, across, {(0.0, high): high * share})

    return _each(scene, width, fit)


def check(scene: Scene, width: float) -> None:
    """Warns where so narrow a picture loses what is in it."""
    places = flowed(scene, width)[0]
    narrow = max((place.panel.min for place in places if place.width < place.panel.min), default=0)
    lost = [
        place
        for place in places
        for mark in place.panel.marks
        if isinstance(mark, Cells) and mark.written and not _written(mark, place.width) and _written(mark, 960)
    ]
    said = f"width_mm: {width * MILLIMETRES:.0f} mm is narrower than the {narrow * MILLIMETRES:.0f} mm that it needs"
    if narrow:
        warnings.warn(said, stacklevel=3)
    elif lost:
        warnings.warn(f"width_mm: at {width * MILLIMETRES:.0f} mm there is no room for the numbers", stacklevel=3)


def _written(mark: Cells, width: float) -> bool:
    return bool(numbers(mark, Ground(width, PALETTES["light"])))


def _each(scene: Scene, width: float, fit: Callable[[Panel, float], Panel]) -> Scene:
    return replace(scene, panels=[fit(place.panel, place.width) for place in flowed(scene, width)[0]])


def _stretched(panel: Panel, width: float, bands: dict[tuple[float, float], float]) -> Panel:
    """Its bands, from where to where, as high as is said; what stands under them moves along."""
    olds, news = [0.0], [0.0]
    for (start, end), high in sorted(bands.items()):
        if start < olds[-1]:
            continue  # it stands beside the one before
        news += [news[-1] + start - olds[-1], news[-1] + start - olds[-1] + high]
        olds += [start, end]
    grown = news[-1] - olds[-1]

    def moved(y: Any) -> Any:
        at = np.asarray(y, dtype=float)
        found = np.where(at <= olds[-1], np.interp(at, olds, news), at + grown)
        found = np.where(at < 0, at, found)
        return float(found) if found.ndim == 0 else found.astype(np.float32)

    made = _moved(panel, width, moved)
    return replace(made, height=moved(Ground(width, {}).px(panel.height)))


def _moved(panel: Panel, width: float, to: Map) -> Panel:
    return replace(panel, marks=[_mark(mark, Ground(width, {}), to) for mark in panel.marks])


def _mark(mark: Mark, ground: Ground, to: Map) -> Mark:
    """A mark elsewhere, up and down."""
    match mark:
        case Cells() | Rect():
            top = ground.px(mark.y)
            low = top + ground.px(mark.height)
            return replace(mark, y=to(top), height=to(low) - to(top))
        case Labels():
            top = ground.px(mark.y)
            if mark.along == "x":
                return replace(mark, y=to(top))
            places = None if mark.places is None else _points(to(ground.along(mark.places)))
            return replace(mark, y=to(top), length=to(top + ground.px(mark.length)) - to(top), places=places)
        case Items():
            top_ = ground.along(mark.y)
            if mark.height is None:
                return replace(mark, y=to(top_))
            return replace(mark, y=to(top_), height=to(top_ + ground.along(mark.height)) - to(top_))
        case Texts():
            return replace(mark, y=to(ground.along(mark.y)))
        case Path():
            return replace(mark, y=to(ground.along(mark.y)))
        case Text():
            return replace(mark, y=to(ground.px(mark.y)))


def _points(pixels: np.ndarray) -> np.ndarray:
    return np.stack([np.zeros_like(pixels), pixels], axis=-1).astype(np.float32)
