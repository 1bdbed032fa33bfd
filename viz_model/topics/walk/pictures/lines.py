"""Stops on the lines of numbers: rows of a table, places, and the stream that they become."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.drawing.scene import Cells, Mark, Rect, Text
from viz_model.topics.walk.pictures.stage import LEFT, TOP, Shot, Stage, at, heading, link, ring, short, vector, wide

Scheme = Literal["waves", "added", "turned", "changed", "biased", "none"]
"""How a model tells places apart: a wave or another vector that is added, queries and keys that are turned or changed
in another way, scores that are pushed."""


_ZOOMED = 8


class Table(NamedTuple):
    """Rows of a learnt table.

    Attributes:
        rows: [n, D] of the tokens on the stage.
        sample: [S, D] rows of the table at even distances, in order.
        n_rows: of the table.
        word: which token has the ``near`` ones: the row that has the most alike others.
        near: words with the cosine of their row to it, and the rows [3, D].
    """

    rows: np.ndarray
    sample: np.ndarray
    n_rows: int
    word: int
    near: tuple[tuple[str, float], ...]
    near_rows: np.ndarray


class Places(NamedTuple):
    """Rows before and after they know their place.

    Attributes:
        before, after: [n, D]; of turned keys those of a head.
        added: [n, D] the waves, or [n] what is added to the scores of the asking token; None where nothing is.
        twins: two tokens on the stage that are the same, or None.
        sites: the names of before, added and after.
        head: whose keys they are, where they are.
        scaled: the number whose root each row of the table was multiplied with, if it was.
    """

    scheme: Scheme
    before: np.ndarray
    added: np.ndarray | None
    after: np.ndarray
    twins: tuple[int, int] | None
    sites: tuple[str, str, str]
    head: int | None = None
    scaled: int | None = None


class Stream(NamedTuple):
    """The stream on its way: [S, n, d] at S depths, some of its dimensions; ``names`` of the depths."""

    values: np.ndarray
    dimensions: tuple[int, ...]
    layers: tuple[int, ...]
    sites: tuple[str, ...]


def vectors(stage: Stage, view: Table) -> list[Shot]:
    say, still = stage.say, stage.chips(ids=True)
    top = float(np.abs(view.rows).max(initial=0))
    drawn = table(stage, view.sample, view.n_rows, top)
    found: list[Mark] = []
    links: list[Mark] = []
    for row, id in enumerate(stage.ids):
        y = TOP + id / view.n_rows * (_room(stage) - 4)
        place = {"x": at(0.56), "y": y, "width": wide(0.44), "height": 4}
        found.append(stage.line(row, f"row.{row}", view.rows[row], top=top, **place))
        ends = LEFT - 12, stage.middle(row), at(0.56), y + 2
        links.append(link(f"pick.{row}", *ends, stroke=stage.colour(row), thick=1.5))
    slid = stage.lines("row", view.rows, width=wide(0.5), top=top)
    shots = [
        Shot(say("vectors_table", n=f"{view.n_rows:,}", d=view.rows.shape[1]), [*still, *drawn]),
        Shot(say("vectors_pick"), [*still, *drawn, *links, *found], 1.6),
        Shot(say("vectors_slide"), [*still, *drawn, *slid], 1.8, 1.2),
    ]
    if view.rows.size:
        zoomed = _zoom(stage, view.rows[stage.asking], top)
        shots.append(Shot(say("vectors_zoom", word=stage.name), [*still, *slid, *zoomed], 2.4, 1.2))
    if view.near:
        near = _near(stage, view, top)
        shots.append(Shot(say("vectors_near", word=stage.labels[view.word]), [*still, *slid, *near], 2))
    return shots


def _room(stage: Stage) -> float:
    """Pixels down that a table takes."""
    return stage.height - TOP - 8


def table(stage: Stage, sample: np.ndarray, n_rows: int, top: float | None = None) -> list[Mark]:
    """A table of so many rows, of which ``sample`` [S, D] are drawn."""
    top = float(np.abs(sample).max(initial=0)) if top is None else top
    place: dict[str, Any] = {"x": at(0.56), "y": TOP, "width": wide(0.44), "height": _room(stage)}
    look: dict[str, Any] = {"opacity": 0.45, "coarse": True, "walk": False}
    return [
        Cells(id="table", values=sample, top=top, rows=[""] * len(sample), **look, **place),
        Rect(id="table.frame", stroke="muted", thick=1, **place),
        heading("table", stage.say("table", n=f"{n_rows:,}"), at(1), "end"),
    ]


def _zoom(stage: Stage, row: np.ndarray, top: float) -> list[Mark]:
    """The first numbers of a row, written out."""
    marks: list[Mark] = [heading("zoom", stage.say("zoom", word=short(stage.name)), at(0.56))]
    for n, value in enumerate(row[:_ZOOMED]):
        y, told = TOP + 34.0 * n, f"{value:.3f}".replace("-", "−")
        place: dict[str, Any] = {"x": at(0.56), "y": y, "width": wide(0.2), "height": 26}
        marks.append(vector(f"zoom.{n}", row[n : n + 1], top=top, name=stage.name, walk=False, **place))
        marks.append(Text(id=f"zoom.told.{n}", text=told, x=at(0.92), y=y + 13, anchor="end", size=13))
    marks.append(Text(id="zoom.more", text="⋯", x=at(0.92), y=TOP + 34.0 * _ZOOMED + 4, anchor="end", size=13))
    return marks


def _near(stage: Stage, view: Table, top: float) -> list[Mark]:
    marks: list[Mark] = [heading("near", stage.say("near", word=short(stage.labels[view.word])), at(0.56))]
    own = stage.labels[view.word], view.rows[view.word], None
    for n, (word, values, cosine) in enumerate(
        [own, *((w, v, c) for (w, c), v in zip(view.near, view.near_rows, strict=True))]
    ):
        y, told = TOP + 44.0 * n, word if cosine is None else f"{word} · {cosine:.2f}"
        marks.append(Text(id=f"near.word.{n}", text=short(told, 18), x=at(0.56), y=y + 8, size=13, bold=not n))
        marks.append(vector(f"near.{n}", values, x=at(0.56), y=y + 18, width=wide(0.44), height=15, top=top, name=word))
    return marks


def places(stage: Stage, view: Places) -> list[Shot]:
    say, still = stage.say, stage.chips()
    pair = _outlined(stage, view.twins, 0.5 if view.scheme in ("waves", "added") else 1)
    top = float(np.abs(view.before).max(initial=0))
    scaled: list[Shot] = []
    if view.scaled is not None and view.head is None:
        whole = stage.lines("row", view.before, view.sites[0], width=wide(0.48), top=top)
        scaled = [Shot(say("places_scaled", d=view.scaled), [*still, *whole], 1.4)]
    twin = stage.labels[view.twins[0]] if view.twins else ""
    same = say("places_same" if view.twins else "places_alone", word=twin)
    half = wide(0.48)

    def block(id: str, values: np.ndarray, site: str, x: Any, width: Any, **more: Any) -> list[Mark]:
        return stage.lines(id, values, site if view.head is None else "", x=x, width=width, **more)

    match view.scheme:
        case "waves" | "added":
            assert view.added is not None
            before = block("row", view.before, view.sites[0], LEFT, half, top=top)
            wave = block("wave", view.added, view.sites[1], at(0.52), half)
            over = block("wave", view.added, view.sites[1], LEFT, half, opacity=0.0)
            after = block("row", view.after, view.sites[2], LEFT, half, top=top)
            names: list[Mark] = [heading("row", say("rows"), LEFT), heading("wave", say(view.scheme), at(0.52))]
            summed: list[Mark] = [heading("row", say(f"sums_{view.scheme}"), LEFT)]
            return [
                *scaled,
                Shot(same, [*still, *before, *pair, names[0]]),
                Shot(say(f"places_{view.scheme}"), [*still, *before, *wave, *pair, *names], 2),
                Shot(say(f"places_sum_{view.scheme}"), [*still, *after, *over, *pair, *summed], 2, 1.4),
            ]
        case "turned" | "changed":
            keys = heading("row", say("keys_head"), LEFT)
            before = block("row", view.before, "", LEFT, (1, -LEFT), top=top)
            after = block("row", view.after, "", LEFT, (1, -LEFT), top=top)
            return [
                Shot(say("places_keys"), [*still, *before, *pair, keys]),
                Shot(say(f"places_{view.scheme}"), [*still, *after, *pair, keys], 2, 1.6),
            ]
        case "biased":
            assert view.added is not None
            before = block("row", view.before, view.sites[0], LEFT, half, top=top)
            pushed = column(stage, view.added, title=say("bias", token=short(stage.name)), left=0.55)
            return [
                *scaled,
                Shot(same, [*still, *before, *pair]),
                Shot(say("places_bias", token=stage.name), [*still, *before, *pair, *pushed], 2),
            ]
        case "none":
            before = block("row", view.before, view.sites[0], LEFT, (1, -LEFT), top=top)
            return [*scaled, Shot(same, [*still, *before, *pair]), Shot(say("places_none"), [*still, *before, *pair])]


def _outlined(stage: Stage, twins: tuple[int, int] | None, share: float) -> list[Mark]:
    """Frames round two equal rows."""
    frames: list[Mark] = []
    for n, row in enumerate(twins or ()):
        frames.append(ring(LEFT - 3, stage.y(row) - 2, wide(share, 3), stage.step, "accent", f"twin.{n}"))
    return frames


def column(stage: Stage, values: np.ndarray, *, title: str, left: float, top: float = 0.0) -> list[Mark]:
    """A number beside each token, as a bar from the middle: [n]; what is not finite has none."""
    finite = values[np.isfinite(values)]
    top = top or float(np.abs(finite).max(initial=0)) or 1.0
    marks: list[Mark] = [heading("score", title, at(1), "end")]
    # Negative numbers need half of the room, and what is written needs the other half.
    room = 1 - left
    middle, reach = (left + 0.27 * room, 0.25 * room) if (finite < 0).any() else (left, 0.5 * room)
    for row, value in enumerate(values):
        if np.isfinite(value):
            fill, length = "positive" if value >= 0 else "negative", wide(reach * (float(value) / top))
            marks += stage.number(row, f"{value:.2f}", at(middle), length, fill)
    return marks


def stream(stage: Stage, view: Stream, embedded: np.ndarray) -> list[Shot]:
    say, still = stage.say, stage.chips()
    narrow, ahead = start(stage, embedded), outline(stage, view)
    flow = [*still, *narrow, *ahead, *strips(stage, view, len(view.values))]
    return [
        Shot(say("stream_rows"), [*still, *stage.lines("row", embedded, "embed.out")]),
        Shot(say("stream_ahead", n=len(view.layers)), [*still, *narrow, *ahead], 1.8, 1.2),
        Shot(say("stream_flow"), flow, 2, 1.6),
    ]


def start(stage: Stage, embedded: np.ndarray) -> list[Mark]:
    """What enters the first block, [n, D], before the blocks ahead."""
    return stage.lines("row", embedded, "embed.out", width=wide(0.16))


def outline(stage: Stage, view: Stream) -> list[Mark]:
    """The blocks ahead, and the line of each token through them."""
    marks: list[Mark] = []
    for row in range(stage.n):
        y, thick = stage.middle(row), 2.5 if row == stage.asking else 1.5
        marks.append(link(f"line.{row}", LEFT - 10, y, at(1), y, stroke=stage.colour(row), thick=thick, opacity=0.55))
    for n, layer in enumerate(view.layers):
        x, across = place(n, len(view.layers))
        box: dict[str, Any] = {"x": at(x, 2), "y": TOP - 4, "width": wide(across, -4)}
        look: dict[str, Any] = {"stroke": "muted", "fill": "grid", "opacity": 0.18, "radius": 6}
        name, middle = stage.say("block", n=layer), at(x + across / 2)
        marks += [
            Rect(id=f"block.{layer}", height=stage.step * stage.n + 4, **box, **look),
            Text(id=f"block.name.{layer}", text=name, x=middle, y=13, anchor="middle", fill="muted"),
        ]
    return marks


def place(n: int, count: int) -> tuple[float, float]:
    """Where the n-th block stands, and how wide it is, in shares of the room."""
    across = 0.82 / count
    return 0.18 + n * across, across


def strips(stage: Stage, view: Stream, shown: int) -> list[Mark]:
    """The stream behind each of the first ``shown`` depths, some of its numbers."""
    marks: list[Mark] = []
    for depth in range(1, shown):
        x, across = place(depth - 1, len(view.layers))
        values = view.values[depth]
        marks += [
            Cells(
                id=f"depth.{depth}.{row}",
                x=at(x + across * 0.3),
                y=stage.y(row),
                width=wide(across * 0.4),
                height=stage.high,
                values=values[row][None],
                top=float(np.abs(values).max(initial=0)) or 1.0,
                rows=(stage.labels[row],),
                columns=[str(d) for d in view.dimensions],
                column_axis="·",
                site=view.sites[depth],
                walk=False,
            )
            for row in range(stage.n)
        ]
    return marks
