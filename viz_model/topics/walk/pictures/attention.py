"""One head at work for one token: its question, the shares that come of it, and what they bring."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.cells import COLUMN
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Mark, Rect, Text
from viz_model.drawing.writing import big, percent, small
from viz_model.topics.walk.pictures.lines import column
from viz_model.topics.walk.pictures.stage import LEFT, Shot, Stage, at, heading, link, ring, teller, wide


class Attention(NamedTuple):
    """One head, and the token that asks.

    Attributes:
        layer, head: where it is; ``prefix`` of its sites.
        q: [K] the query, keys and values [n, K] of the tokens on the stage.
        asks_with: the site of the query, as the product takes it.
        products: [n] query times key, summed; scores, capped, biased [n] as they are scaled, kept within
            a cap and pushed by distance.
        map, masked, pattern: [n, n], a row a key and a column a query: scores, what the mask leaves, shares.
        shares: [n] of the asking token; ``shared`` the sum of those of all tokens, on the stage or off it.
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
    shared: float
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
    say, still, asking = stage.say, stage.chips(), stage.asking
    top = float(max(np.abs(view.q).max(), np.abs(view.keys).max()))
    before = stage.lines("row", stream, f"blocks.{view.layer}.resid.in", width=wide(0.4))
    low = stage.high * 0.46
    query = heading("query", say("query", token=stage.name), LEFT)
    keys_named = heading("key", say("keys"), LEFT)
    keys = stage.lines("key", view.keys, width=wide(_KEYS), top=top)
    halved = [_half_key(stage, view, row, top, low) for row in range(stage.n)]
    query_of: dict[str, Any] = {"site": view.asks_with, "where": (view.head, stage.first + asking, COLUMN)}

    def asked(row: int, height: float) -> Mark:
        place = {"x": LEFT, "width": wide(_KEYS), "height": height}
        return stage.line(row, "query", view.q, name=stage.name, top=top, **query_of, **place)

    def ringed(row: int) -> Rect:
        return ring(LEFT - 2, stage.y(row) - 1, wide(_KEYS, 4), stage.high + 2, "query")

    whole = [*still, asked(asking, stage.high), ringed(asking), query]
    low_ring = replace(ringed(asking), height=low + 2)
    shots = [
        Shot(say("question_stream", layer=view.layer), [*still, *before]),
        Shot(say("question_query", token=stage.name, head=view.head), whole, 2),
        Shot(say("question_keys"), [*still, *halved, asked(asking, low), low_ring, keys_named], 2),
    ]
    known = np.full(stage.n, np.nan)
    largest = float(np.abs(view.products[view.seen]).max(initial=0))
    product_top = float(np.abs(view.q * view.keys).max(initial=0)) or 1.0
    beside = at(_KEYS + 0.03)
    for n, row in enumerate(view.seen):
        known[row] = view.products[row]
        multiplied = view.q * view.keys[row]
        products = stage.line(row, "products", multiplied, x=beside, width=wide(_PRODUCTS), top=product_top)
        named = heading("products", say("products"), beside)
        marks = [*still, *halved, asked(row, low), ringed(row), products, keys_named, named]
        marks += column(stage, known.copy(), title=say("sum"), left=_SCORES, top=largest)
        last = n == len(view.seen) - 1
        say_it = say("question_product", key=stage.labels[row]) if n < 2 else say("question_each")
        shots.append(Shot(say_it, marks, 2.2 if n < 2 else 1.6 if last else 0.45, 0.9 if n < 2 else 0.4))
    final = [*still, *keys, *column(stage, known, title=say("scores"), left=_SCORES, top=largest), keys_named]
    return [*shots, Shot(say("question_scores"), final, 2)]


def _half_key(stage: Stage, view: Attention, row: int, top: float, low: float) -> Mark:
    """A key in the lower half of its line: the query comes above it."""
    place = {"x": LEFT, "y": stage.y(row) + stage.high - low, "width": wide(_KEYS), "height": low}
    opacity = 1 if row in view.seen else 0.25
    return stage.line(row, f"key.{row}", view.keys[row], top=top, opacity=opacity, **place)


def shares(stage: Stage, view: Attention) -> list[Shot]:
    say, still = stage.say, stage.chips()
    largest = float(np.abs(view.products[view.seen]).max(initial=0))

    def seen(values: np.ndarray, title: str) -> list[Mark]:
        return column(stage, _of(values, view.seen), title=title, left=_SCORES, top=largest)

    shots = [Shot(say("shares_scores", token=stage.name), [*still, *seen(view.products, say("scores"))])]
    if view.root is not None:
        root = f"{view.root:.2f}"
        divided = say("shares_root" if view.of_width else "shares_width", root=root)
        shots.append(Shot(divided, [*still, *seen(view.scores, say("scaled", root=root))], 2, 1.2))
    if view.cap is not None:
        kept = seen(view.capped, say("capped"))
        shots.append(Shot(say("shares_cap", cap=f"{view.cap:g}"), [*still, *kept], 2, 1.2))
    if view.has_bias:
        shots.append(Shot(say("shares_bias"), [*still, *seen(view.biased, say("pushed"))], 2, 1.2))
    top = float(np.abs(view.map[np.isfinite(view.map)]).max(initial=0)) or 1.0
    narrow = seen(view.biased, say("scores"))
    shots.append(Shot(say("shares_all"), [*still, *_map(stage, view.map, "signed", top), *narrow], 2))
    if view.has_mask:
        shots.append(Shot(say("shares_mask"), [*still, *_map(stage, view.masked, "signed", top), *narrow], 2.4))
    pattern = np.where(np.isfinite(view.masked), view.pattern, np.nan)
    soft = [*_map(stage, pattern, "share", 1.0), *share_bars(stage, view)]
    rest = 1 - view.shared  # all of it where the mask hides every key: then nothing has it
    said = "shares_softmax_less" if 1e-4 < rest < 1 else "shares_softmax"
    shots.append(Shot(say(said), [*still, *soft], 2.4, 1.2))
    best = max(view.seen, key=lambda row: float(view.shares[row]))
    if view.biased[best] < _LARGEST_POWER:
        told = _worked(stage, view, best)
        shots.append(Shot(say("shares_worked", token=stage.labels[best]), [*still, *soft, told], 3))
    return shots


