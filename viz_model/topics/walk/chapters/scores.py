"""Attention: what to read? The score of one query with every key, product by product."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.drawing.tables import Among, Phrase, by
from viz_model.island.beats import Beat, Box, Cells, Chapter, Guess, Mark, Text, Toy, ends
from viz_model.island.prose import Line
from viz_model.measures.heads import ROUNDING
from viz_model.topics.walk import layout
from viz_model.topics.walk.layout import DOT, HEIGHT, NAMES, points, span
from viz_model.topics.walk.run import Run

N, TOP = 5, 136
KEYS = (0.62, -NAMES - 8)
"""The width of a strip of numbers: from the names to 62 %."""


def chapter(run: Run) -> Chapter:
    look, values = run.look, facts(run)
    biased = attention(run).q.bias is not None
    rotated = "_rotated" if run.last("q") == "q_rotated" else ""
    best = np.take_along_axis(run.shown, run.rows(run.dots).argmax(-1)[:, None], -1)[:, 0]
    few, guess = _options(run, best), None
    if few is not None:
        guess = Guess(
            look.text("guess_score", q=run.named()),
            run.label(few, "token"),
            run.by("token", (few == best[:, None]).argmax(-1)),
        )
    beats = [
        Beat(look.text("scores_1")),
        run.says("scores_2_bias" if biased else "scores_2", "query line matrix", **values),
        run.says(f"scores_3{rotated}", "key matrix", **values),
        run.says("scores_4" if len(run) > 1 else "scores_4_only", "query key1 product score1", **values),
        Beat(_best(run, values), "score", guess),
    ]
    return Chapter(
        "scores", look.words("title_scores"), beats, list(_marks(run)), ("attention", look.words("closer_attention"))
    )


def attention(run: Run) -> Any:
    """The module of the block."""
    return run.trace.stack.block(run.look.layer).attn


def facts(run: Run) -> dict[str, Any]:
    return {
        "q": run.named(),
        "k": run.named(run.shown, "token key"),
        "dk": run.head(run.last("q")).shape[-1],
        "layer": run.look.layer,
        "head": run.look.head,
        "score": run.by("token key", run.rows(run.dots), "2"),
    }


def _options(run: Run, best: np.ndarray) -> np.ndarray | None:
    """Up to four keys to guess among, the best one with others evenly spread, in their order: [T, 4 or fewer]. No two
    look the same, and none is as good as the best; None where that leaves a query without a choice.
    """
    others = list[list[int]]()
    for keys, scores, right in zip(run.shown, run.rows(run.dots), best, strict=True):
        worse = keys[scores.max() - scores > ROUNDING * abs(scores).max()]
        named = {run.labels[key]: int(key) for key in reversed(worse)}  # of tokens that look the same the first
        named.pop(run.labels[right], None)
        others.append(sorted(named.values()))
    count = min(3, *map(len, others))
    if not count:
        return None
    few = [row[:: max(1, len(row) // count)][:count] for row in others]
    return np.sort(np.concatenate([best[:, None], few], -1), -1)


def _best(run: Run, values: dict[str, Any]) -> Line:
    """The sentence on all scores: of the only token, of scores that are equal or all below 0, of a best key that comes
    later.
    """
    scores = run.rows(run.dots)
    even = np.ptp(run.dots, -1) <= ROUNDING * abs(run.dots).max(-1)
    at = scores.argmax(-1)[:, None]
    later = np.take_along_axis(run.hidden, at, -1)[:, 0]
    case = np.select(
        [np.full(len(run), len(run) == 1), even, (scores.max(-1) < 0) & later, scores.max(-1) < 0, later],
        [3, 5, 4, 2, 1],
        0,
    )
    texts = [
        run.look.text(f"scores_5{kind}", q="{{q}}", best="{{best}}").words
        for kind in ("", "_later", "_negative", "_only", "_negative_later", "_even")
    ]
    best = np.take_along_axis(run.shown, at, -1)[:, 0]
    return Line(Phrase(Among(texts, run.by("token", case)), {"q": values["q"], "best": run.named(best)}))


def read(run: Run) -> np.ndarray:
    """The vectors as the matrices of the block read them: [T, D]"""
    layer, trace = run.look.layer, run.trace
    name = f"blocks.{layer}.attn.norm.out"
    return trace[name if trace.norm_at in ("pre", "both") and name in trace else f"blocks.{layer}.resid.in"].numpy()


def matrix(run: Run, letter: str) -> np.ndarray:
    """The columns of a matrix that make the query, key or value of the head: [D, d]"""
    weight, config = getattr(attention(run), letter).weight.detach().numpy(), run.trace.config
    d = run.head(letter).shape[-1]
    owner = run.look.head if letter == "q" else run.look.head * (len(weight) // d) // config.n_heads
    return weight.reshape(-1, d, weight.shape[-1])[owner].T


def _marks(run: Run) -> Iterator[Mark]:
    look, shown = run.look, run.shown
    q, k, line = run.head(run.last("q")), run.head(run.last("k")), read(run)
    made = run.head("q")
    d, count = q.shape[-1], shown.shape[1]
    high = layout.pitch(count, TOP)
    w_q, w_k = matrix(run, "q"), matrix(run, "k")
    heavy, top = layout.most(w_q) / 2, max(layout.most(q), layout.most(k))
    name: dict[str, Any] = {"x": NAMES - 8, "anchor": "end"}
    strip: dict[str, Any] = {"x": NAMES, "width": KEYS}
    rows = np.array([TOP + high * n for n in range(count)], dtype=np.float32)
    scores = run.rows(run.dots)
    column: dict[str, Any] = {"left": (0.66, 0), "width": (0.34, -62)}
    scale, products = span(scores), q[:, None] * k[shown]
    yield Toy(
        toy="dot",
        until=2,
        width=(1, 0),
        height=HEIGHT,
        data={"names": ["a", "b", "a · b"]},
        label=look.words("toy_dot"),
    )
    # The query: a vector times a matrix. It is made below the matrix, and then goes to the top to be compared.
    making: dict[str, Any] = {"since": 2, "until": 3}
    yield Text(text=look.words("vector_of"), **name, y=60, part="line", **making)
    yield Text(text=run.label(range(len(run))), **name, y=84, part="line", look="bold", **making)
    yield Cells(
        values=run.by("token", line[..., None]),
        top=layout.most(line) / 2,
        x=NAMES - 28,
        y=104,
        width=18,
        height=256,
        part="line",
        **making,
    )
    yield Text(text=look.words("matrix_q", rows=w_q.shape[0], columns=d), x=NAMES, y=84, part="matrix", **making)
    yield Cells(values=w_q, top=heavy, **strip, y=104, height=256, part="matrix", **making)
    # Column by column: the vector times a column of the matrix is a number of the query.
    across = ends(N, (0, (0.0, NAMES)), (2, (KEYS[0] * (1 - 1 / d), NAMES + KEYS[1] * (1 - 1 / d))))
    yield Box(look="frame", x=across, y=102, width=(KEYS[0] / d, KEYS[1] / d), height=296, part="matrix", **making)
    yield Text(text=look.words("query"), **name, y=ends(N, (0, 382.0), (3, 18.0)), since=2, part="query")
    yield Cells(
        values=run.by("token", made[:, None]), top=layout.most(made), **strip, y=372, height=22, part="query", **making
    )
    yield Cells(values=run.by("token", q[:, None]), top=top, **strip, y=8, height=22, part="query", since=3)
    cover = ends(N, (0, (0.0, NAMES)), (2, (KEYS[0], KEYS[1] + NAMES)))
    yield Box(look="cover", x=cover, y=370, width=ends(N, (0, KEYS), (2, (0.0, 0.0))), height=26, since=1, until=3)
    yield Text(
        text=look.words("matrix_k", rows=w_k.shape[0], columns=d), x=(0.68, 0), y=124, since=3, until=4, part="matrix"
    )
    yield Cells(values=w_k, top=heavy, x=(0.68, 0), width=(0.3, 0), y=TOP, height=260, since=3, until=4, part="matrix")
    # The working: the chosen key is copied beside the query, and multiplied.
    yield Text(text=look.words("key"), **name, y=46, since=4, part="key1")
    copied = by("beat key", np.stack([rows] * 4 + [np.full(count, 36, dtype=np.float32)] * 2))
    yield Cells(
        values=run.by("token key", k[shown][:, :, None]),
        top=top,
        **strip,
        y=copied,
        height=22,
        since=4,
        part="key1",
        when=(0, 0.5),
    )
    yield Text(text=look.words("products"), **name, y=88, since=4, part="product", when=(0.5, 1))
    yield Cells(
        values=run.by("token key", products[:, :, None]),
        look="bars",
        top=layout.most(products),
        **strip,
        y=62,
        height=54,
        since=4,
        part="product",
        when=(0.5, 1),
    )
    yield Text(text=look.words("sum"), x=(0.66, 0), y=88, since=4, part="score1", when=(0.7, 1))
    yield Text(
        text=run.by("token key", scores),
        form="2",
        x=(1, -4),
        y=88,
        anchor="end",
        look="bold",
        since=4,
        part="score1",
        when=(0.7, 1),
    )
    yield Box(look="frame", x=0, y=by("key", rows), width=(1, 0), height=high, since=4, part="key1")
    yield Text(text=look.words("scores"), x=(1, -4), y=124, anchor="end", since=5, part="score")
    yield Box(x=layout.at_zero(scale, **column), y=TOP, width=1, height=high * count, since=5, part="score")
    yield Text(text=look.words("keys"), x=NAMES, y=124, since=3, part="key")
    for n in range(count):
        when, y = layout.turn(n, count), TOP + high * n
        label = run.label(shown[:, n])
        yield Text(text=label, **name, y=y + high / 2 - 1, since=3, when=when)
        yield Cells(
            values=run.by("token", k[shown[:, n]][:, None]),
            top=top,
            **strip,
            y=y + 2,
            height=high - 6,
            part="key",
            since=3,
            when=when,
        )
        x = (
            ends(
                N,
                (0, points(0 * scores[:, n], scale, **column)),
                (5, points(scores[:, n], scale, **column)),
                axes="token",
            )
            if len(run.by("token", scores).values) == len(run)
            else run.by("token", points(scores[:, n], scale, **column))
        )
        yield Box(
            look="dot", x=x, y=y + high / 2 - 1 - DOT / 2, width=DOT, height=DOT, since=5, when=when, part="score"
        )
        yield Text(
            text=run.by("token", scores[:, n]),
            form="2",
            x=(1, -4),
            y=y + high / 2 - 1,
            anchor="end",
            since=5,
            when=when,
            part="score",
        )
        # The whole row answers, and lies over what it holds.
        row: dict[str, Any] = {"width": (1, 0), "y": y, "height": high - 1, "part": "row", "since": 3}
        yield Box(look="frame", **row, act={"key": n}, label=label)
