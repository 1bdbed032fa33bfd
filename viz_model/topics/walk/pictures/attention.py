"""One head at work for one token: its question, the shares that come of it, and what they bring."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import palettes
from viz_model.drawing.cells import COLUMN
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Cells, Mark, Rect, Text
from viz_model.drawing.writing import big, percent, small
from viz_model.topics.walk.pictures.lines import column
from viz_model.topics.walk.pictures.stage import LEFT, Shot, Stage, at, chips, heading, link, rows, vector, wide


class Attention(NamedTuple):
    """One head, and the token that asks.

    Attributes:
        layer, head: where it is; ``prefix`` of its sites.
        q: [K] the query, keys and values [n, K] of the tokens on the stage.
        asks_with: the site of the query, as the product takes it.
        products: [n] query times key, summed; scores, capped, biased [n] as they are scaled, kept within
            a cap and pushed by distance.
        map, masked, pattern: [n, n], a row a key and a column a query: scores, what the mask leaves, shares.
        shares: [n] of the asking token.
        brought: [n] the length of share times value; z [K] their sum, as the run has it over all tokens.
        root: what scores are divided by, or None; ``of_width`` whether it is √K; cap: their cap, or None; has_bias,
            has_mask whether those steps are there.
    """

    layer: int
    head: int
    site: str
    q: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    products: np.ndarray
    scores: np.ndarray
    capped: np.ndarray
    biased: np.ndarray
    map: np.ndarray
    masked: np.ndarray
    pattern: np.ndarray
    shares: np.ndarray
    brought: np.ndarray
    z: np.ndarray
    asks_with: str
    root: float | None
    of_width: bool
    cap: float | None
    has_bias: bool
    has_mask: bool

    @property
    def seen(self) -> list[int]:
        """The keys that the asking token sees."""
        return [row for row, value in enumerate(self.biased) if np.isfinite(value)]


_KEYS, _PRODUCTS, _SCORES = 0.44, 0.2, 0.7
"""Shares of the room that keys and products take, and where scores begin."""
_LARGEST_POWER = 600.0
"""Of e, that a float holds with room to spare."""


def question(stage: Stage, view: Attention, stream: np.ndarray) -> list[Shot]:
    """``stream`` [n, D] is what the block reads."""
    say, still, asking = stage.say, chips(stage), stage.asking
    top = float(max(np.abs(view.q).max(), np.abs(view.keys).max()))
    before = rows(stage, "row", stream, f"blocks.{view.layer}.resid.in", width=wide(0.4))
    low = stage.high * 0.46
    query = heading("query", say("query", token=stage.name), LEFT)
    keys_named = heading("key", say("keys"), LEFT)
    keys = _keys(stage, view, top, stage.high)
    halved = [_half_key(stage, view, row, top, low) for row in range(stage.n)]

    def asked(row: int, height: float) -> Mark:
        return vector(
            "query",
            view.q,
            x=LEFT,
            y=stage.y(row),
            width=wide(_KEYS),
            height=height,
            top=top,
            name=stage.name,
            site=view.asks_with,
            where=(view.head, stage.first + asking, COLUMN),
        )

    ring = Rect(
        id="ring",
        x=LEFT - 2,
        y=stage.y(asking) - 1,
        width=wide(_KEYS, 4),
        height=stage.high + 2,
        stroke="query",
        thick=2,
        radius=3,
    )
    shots = [
        Shot(say("question_stream", layer=view.layer), [*still, *before]),
        Shot(
            say("question_query", token=stage.name, head=view.head), [*still, asked(asking, stage.high), ring, query], 2
        ),
        Shot(say("question_keys"), [*still, *halved, asked(asking, low), replace(ring, height=low + 2), keys_named], 2),
    ]
    known = np.full(stage.n, np.nan)
    largest = float(np.abs(view.products[view.seen]).max(initial=0))
    product_top = float(np.abs(view.q * view.keys).max(initial=0)) or 1.0
    for n, row in enumerate(view.seen):
        known[row] = view.products[row]
        products = vector(
            "products",
            view.q * view.keys[row],
            x=at(_KEYS + 0.03),
            y=stage.y(row),
            width=wide(_PRODUCTS),
            height=stage.high,
            top=product_top,
            name=stage.labels[row],
        )
        moved = Rect(
            id="ring",
            x=LEFT - 2,
            y=stage.y(row) - 1,
            width=wide(_KEYS, 4),
            height=stage.high + 2,
            stroke="query",
            thick=2,
            radius=3,
        )
        named = heading("products", say("products"), at(_KEYS + 0.03))
        marks = [*still, *halved, asked(row, low), moved, products, keys_named, named]
        marks += column(stage, known.copy(), title=say("sum"), left=_SCORES, top=largest)
        last = n == len(view.seen) - 1
        say_it = say("question_product", key=stage.labels[row]) if n < 2 else say("question_each")
        shots.append(Shot(say_it, marks, 2.2 if n < 2 else 1.6 if last else 0.45, 0.9 if n < 2 else 0.4))
    final = [*still, *keys, *column(stage, known, title=say("scores"), left=_SCORES, top=largest), keys_named]
    return [*shots, Shot(say("question_scores"), final, 2)]


def _keys(stage: Stage, view: Attention, top: float, height: float) -> list[Mark]:
    return [
        vector(
            f"key.{row}",
            view.keys[row],
            x=LEFT,
            y=stage.y(row),
            width=wide(_KEYS),
            height=height,
            top=top,
            name=stage.labels[row],
        )
        for row in range(stage.n)
    ]


def _half_key(stage: Stage, view: Attention, row: int, top: float, low: float) -> Mark:
    """A key in the lower half of its line: the query comes above it."""
    return vector(
        f"key.{row}",
        view.keys[row],
        x=LEFT,
        y=stage.y(row) + stage.high - low,
        width=wide(_KEYS),
        height=low,
        top=top,
        name=stage.labels[row],
        opacity=1 if row in view.seen else 0.25,
    )


def shares(stage: Stage, view: Attention) -> list[Shot]:
    say, still = stage.say, chips(stage)
    largest = float(np.abs(view.products[view.seen]).max(initial=0))
    left = _SCORES
    shots = [
        Shot(
            say("shares_scores", token=stage.name),
            [*still, *_seen(stage, view, view.products, say("scores"), left, largest)],
        )
    ]
    if view.root is not None:
        scaled = _seen(stage, view, view.scores, say("scaled", root=f"{view.root:.2f}"), left, largest)
        divided = "shares_root" if view.of_width else "shares_width"
        shots.append(Shot(say(divided, root=f"{view.root:.2f}"), [*still, *scaled], 2, 1.2))
    if view.cap is not None:
        kept = _seen(stage, view, view.capped, say("capped"), left, largest)
        shots.append(Shot(say("shares_cap", cap=f"{view.cap:g}"), [*still, *kept], 2, 1.2))
    if view.has_bias:
        pushed = _seen(stage, view, view.biased, say("pushed"), left, largest)
        shots.append(Shot(say("shares_bias"), [*still, *pushed], 2, 1.2))
    top = float(np.abs(view.map[np.isfinite(view.map)]).max(initial=0)) or 1.0
    narrow = _seen(stage, view, view.biased, say("scores"), left, largest)
    shots.append(Shot(say("shares_all"), [*still, *_map(stage, view.map, "signed", top), *narrow], 2))
    if view.has_mask:
        shots.append(Shot(say("shares_mask"), [*still, *_map(stage, view.masked, "signed", top), *narrow], 2.4))
    soft = [
        *_map(stage, np.where(np.isfinite(view.masked), view.pattern, np.nan), "share", 1.0),
        *share_bars(stage, view, left),
    ]
    shots.append(Shot(say("shares_softmax"), [*still, *soft], 2.4, 1.2))
    best = max(view.seen, key=lambda row: float(view.shares[row]))
    if view.biased[best] < _LARGEST_POWER:
        told = _worked(stage, view, best)
        shots.append(Shot(say("shares_worked", token=stage.labels[best]), [*still, *soft, told], 3))
    return shots


def _worked(stage: Stage, view: Attention, row: int) -> Text:
    """The share of one token, as one would work it out: all tokens are in the sum, those off the stage too."""
    own = float(np.exp(np.float64(view.biased[row])))
    values = {"token": stage.labels[row], "score": f"{view.biased[row]:.3f}".replace("-", "−"), "own": _three(own)}
    values |= {"all": _three(own / float(view.shares[row])), "share": percent(float(view.shares[row]))}
    y = stage.y(stage.n) + stage.high / 2
    return Text(id="worked", text=stage.say("worked", **values), x=2, y=y, size=12)


def _three(n: float) -> str:
    """A positive number to three digits."""
    rounded = float(f"{n:.3g}")
    return big(rounded) if rounded >= 1000 else f"{n:.3g}" if rounded >= 0.001 else small(n)


def _seen(stage: Stage, view: Attention, values: np.ndarray, title: str, left: float, top: float) -> list[Mark]:
    shown = np.full(stage.n, np.nan)
    shown[view.seen] = values[view.seen]
    return column(stage, shown, title=title, left=left, top=top)


def _map(stage: Stage, values: np.ndarray, look: Any, top: float) -> list[Mark]:
    """A row a key, a column a query; the asking token's column is framed."""
    n, asking = stage.n, stage.asking
    across = _KEYS + 0.1
    return [
        Cells(
            id="map",
            x=LEFT,
            y=stage.y(0),
            width=wide(across),
            height=stage.step * n,
            values=values,
            look=look,
            top=top,
            gap=1,
            rows=stage.labels,
            columns=stage.labels,
            row_axis=stage.say("key"),
            column_axis=stage.say("asks"),
            name=stage.say("map"),
        ),
        Rect(
            id="ring",
            x=at(across * asking / n, -1),
            y=stage.y(0) - 1,
            width=wide(across / n, 1),
            height=stage.step * n + 1,
            stroke="query",
            thick=2,
            radius=3,
        ),
        heading("map", stage.say("map"), LEFT),
    ]


