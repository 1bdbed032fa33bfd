"""What lies near a token's row: its nearest rows, and a map of the rows of this sentence and their neighbors."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, theme
from viz_model.drawing.scene import Cells, Items, Panel, Scene, Texts
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, Each, by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.embedding import table
from viz_model.topics.embedding.table import Near, facts

PARALLEL, FAR, CELLS, HEIGHT, NARROW = 0.9, 0.3, 72, 430, 330.0
"""Cosines from which on rows are nearly parallel, and below which none is near; cells along a side of the density
behind the map; pixels of its height, and of its width where it is narrow.
"""
MOST_NAMED = 64
"""Tokens that may be named on the map."""

NEAR: Verdict[Near] = Verdict(
    "embedding.near",
    Claim("parallel", lambda near: near.cosines[..., 0] >= PARALLEL),
    Claim("far", lambda near: near.cosines[..., 0] < FAR),
)


def has(look: Look) -> bool:
    """Whether the table has a second row."""
    return look.once(table.near).ids.shape[1] > 0


def title(look: Look) -> Iterator[Line]:
    yield look.claim(NEAR, look.once(table.near), "token", "title", **facts(look))


def tell_bars(look: Look) -> Iterator[Line]:
    yield Line(look.words("bars", **facts(look)))


def bars(look: Look) -> Scene:
    """A bar a neighbor, the nearest on top."""
    found, words, count = look.once(table.near), look.words, len(look)
    names = table.named(look, found.ids)
    own = np.repeat(np.arange(count)[:, None], found.ids.shape[1], 1)
    fill = Among([theme.token(n) for n in range(count)], by("token", own))
    ids = Among([str(n) for n in np.unique(found.ids)], names.at)
    told = f"{{{{name}}}}\n{words('id')} {{{{id}}}}\n{words('cosine')} {{{{value}}}}"
    series = [chart.Bars("", by("token", found.cosines), "position", told, "2", fill=fill, facts={"id": ids})]
    least = min(0.0, float(found.cosines.min(initial=0.0)))
    scale = chart.Axis(least, 1.08, words("cosine"))
    scene = chart.bars("embedding.near", words("near_alt", **facts(look)), names, series, scale, row=31)
    return look.drawn(scene, ["embed.token"], data=Near(*(by("token", one) for one in found)))


def tell_map(look: Look) -> Iterator[Line]:
    yield Line(look.words("plane", **facts(look), **_shares(look)))


@short_repr
class Map(NamedTuple):
    """The table seen along the two directions in which the sentence's rows and their neighbors vary most.

    Attributes:
        density: how many rows of the table lie in each cell, [CELLS, CELLS].
        low, high: the corners of the picture, which holds the sentence's tokens and their neighbors; each [2].
        points: of the sentence's tokens, [T, 2].
        near: of their neighbors, [T, k, 2].
        outside: rows beyond the edges.
    """

    density: np.ndarray
    low: np.ndarray
    high: np.ndarray
    points: np.ndarray
    near: np.ndarray
    outside: int


def flattened(look: Look) -> tuple[np.ndarray, np.ndarray]:
    """All rows along those two directions [V, 2], and the directions' shares of the variance of the chosen rows [2]."""
    rows = np.unique([*look.trace.own_ids, *look.once(table.near).ids.ravel()])
    return table.principal(table.of(look).stored, rows)


def _shares(look: Look) -> dict[str, str]:
    held = float(look.once(flattened)[1].sum())
    return {"two": f"{held:.0%}", "rest": f"{1 - held:.0%}"}


def plane(look: Look) -> Map:
    all_points, ids = look.once(flattened)[0], np.array(look.trace.own_ids)
    points, near = all_points[ids], all_points[look.once(table.near).ids]
    shown = np.concatenate([points, near.reshape(-1, 2)])
    low, high = shown.min(axis=0), shown.max(axis=0)
    pad = 0.1 * (high - low) + 1e-6
    low, high = low - pad, high + pad
    edges = [np.linspace(low[i], high[i], CELLS + 1) for i in (1, 0)]
    counts, _, _ = np.histogram2d(all_points[:, 1], all_points[:, 0], bins=edges)
    return Map(counts, low, high, points, near, len(all_points) - int(counts.sum()))


