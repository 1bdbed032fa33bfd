"""Numbers that are added to the scores: by distance, in this sentence, and what they change in one row."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, matrix, theme
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.scene import Items, Panel, Path, Rect, Scene, Series
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, Each, by
from viz_model.island import quiz as asking
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Item, Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Worked
from viz_model.model import ops, positions
from viz_model.runs.trace import Trace
from viz_model.topics.position import key
from viz_model.topics.position.added import MAX_SIDE
from viz_model.topics.position.schemes import scheme_of

PLACE = "layer head token"
SHORTEST_REACH, FURTHEST, MAX_LINES, MOST_DOTS, MOST_KEYS = 16, 300, 32, 64, 48
"""Distances that are drawn at the least and at the most; heads behind the selected one; keys that have a dot on either
side, and keys of a row.
"""
MATRICES = ("scores", "bias", "masked")
"""A head's scores, what position adds, and what the softmax reads."""


def bias_by_distance(trace: Trace, layer: int, distances: np.ndarray) -> np.ndarray:
    """What every head of a layer adds for each distance key − query: [N] -> [H, N].

    Distances after the query are those of one that has as many keys behind it as before.

    Raises:
        ValueError: the layer adds nothing to its scores.
    """
    before, after = -int(distances.min(initial=0)), int(distances.max(initial=0))
    bias = trace.stack.position_of(layer).bias(after + 1, before + after + 1)
    if bias is None:
        raise ValueError(f"position: {type(scheme_of(trace, layer)).__name__} adds nothing to the scores")
    return bias[:, 0, torch.from_numpy(before + distances)].detach().numpy()


def by_head(look: Look, distances: np.ndarray) -> tuple[str, np.ndarray]:
    """The same of the layers that are held, and the axes by which it is looked up.

    [H, N] where all layers are alike, else [L, H, N].
    """
    found = np.stack([bias_by_distance(look.trace, layer, distances) for layer in look.layers])
    return ("head", found[0]) if (found == found[0]).all() else ("layer head", found)


def knows_distance(look: Look) -> bool:
    """Whether what is added to a score can be told from the distance alone, without a query."""
    return look.trace.stack.position_of(look.layers.start).bias(1, 1) is not None


class Buckets(NamedTuple):
    """T5's buckets as one stack uses them.

    ``two_way``: half of all buckets are for keys after the query. ``per_side`` buckets serve one
    direction, the first ``exact`` of them hold a single distance, and the last holds
    ``last_from`` and all beyond.
    """

    two_way: bool
    total: int
    per_side: int
    exact: int
    max_distance: int
    position: positions.T5Bias

    @property
    def last_from(self) -> int:
        """The distance from which on all fall into the last bucket; no more than ``max_distance``."""
        back = self.of(-np.arange(self.max_distance + 1))
        return int((back == back[-1]).argmax())

    def of(self, distances: np.ndarray) -> np.ndarray:
        """The bucket of each distance key − query, by the model's own function."""
        return self.position.bucket(torch.from_numpy(np.asarray(distances, dtype=np.int64))).numpy()