def share_bars(stage: Stage, view: Attention, left: float) -> list[Mark]:
    """The asking token's shares beside the tokens they fall to."""
    marks: list[Mark] = [heading("score", stage.say("shares"), at(1), "end")]
    for row, share in enumerate(view.shares):
        if row not in view.seen:
            continue
        y = stage.y(row)
        where = Where(f"{view.site}.pattern", (view.head, stage.first + stage.asking, stage.first + row))
        marks += [
            Rect(
                id=f"score.{row}",
                x=at(left),
                y=y + 2,
                width=wide((1 - left) * 0.62 * float(share)),
                height=stage.high - 4,
                fill="pattern",
                opacity=0.75,
            ),
            Text(
                id=f"score.told.{row}",
                text=percent(float(share)),
                x=at(1, -2),
                y=y + stage.high / 2,
                anchor="end",
                size=12,
            ),
            Cells(
                id=f"score.cell.{row}",
                x=at(left),
                y=y,
                width=wide(1 - left),
                height=stage.high,
                values=np.array([[share]]),
                look="blank",
                rows=(stage.labels[row],),
                columns=("",),
                where=where,
                site=f"{view.site}.pattern",
                walk=False,
            ),
        ]
    return marks


def taken(stage: Stage, view: Attention) -> list[Shot]:
    say, still, asking = stage.say, chips(stage), stage.asking
    top = float(np.abs(view.values).max(initial=0)) or 1.0
    left = _SCORES
    told = share_bars(stage, view, left)

    def values(scale: np.ndarray | None, **more: Any) -> list[Mark]:
        shown = view.values if scale is None else view.values * scale[:, None]
        return [
            vector(
                f"key.{row}",
                shown[row],
                x=LEFT,
                y=stage.y(row),
                width=wide(0.3),
                height=stage.high,
                top=top,
                name=stage.labels[row],
                **more,
            )
            for row in view.seen
        ]

    named = heading("key", say("values"), LEFT)
    y = stage.y(asking) + stage.high / 2
    ribbons = [
        link(
            f"ribbon.{row}",
            at(0.31),
            stage.y(row) + stage.high / 2,
            at(0.6),
            y,
            stroke=palettes.token(stage.first + row),
            thick=max(0.6, 16 * float(view.shares[row])),
            opacity=0.5,
        )
        for row in view.seen
    ]
    mixed = vector(
        "mixed",
        view.z,
        x=at(0.62),
        y=stage.y(asking),
        width=wide(0.38),
        height=stage.high,
        top=float(np.abs(view.z).max(initial=0)),
        name=stage.name,
        site=f"{view.site}.z",
        where=(view.head, stage.first + asking, COLUMN),
    )
    ring = Rect(
        id="ring",
        x=at(0.62, -2),
        y=stage.y(asking) - 2,
        width=wide(0.38, 3),
        height=stage.high + 4,
        stroke="value",
        thick=2,
        radius=3,
    )
    mixed_named = heading("mixed", say("mixed", token=stage.name), at(1), "end")
    brought = np.full(stage.n, np.nan)
    brought[view.seen] = view.brought[view.seen]
    lengths = _lengths(stage, brought)
    shots = [
        Shot(say("taken_values"), [*still, *values(None), named, *told], 2),
        Shot(say("taken_scaled"), [*still, *values(view.shares), named, *told], 2, 1.4),
        Shot(
            say("taken_flow", token=stage.name),
            [*still, *values(view.shares), named, *ribbons, mixed, ring, mixed_named],
            2.4,
            1.2,
        ),
    ]
    return [
        *shots,
        Shot(
            say("taken_brought"),
            [*still, *values(view.shares), heading("key", say("scaled_values"), LEFT), *lengths],
            2,
        ),
    ]


def _lengths(stage: Stage, lengths: np.ndarray) -> list[Mark]:
    """How much each token has brought."""
    top = float(np.nanmax(lengths, initial=0)) or 1.0
    marks: list[Mark] = [heading("score", stage.say("brought"), at(1), "end")]
    for row, length in enumerate(lengths):
        if np.isfinite(length):
            y = stage.y(row)
            marks += [
                Rect(
                    id=f"score.{row}",
                    x=at(0.4),
                    y=y + 2,
                    width=wide(0.48 * float(length) / top),
                    height=stage.high - 4,
                    fill="value",
                    opacity=0.75,
                ),
                Text(
                    id=f"score.told.{row}",
                    text=f"{length:.2f}",
                    x=at(1, -2),
                    y=y + stage.high / 2,
                    anchor="end",
                    size=12,
                ),
            ]
    return marks