def _of(values: np.ndarray, seen: list[int]) -> np.ndarray:
    """Those that are seen of [n] values, NaN in the place of the others."""
    shown = np.full(len(values), np.nan)
    shown[seen] = values[seen]
    return shown


def _worked(stage: Stage, view: Attention, row: int) -> Text:
    """The share of one token, as one would work it out: all tokens are in the sum, those off the stage too."""
    own = float(np.exp(np.float64(view.biased[row])))
    values = {"token": stage.labels[row], "score": f"{view.biased[row]:.3f}".replace("-", "−"), "own": _three(own)}
    values |= {"all": _three(own / float(view.shares[row])), "share": percent(float(view.shares[row]))}
    return Text(id="worked", text=stage.say("worked", **values), x=2, y=stage.middle(stage.n), size=12)


def _three(n: float) -> str:
    """A positive number to three digits."""
    rounded = float(f"{n:.3g}")
    return big(rounded) if rounded >= 1000 else f"{n:.3g}" if rounded >= 0.001 else small(n)


def _map(stage: Stage, values: np.ndarray, look: Any, top: float) -> list[Mark]:
    """A row a key, a column a query; the asking token's column is framed."""
    n, asking, y, height = stage.n, stage.asking, stage.y(0), stage.step * stage.n
    across = _KEYS + 0.1
    place: dict[str, Any] = {"x": LEFT, "y": y, "width": wide(across), "height": height}
    return [
        stage.map("map", values, name=stage.say("map"), look=look, top=top, gap=1, **place),
        ring(at(across * asking / n, -1), y - 1, wide(across / n, 1), height + 1, "query"),
        heading("map", stage.say("map"), LEFT),
    ]


def share_bars(stage: Stage, view: Attention) -> list[Mark]:
    """The asking token's shares beside the tokens they fall to."""
    marks: list[Mark] = [heading("score", stage.say("shares"), at(1), "end")]
    room = 1 - _SCORES
    for row in view.seen:
        share = float(view.shares[row])
        where = Where(f"{view.site}.pattern", (view.head, stage.first + stage.asking, stage.first + row))
        place: dict[str, Any] = {"x": at(_SCORES), "y": stage.y(row), "width": wide(room), "height": stage.high}
        marks += stage.number(row, percent(share), at(_SCORES), wide(room * 0.62 * share), "pattern")
        marks.append(teller(f"score.cell.{row}", share, stage.labels[row], where, walk=False, **place))
    return marks


def taken(stage: Stage, view: Attention) -> list[Shot]:
    say, still, asking = stage.say, stage.chips(), stage.asking
    top = float(np.abs(view.values).max(initial=0)) or 1.0
    plain = stage.lines("key", view.values, width=wide(0.3), top=top, among=view.seen)
    scaled = stage.lines("key", view.values * view.shares[:, None], width=wide(0.3), top=top, among=view.seen)
    told, named = share_bars(stage, view), heading("key", say("values"), LEFT)
    y, to = stage.y(asking), stage.middle(asking)
    ribbons: list[Mark] = []
    for row in view.seen:
        look: dict[str, Any] = {"stroke": stage.colour(row), "thick": max(0.6, 16 * float(view.shares[row]))}
        ribbons.append(link(f"ribbon.{row}", at(0.31), stage.middle(row), at(0.6), to, opacity=0.5, **look))
    mixed_of: dict[str, Any] = {"site": f"{view.site}.z", "where": (view.head, stage.first + asking, COLUMN)}
    z_top = float(np.abs(view.z).max(initial=0))
    mixed: list[Mark] = [
        stage.line(asking, "mixed", view.z, x=at(0.62), width=wide(0.38), top=z_top, **mixed_of),
        ring(at(0.62, -2), y - 2, wide(0.38, 3), stage.high + 4, "value"),
        heading("mixed", say("mixed", token=stage.name), at(1), "end"),
    ]
    brought: list[Mark] = [heading("key", say("scaled_values"), LEFT), *_lengths(stage, _of(view.brought, view.seen))]
    return [
        Shot(say("taken_values"), [*still, *plain, named, *told], 2),
        Shot(say("taken_scaled"), [*still, *scaled, named, *told], 2, 1.4),
        Shot(say("taken_flow", token=stage.name), [*still, *scaled, named, *ribbons, *mixed], 2.4, 1.2),
        Shot(say("taken_brought"), [*still, *scaled, *brought], 2),
    ]


def _lengths(stage: Stage, lengths: np.ndarray) -> list[Mark]:
    """How much each token has brought."""
    top = float(np.nanmax(lengths, initial=0)) or 1.0
    marks: list[Mark] = [heading("score", stage.say("brought"), at(1), "end")]
    for row, length in enumerate(lengths):
        if np.isfinite(length):
            marks += stage.number(row, f"{length:.2f}", at(0.4), wide(0.48 * float(length) / top), "value")
    return marks