def buckets(look: Look) -> Buckets | None:
    """None of a scheme that has none."""
    position = look.trace.stack.position_of(look.layers.start)
    if not isinstance(position, positions.T5Bias):
        return None
    total = position.buckets.num_embeddings
    per_side = total // 2 if position.two_way else total
    return Buckets(position.two_way, total, per_side, per_side // 2, position.max_distance, position)


def telling(trace: Trace, token: int) -> tuple[int, int] | None:
    """The layer and head in which what is added to the scores moves most of the last token's attention; None without
    any. Of another token it is the same one, so that a click on a token leaves the head.
    """
    token = len(trace) - 1
    moved: dict[tuple[int, int], float] = {}
    for layer in range(trace.n_layers):
        at = f"blocks.{layer}.attn"
        if f"{at}.bias" not in trace:
            continue
        scores, bias = (trace.row(f"{at}.{name}", token) for name in ("scores", "bias"))
        hidden = ~trace.mask(layer)[token]
        rows = [s.masked_fill(hidden, -math.inf).softmax(-1) for s in (scores, scores + bias)]
        for head, share in enumerate((rows[0] - rows[1]).abs().sum(-1).tolist()):
            moved[layer, head] = share
    return max(moved, key=moved.__getitem__, default=None)


# What is added over the distance


def choose_range(look: Look) -> Chooser:
    options = {name: look.words(f"range_{name}") for name in ("text", "all")}
    return Chooser("range", options, look.words("range"), asks=True)


@short_repr
class Curves(NamedTuple):
    """What heads add for each of N distances key − query: ``values`` [H, N], or [L, H, N].

    ``dots`` are the distances of keys that each token sees, [L, T, K], NaN where it sees none. ``buckets`` [N] is None
    where there are none.
    """

    distances: np.ndarray
    values: Any
    dots: Any
    buckets: np.ndarray | None


def curves(look: Look, alt: str) -> Scene:
    """The selected head's numbers over the distance, a dot for each visible key; the other heads faint. ``alt`` is the
    key of what it shows.
    """
    found, words, length = buckets(look), look.words, len(look)
    longest = FURTHEST if found is None else round(found.max_distance * 1.15)
    whole = look.options.get("range") == "all"
    reach = min(max(longest if whole else SHORTEST_REACH, length + 2), FURTHEST)
    two_way = look.trace.stack.side == "encoder"
    at = np.arange(-reach, (reach if two_way else 0) + 1)
    axes, values = by_head(look, at)
    table: Any = look.by(axes, values.astype(np.float32))
    of = None if found is None else found.of(at)

    x = chart.Axis(float(at[0]) - 0.5, float(at[-1]) + 0.5, words("bias_distance"))
    height = 360.0
    on, marks = chart.plot(x, chart.axis(values, title=words("bias_added")), height)
    steps = np.arange(len(at)) if found is None else np.repeat(np.arange(len(at)), 2)
    places = at.astype(np.float64)
    if found is not None:  # a number holds for a whole bucket: stairs
        places = np.stack([at - 0.5, at + 0.5], -1).ravel()
    drawn = look.by(axes, values[..., steps].astype(np.float32)) if found is not None else table
    told = f"{words('bias_distance')} {{{{at}}}}\n{{{{value}}}}"
    for head in range(min(look.n_heads, MAX_LINES)):
        one = drawn._replace(fixed={"head": head})
        marks.append(Path(id=f"head.{head}", x=on.at_x(places), y=on.at_y(one), stroke="residual", thick=1.2,
                          opacity=0.4))  # fmt: skip
    marks.append(Path(id="own", x=on.at_x(places), y=on.at_y(drawn), stroke="position", thick=2.8))
    names = tuple(str(n).replace("-", "−") for n in at)
    labels: Any = Each(told, {"at": names, "value": table._replace(write="4")})
    marks.append(Items(id="own.points", x=on.at_x(at.astype(np.float64)), y=on.at_y(table), labels=labels))
    marks.append(Rect(id="zero", x=on.left, y=on.pixels_y(0.0), width=on.across, height=1, fill="muted"))

    near = np.arange(-min(length - 1, MOST_DOTS), (min(length - 1, MOST_DOTS) if two_way else 0) + 1)
    keys = np.arange(length)[:, None] + near
    inside = (keys >= 0) & (keys < length)
    keys = np.clip(keys, 0, length - 1)
    sees = inside & look.visible[:, np.arange(length)[:, None], keys]
    dots = look.by("layer token", np.where(sees, near, np.nan).astype(np.float32))
    roles = tuple(theme.token(n) for n in range(length))
    slot = by("token", keys)
    y: Any = look.by(axes, values[..., near - at[0]].astype(np.float32))
    placed = tuple(f"{n}: {label}" for n, label in enumerate(look.labels))
    said: Any = Each("{{label}}\n{{value}}", {"label": Among(placed, slot), "value": y._replace(write="4")})
    size = 8 if length <= 64 else 4
    fill: Any = Among(roles, slot)
    marks.append(Items(id="keys", x=on.at_x(dots), y=on.at_y(y), symbol="circle", size=size, fill=fill, labels=said))

    panels = [Panel(id="curves", marks=marks, height=height, min=600)]
    if of is not None:
        panels.append(_stairs(look, x, at, places, steps, of))
    heads = [(words("bias_head"), "position", 2.8), (words("bias_others"), "residual", 1.2)]
    scene = Scene(
        id="position.curves",
        panels=panels,
        title=words(alt),
        keys=[chart.line_key(name, role, "", thick=thick) for name, role, thick in heads],
        keys_at="below",
        series=[Series(words("bias_added"), names, table)],
    )
    call = look.call("position", layer=look.layer, head=look.head, token=look.token)
    return look.drawn(scene, ["attn.bias"], data=Curves(at, look.by(axes.removesuffix(" head"), values)
                      if axes != "head" else values, dots, of), call=call)  # fmt: skip


def _stairs(look: Look, x: chart.Axis, at: np.ndarray, places: np.ndarray, steps: np.ndarray, of: np.ndarray) -> Panel:
    """Which bucket a distance falls into."""
    words = look.words
    on, marks = chart.plot(x, chart.axis(of, title=words("bias_bucket")), 150)
    marks.append(Path(id="buckets", x=on.at_x(places), y=on.at_y(of[steps].astype(np.float64)), stroke="residual"))
    labels = [
        f"{words('bias_distance')} {n}\n{words('bias_bucket')} {bucket}" for n, bucket in zip(at, of, strict=True)
    ]
    marks.append(Items(id="points", x=on.at_x(at.astype(np.float64)), y=on.at_y(of.astype(np.float64)), labels=labels))
    return Panel(id="buckets", marks=marks, height=150, min=600)


source = say.source("attn.bias")


# In this sentence


class Biased(NamedTuple):
    """Scores, what position adds, their sum, and the pattern with and without it; all [L, H, T, T].

    Hidden cells are NaN, in the patterns too.
    """

    scores: np.ndarray
    bias: np.ndarray
    masked: np.ndarray
    pattern: np.ndarray
    pattern_without: np.ndarray


def biased(look: Look) -> Biased:
    names = ("scores", "bias", "masked", "pattern")
    scores, bias, masked, pattern = (look.every(f"attn.{name}") for name in names)
    capped = ops.cap(torch.from_numpy(scores), look.config.score_cap)
    hidden = ~np.broadcast_to(look.visible[:, None], scores.shape)
    sink = torch.from_numpy(look.every("attn.sink")) if look.has("attn.sink") else None
    without = ops.pattern(capped.masked_fill(torch.from_numpy(hidden), -math.inf), sink).numpy()
    return Biased(*(np.where(hidden, np.float32(np.nan), one) for one in (scores, bias, masked, pattern, without)))


title = say.title("added", lambda look: {"head": look.head_number, "layer": look.layer_number})


def matrices(prefix: str = "") -> list[Item]:
    """The three matrices side by side; ``prefix`` begins their names where they are another run's."""
    return [partial(draw, which=which, prefix=prefix) for which in MATRICES]


def draw(look: Look, which: str, prefix: str = "", alt: str = "") -> Scene:
    """One of :data:`MATRICES`: all on one color scale, but what another run adds, which is small, on its own."""
    found, words = look.once(biased), look.words
    every = -(-len(look) // MAX_SIDE)
    own = [which] if (prefix and which == "bias") or alt else MATRICES
    top = np.nanmax([np.nanmax(np.abs(getattr(found, name)), axis=(-1, -2)) for name in own], axis=0)
    values = getattr(found, which)[..., ::every, ::every]
    shown = tuple(range(0, len(look), every))
    names = look.labels[::every]
    scene = matrix.scene(
        f"position.{prefix}{which}" if not alt else "position.added",
        alt or words(f"added_{which}"),
        look.by("layer head", values),
        names,
        names,
        axes=(look.common("axis_query"), look.common("axis_key")),
        top=look.by("layer head", np.where(top > 0, top, 1.0)),
        every=every,
        written=False,
        hidden=look.common("masked"),
        where=None if prefix else look.cells(f"attn.{which}", ("head", ROW, COLUMN), rows=shown, columns=shown),
        height=330,
    )
    heading = str(words(f"added_{which}")) if not alt else ""
    data = Added(look.by("layer head", values))
    return look.drawn(scene, [f"attn.{which}"], heading=heading, own=not prefix, data=data)


@short_repr
class Added(NamedTuple):
    """One of the matrices, every n-th query and key."""

    values: Any


def matrices_source(look: Look, prefix: str = "") -> Iterator[Line]:
    yield look.source(*(f"attn.{which}" for which in MATRICES))
    yield look.note(f"{prefix}scale" if prefix else "added_axes")


# One row


row_title = say.title("row", say.token)


def row(look: Look) -> Scene:
    """Two bars a key: the selected query's attention without the bias, and with it."""
    found, words, length = look.once(biased), look.words, len(look)
    count = min(length, MOST_KEYS)
    start = np.clip(np.arange(length) - MOST_KEYS // 2, 0, length - count)
    keys = start[:, None] + np.arange(count)
    slot = by("token", keys)
    where = look.cells("attn.pattern", ("head", "token", COLUMN), columns=slot)

    def bars(values: np.ndarray, name: str, role: str, cells: Any) -> chart.Bars:
        picked = np.take_along_axis(values, np.broadcast_to(keys, (*values.shape[:2], *keys.shape)), -1)
        told = f"{{{{label}}}}\n{{{{value}}}} · {name}"
        facts = {"label": Among([f"{n}: {label}" for n, label in enumerate(look.labels)], slot)}
        return chart.Bars(name, look.by(PLACE, picked), role, told, "4", False, facts, where=cells)

    series = [
        bars(found.pattern_without, words("row_without"), "residual", None),
        bars(found.pattern, words("row_with"), "pattern", where),
    ]
    scale = chart.axis(found.pattern, found.pattern_without, title=words("row_weight"))
    scene = chart.columns("position.row", words("row_alt"), Among(look.labels, slot), series, scale, height=300)
    return look.drawn(scene, ["attn.pattern"])


pattern_source = say.source("attn.pattern")


def tell(look: Look) -> Iterator[Line]:
    """One cell: score + bias, and the factor e^bias before the softmax divides."""
    found, keys = look.once(biased), key.chosen(look)
    score, bias, masked, weight, without = (key.of_key(values, keys) for values in found)
    back = np.abs(keys - np.arange(len(look)))
    yield look.text(
        "added_see",
        token=look.token_named(),
        key=look.token_named(look.by(PLACE, keys)),
        back=look.by(PLACE, back, "whole"),
        score=look.by(PLACE, score, "4"),
        bias=look.by(PLACE, bias, "4"),
        masked=look.by(PLACE, masked, "4"),
        factor=look.by(PLACE, np.exp(bias), "g4"),
        weight=look.by(PLACE, weight, "%2"),
        without=look.by(PLACE, without, "%2"),
    )


def along_diagonals(bias: np.ndarray) -> np.ndarray:
    """The largest difference between neighbors along a diagonal of [..., H, T, T]; 0 where the distance is all."""
    here, next_ = bias[..., :-1, :-1], bias[..., 1:, 1:]
    differs = here != next_  # −∞ is the same as −∞
    change = np.abs(np.subtract(next_, here, out=np.zeros_like(here), where=differs))
    return change.max((-1, -2, -3), initial=0.0)


BIAS: Verdict[np.ndarray] = Verdict("position.bias", Claim("distance", lambda change: change < 1e-5))
"""Of the largest difference between neighbors along a diagonal of what is added."""


def tell_diagonals(look: Look) -> Iterator[Line]:
    change = along_diagonals(look.every("attn.bias"))
    yield look.claim(BIAS, change, "layer", change=look.by("layer", change, "g2"))


# What schemes of this kind share


def quiz(look: Look) -> Quiz | None:
    """Which head favors the selected token over the first one most, by what is added to their scores."""
    bias, at = look.every("attn.bias"), np.arange(len(look))
    at[0] = len(look) - 1  # of the first token there is nothing to ask
    values = (bias[:, :, at, at] - bias[:, :, at, 0]).swapaxes(1, 2)
    shown = asking.spread(look.n_heads)
    names = [look.common("guess_head", n=n) for n in shown]
    facts = {"token": look.token_named(by("token", at)), "first": look.names[0], "layer": look.layer_number}
    return asking.largest(look, "layer token", values[..., shown], names, "+2", "guess_bias", **facts)


def formulas(look: Look) -> list[str]:
    return [look.site(f"attn.{name}") for name in ("scores", "bias", "masked", "pattern")]


def code(look: Look) -> list[str]:
    return [look.site(f"attn.{name}") for name in ("bias", "scores", "masked", "pattern")]


def worked(look: Look) -> list[Worked]:
    """What is added to one score, and the sum."""
    chosen = int(key.chosen(look)[look.layer - look.layers.start, look.head, look.token])
    return [Worked((), look.site(f"attn.{name}"), (look.head, look.token, chosen)) for name in ("bias", "masked")]


def numbers(look: Look) -> Any:
    """The bias of every pair."""
    values = look.trace.head(look.site("attn.bias"), look.head).numpy()
    return f"{look.trace.full_name(look.site('attn.bias'))}[{look.head}]", values, look.labels, look.labels
