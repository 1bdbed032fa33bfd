"""A scene as an SVG file, drawn without a browser: what ``frontend/src`` draws for the same width and theme."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.drawing.palettes import PALETTES
from viz_model.drawing.scene import png
from viz_model.drawing.scene.marks import (
    Cells,
    Items,
    Labels,
    Length,
    Mark,
    Panel,
    Path,
    Rect,
    Scene,
    Text,
    Texts,
    Words,
)
from viz_model.drawing.scene.svg_items import along, items, spans, texts
from viz_model.drawing.scene.writing import short, width_of

FONTS = "'Source Sans 3', 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
"""Named with what stands in for them; none is in the file."""

MOST_SHAPES = 2_000
"""Cells of a matrix that are drawn one by one; of more, as an image."""

GAP, LINE = 8.0, 15.0
"""Pixels between panels, and of a line of writing."""

_HATCH = (
    '<defs><pattern id="hidden" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<rect width="6" height="6" fill="#808491" fill-opacity="0.18"/>'
    '<path d="M-1,7L7,-1" stroke="#808491" stroke-opacity="0.45"/></pattern></defs>'
)
"""What fills a cell without a number."""

_COUNTED = (1, 2, 5, 10, 20, 50, 100, 200, 500)

Theme = Literal["light", "dark"]


class _Place(NamedTuple):
    """Where a panel stands, and how wide it is."""

    panel: Panel
    x: float
    y: float
    width: float


def svg(scene: Scene, width: float = 960, theme: Theme = "light") -> str:
    """The picture, ``width`` pixels wide and as high as it needs to be."""
    colours = PALETTES[theme]
    places, height = _flowed(scene, width)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="{FONTS}" font-size="12">',
        f"<title>{escape(scene.title)}</title><desc>{escape(scene.description)}</desc>",
        _HATCH,
        f'<rect width="100%" height="100%" fill="{colours["paper"]}"/>',
    ]
    for place in places:
        parts.append(f'<g transform="translate({place.x:g} {place.y:g})">')
        cells = [mark for mark in place.panel.marks if isinstance(mark, Cells)]
        others = [mark for mark in place.panel.marks if not isinstance(mark, Cells)]
        parts += [line for mark in (*cells, *others) for line in _drawn(mark, place.width, colours)]
        parts += [line for mark in cells if mark.written for line in _numbers(mark, place.width, colours)]
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"])


def px(length: Length, width: float) -> float:
    """A length in pixels, where the panel is so wide."""
    return length[0] * width + length[1] if isinstance(length, tuple) else float(length)


def _flowed(scene: Scene, width: float) -> tuple[list[_Place], float]:
    """The panels in rows, and the height of all."""
    panels, places, y = list(scene.panels), [], 0.0
    if scene.even:
        fit = max(1, min(len(panels), int((width + GAP) // (panels[0].min + GAP))))
        columns = math.ceil(len(panels) / math.ceil(len(panels) / fit))
        rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    else:
        columns, rows = 0, list(_rows(panels, width))
    for row in rows:
        count = columns or len(row)
        free = width - GAP * (count - 1)
        share = 0.0 if scene.even else max(0.0, free - sum(min(panel.min, width) for panel in row))
        growing = sum(panel.grow for panel in row) or 1
        x = tallest = 0.0
        for panel in row:
            own = free / count if scene.even else min(panel.min, width) + share * panel.grow / growing
            wide = min(own, panel.most or own)
            places.append(_Place(panel, x, y, wide))
            tallest = max(tallest, px(panel.height, wide))
            x += wide + GAP
        y += tallest + GAP
    return places, max(0.0, y - GAP)


def _rows(panels: Sequence[Panel], width: float) -> Iterator[list[Panel]]:
    row: list[Panel] = []
    for panel in panels:
        if row and sum(one.min for one in (*row, panel)) + GAP * len(row) > width:
            yield row
            row = []
        row.append(panel)
    if row:
        yield row


def _drawn(mark: Mark, width: float, colours: dict[str, str]) -> list[str]:
    match mark:
        case Cells():
            return _cells(mark, width, colours)
        case Labels():
            return _labels(mark, width, colours)
        case Text():
            turned: dict[str, Any] = {"rotate": mark.rotate, "bold": mark.bold, "size": mark.size}
            place = px(mark.x, width), px(mark.y, width)
            return [_text(*place, mark.text, colours, colours.get(mark.fill, mark.fill), mark.anchor, **turned)]
        case Texts():
            return texts(mark, width, colours)
        case Items():
            return items(mark, width, colours)
        case Rect():
            return _rect(mark, width, colours)
        case Path():
            return _path(mark, width, colours)


def _text(
    x: float,
    y: float,
    text: Words,
    colours: dict[str, str],
    fill: str,
    anchor: str = "start",
    *,
    rotate: float = 0,
    bold: bool = False,
    size: float = 12,
) -> str:
    more = f' transform="rotate({rotate:g} {x:g} {y:g})"' if rotate else ""
    more += ' font-weight="700"' if bold else ""
    more += f' font-size="{size:g}"' if size != 12 else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="central" fill="{fill}"{more}>'
        f"{spans(text, colours, x, size)}</text>"
    )


def _rect(mark: Rect, width: float, colours: dict[str, str]) -> list[str]:
    w, h = px(mark.width, width), px(mark.height, width)
    x, y = px(mark.x, width) + min(0, w), px(mark.y, width) + min(0, h)
    if mark.fill is None and mark.stroke is None:
        return []  # what only answers
    look = f' fill="{_colour(mark.fill, colours)}" fill-opacity="{mark.opacity:g}"' if mark.fill else ' fill="none"'
    if mark.stroke:
        look += f' stroke="{_colour(mark.stroke, colours)}" stroke-width="{mark.thick:g}"'
    look += f' stroke-dasharray="{mark.dash}"' if mark.dash else ""
    look += f' rx="{mark.radius:g}"' if mark.radius else ""
    return [f'<rect x="{x:.1f}" y="{y:.1f}" width="{abs(w):.1f}" height="{abs(h):.1f}"{look}/>']


def _path(mark: Path, width: float, colours: dict[str, str]) -> list[str]:
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(along(mark.x, width), along(mark.y, width), strict=True):
        if math.isfinite(x) and math.isfinite(y):
            runs[-1].append((x, y))
        elif runs[-1]:
            runs.append([])
    known = [place for run in runs for place in run]
    if not known:
        return []
    if mark.curve == "link":
        (x0, y0), (x1, y1) = known[0], known[-1]
        middle = (x0 + x1) / 2
        way = f"M{x0:.1f},{y0:.1f}C{middle:.1f},{y0:.1f} {middle:.1f},{y1:.1f} {x1:.1f},{y1:.1f}"
    else:
        lines = ("L".join(f"{x:.1f},{y:.1f}" for x, y in run) for run in runs if run)
        way = "".join(f"M{line}{'Z' if mark.fill else ''}" for line in lines)
    fill = f'"{_colour(mark.fill, colours)}" fill-opacity="{mark.opacity:g}"' if mark.fill else '"none"'
    look = f' stroke="{_colour(mark.stroke, colours)}" stroke-width="{mark.thick:g}"' if mark.stroke else ""
    look += f' stroke-opacity="{mark.opacity:g}"' if mark.opacity != 1 else ""
    look += f' stroke-dasharray="{mark.dash}"' if mark.dash else ""
    return [f'<path d="{way}" fill={fill}{look} stroke-linejoin="round"/>']


def _colour(name: str | None, colours: dict[str, str]) -> str:
    return "none" if name is None else colours.get(name, name)


def _stop(mark: Cells, value: float) -> tuple[str, float]:
    """Between two stops the role of the nearer one, and an opacity that changes evenly."""
    after = next((n for n, (at, *_) in enumerate(mark.stops) if at > value), len(mark.stops))
    if after in (0, len(mark.stops)):
        return mark.stops[min(after, len(mark.stops) - 1)][1:]
    (a, near, low), (b, far, high) = mark.stops[after - 1 : after + 1]
    part = (value - a) / (b - a)
    return near if part < 0.5 else far, low + part * (high - low)


def _share(mark: Cells, value: float) -> float:
    """How much of its colour a number has."""
    return _stop(mark, value)[1] if mark.look == "stops" else min(1.0, abs(value) / mark.top)


def _hue(mark: Cells, value: float) -> str:
    if mark.look == "stops":
        return _stop(mark, value)[0]
    is_signed = mark.look == "signed" or (mark.look == "bars" and mark.signed)
    return ("negative" if value < 0 else "positive") if is_signed else mark.role


def _cells(mark: Cells, width: float, colours: dict[str, str]) -> list[str]:
    values = np.atleast_2d(np.asarray(mark.values, dtype=float))
    if mark.look == "blank":
        return []
    x, y, w, h = (px(length, width) for length in (mark.x, mark.y, mark.width, mark.height))
    if values.size > MOST_SHAPES and mark.look not in ("bars", "stops"):
        image = png.data_uri(_pixels(mark, values, colours))
        return [
            f'<image x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" preserveAspectRatio="none" '
            f'style="image-rendering:pixelated" href="{image}"/>'
        ]
    across, down = w / values.shape[1], h / values.shape[0]
    shapes = ['<g shape-rendering="crispEdges">']  # or seams show between cells
    for (row, column), value in np.ndenumerate(values):
        left, above = x + column * across, y + row * down
        right, below = left + across - min(mark.gap, across / 4), above + down
        fill, share = "url(#hidden)", 1.0
        if math.isfinite(value):
            fill, share = _colour(_hue(mark, value), colours), _share(mark, value)
        elif mark.empty:
            continue
        if mark.look == "bars":
            left, right = left + 0.12 * across, left + 0.88 * across
            if math.isfinite(value):
                zero = above + down / 2 if mark.signed else below
                tall = (down / 2 if mark.signed else down) * share
                above, below = (zero, zero + tall) if value < 0 else (zero - tall, zero)
                share = 1.0
        if share > 0.001:
            place = f'x="{left:.2f}" y="{above:.2f}" width="{right - left:.2f}" height="{below - above:.2f}"'
            shapes.append(f'<rect {place} fill="{fill}" fill-opacity="{share:.3f}"/>')
    return [*shapes, "</g>"]


def _pixels(mark: Cells, values: np.ndarray, colours: dict[str, str]) -> np.ndarray:
    """A pixel a cell, uint8 [R, C, 4]."""
    known = np.isfinite(values)
    share = np.clip(np.abs(np.where(known, values, 0.0)) / mark.top, 0, 1)
    hues = [_channels(colours[_hue(mark, sign)]) for sign in (-1.0, 1.0)]
    rgb = np.where((np.where(known, values, 0.0) < 0)[..., None], hues[0], hues[1])
    rgb = np.where(known[..., None], rgb, _channels("#808491"))
    alpha = np.where(known, np.rint(255 * share), 64)
    return np.concatenate([rgb, alpha[..., None]], axis=-1).astype(np.uint8)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _numbers(mark: Cells, width: float, colours: dict[str, str]) -> list[str]:
    """The numbers of cells that have room for them."""
    values = np.atleast_2d(np.asarray(mark.values, dtype=float))
    x, y, w, h = (px(length, width) for length in (mark.x, mark.y, mark.width, mark.height))
    across, down = w / values.shape[1], h / values.shape[0]
    if down < 14 or values.size > 2_500:
        return []
    for digits in (2, 1):
        texts = [_brief(value, digits, mark.hidden) for value in values.flat]
        if all(width_of(text) + 4 <= across for text in texts):
            break
    else:
        return []
    drawn = []
    for text, ((row, column), value) in zip(texts, np.ndenumerate(values), strict=True):
        share = min(1.0, abs(value) / mark.top) if math.isfinite(value) else 0.0
        above = y + row * down
        middle = above + down / 2
        if mark.look == "bars":
            foot = middle - (down / 2 * share if value > 0 else 0) if mark.signed else above + down * (1 - share)
            middle, fill = max(above + 7, foot - 8), colours["ink"]
        else:
            fill = _readable(colours, _hue(mark, value), share)
        drawn.append(_text(x + (column + 0.5) * across, middle, text, colours, fill, "middle"))
    return drawn


def _brief(value: float, digits: int, hidden: str) -> str:
    if not math.isfinite(value):
        return hidden
    return "0" if value == 0 else f"{value:.{digits}f}".replace("-", "−")


def _readable(colours: dict[str, str], role: str, share: float) -> str:
    """Black or white, whichever can be read on a tint of a role over the page."""
    over, under = _channels(colours[role]), _channels(colours["paper"])
    linear = []
    for a, b in zip(over, under, strict=True):
        n = (a * share + b * (1 - share)) / 255
        linear.append(n / 12.92 if n <= 0.04045 else ((n + 0.055) / 1.055) ** 2.4)
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if light > 0.179 else "#ffffff"


def _labels(mark: Labels, width: float, colours: dict[str, str]) -> list[str]:
    """Names along an edge, as many as there is room for; slanted where they would touch and may be."""
    names = [short(name, mark.most) if isinstance(name, str) else name for name in mark.texts]
    if not names:
        return []
    said = [name if isinstance(name, str) else " ".join(run.text for line in name for run in line) for name in names]
    length, x, y = px(mark.length, width), px(mark.x, width), px(mark.y, width)
    begin, even = (y if mark.along == "y" else x), length / len(names)
    places = begin + (np.arange(len(names)) + 0.5) * even if mark.places is None else along(mark.places, width)
    step = (float(np.abs(np.diff(places)).min()) if len(places) > 1 else abs(length)) or even
    marked, ink = -1 if mark.marked is None else mark.marked, colours.get(mark.fill, mark.fill)
    longest = max(map(width_of, said))
    slanted = False
    if mark.along == "y":
        every = max(1, math.ceil(LINE / step))
    elif mark.turn != "always" and all(name.isdecimal() for name in said):
        every = next((n for n in _COUNTED if longest + 10 <= step * n), len(names))
    elif mark.turn == "never":
        every = 1 if longest + 6 <= step else math.ceil((longest + 8) / step)
    else:
        slanted = mark.turn == "always" or longest + 6 > step
        every = max(1, math.ceil(LINE / step)) if slanted else 1
    drawn = []
    for i, (name, place) in enumerate(zip(names, places.tolist(), strict=True)):
        is_near = marked >= 0 and every > 1 and 0 < abs(i - marked) < every
        if (i % every and i != marked) or is_near:
            continue
        look: dict[str, Any] = {"bold": i == marked, "size": mark.size}
        if mark.along == "y":
            drawn.append(_text(x, place, name, colours, ink, mark.anchor or "end", **look))
        elif slanted:
            drawn.append(_text(place + 4, y + 4, name, colours, ink, "end", rotate=-45, **look))
        else:
            drawn.append(_text(place, y + 8, name, colours, ink, "middle", **look))
    return drawn