def draw(look: Look) -> Scene:
    """Gray: how many rows of the table lie there. Dots: the sentence. Rings: the neighbors."""
    found, words, count = look.once(plane), look.words, len(look)
    shares = look.once(flattened)[1]
    axes = [
        chart.Axis(float(found.low[i]), float(found.high[i]), words(name, share=f"{shares[i]:.1%}"))
        for i, name in enumerate(("first", "second"))
    ]
    on, marks = chart.plot(axes[0], axes[1], HEIGHT)
    tall = on.bottom - on.top
    values = np.where(found.density > 0, np.log1p(found.density), 0.0)[::-1]
    behind = Cells(
        id="density", x=on.left, y=on.top, width=on.across, height=tall, values=values, top=float(values.max()) / 0.6,
        look="share", role="token", walk=False, coarse=True,
    )  # fmt: skip
    told = f"{{{{name}}}}\n{words('id')} {{{{id}}}}"
    colors = [theme.token(n) for n in range(count)]
    near, ids = look.once(table.near), np.array(look.trace.own_ids)
    own: Any = Each(told, {"name": tuple(look.labels), "id": tuple(map(str, ids))})
    said: Any = Each(told, {"name": table.named(look, near.ids), "id": by("token", near.ids)})
    around: Any = {"x": on.at_x(by("token", found.near[..., 0])), "y": on.at_y(by("token", found.near[..., 1]))}
    ring: Any = {"x": on.at_x(by("token", found.points[:, :1])), "y": on.at_y(by("token", found.points[:, 1:]))}
    fill: Any = by("token", colors)
    marks = [
        behind,
        *marks,
        Items(id="near", symbol="circle-open", size=9, fill=fill, thick=2, labels=said, **around),
        Items(id="tokens", x=on.at_x(found.points[:, 0]), y=on.at_y(found.points[:, 1]), symbol="circle", size=9,
              fill=colors, labels=own),
        Items(id="selected", symbol="circle", size=14, fill=fill, walk=False, **ring),
        _names(look, on),
    ]  # fmt: skip
    panel = Panel(id="map", marks=marks, height=HEIGHT)
    return look.drawn(
        Scene(id="embedding.plane", panels=[panel], title=words("plane_alt")), ["embed.token"], data=found
    )


def _names(look: Look, on: chart.Plot) -> Texts:
    """For each selection the names that have room, of the selected token, the others and its neighbors."""
    found, near = look.once(plane), look.once(table.near)
    ids, tokenizer = look.trace.own_ids, look.trace.tokenizer
    first = {id: n for n, id in reversed(list(enumerate(ids)))}
    labels: dict[str, int] = {"": 0}
    rows = []
    for token in range(len(look)):
        shown = [ids[token], *(id for id in list(first)[::-1] if id != ids[token])][:MOST_NAMED]
        shown += [int(id) for id in near.ids[token] if id not in first]
        names = [short(name) for name in table.names(tokenizer, shown)]
        boxes = label_boxes(look.once(flattened)[0][shown], names, found.low, found.high, NARROW, HEIGHT - 60)
        rows.append([
            (labels.setdefault(name, len(labels)), id, *box)
            for name, id, box in zip(names, shown, boxes, strict=True) if box is not None
        ])  # fmt: skip
    most = max(map(len, rows))
    at = np.zeros((len(rows), most), int)
    x, y = np.zeros((len(rows), most, 2), np.float32), np.zeros((len(rows), most), np.float32)
    for n, row in enumerate(rows):
        for k, (label, id, right, up) in enumerate(row):
            point = look.once(flattened)[0][id]
            at[n, k], y[n, k] = label, on.pixels_y(float(point[1])) - up
            x[n, k] = on.places_x(point[0]) + np.array([0, right])
    texts: Any = Among(tuple(labels), by("token", at))
    places: Any = {"x": by("token", x), "y": by("token", y)}
    return Texts(id="names", texts=texts, mono=True, **places)


# Where a label may stand beside its point, best first: pixels to the right, a share of the label's own width, and
# pixels up.
PLACES = ((7.0, 0.0, 0), (-7.0, -1.0, 0), (0.0, -0.5, 13), (0.0, -0.5, -13), (5.0, 0.0, 12), (5.0, 0.0, -12),
          (-5.0, -1.0, 12), (-5.0, -1.0, -12))  # fmt: skip
Box = tuple[float, float, float, float]


def label_boxes(
    points: np.ndarray, names: list[str], low: np.ndarray, high: np.ndarray, width: float, height: float
) -> list[tuple[float, float] | None]:
    """For each point where the middle of its label goes, pixels to the right and up, so that it covers no dot and no
    other label; or None. The points come in the order of their importance, and the first is always named.
    """
    centers = ((points - low) / (high - low) * [width, height]).tolist()
    dots: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for x, y in centers]
    taken: list[Box] = []
    found: list[tuple[float, float] | None] = []
    for i, (x, y) in enumerate(centers):
        wide, place = width_of(names[i]) * 1.1 + 2, None
        for shift, share, dy in PLACES:
            dx = shift + share * wide
            edges = (x + dx, y + dy - 7, x + dx + wide, y + dy + 7)
            inside = edges[0] >= 0 and edges[1] >= 0 and edges[2] <= width and edges[3] <= height
            others = [*dots[:i], *dots[i + 1 :], *taken] if i else []
            if inside and not any(overlap(edges, other) for other in others):
                place = (dx + wide / 2, float(dy))
                taken.append(edges)
                break
        found.append(place)
    return found


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes (left, bottom, right, top) share some area."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def legend(look: Look) -> Iterator[Line]:
    yield look.note("plane_legend", outside=f"{look.once(plane).outside:,}", **facts(look), **_shares(look))
