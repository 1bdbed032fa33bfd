"""Attention: what to read? The score of one query with every key, product by product."""

from typing import Any

import numpy as np

from viz_model.drawing.tables import by
from viz_model.island.beats import Chapter, ends
from viz_model.measures.heads import ROUNDING
from viz_model.topics.walk import layout
from viz_model.topics.walk.layout import NAMES, WIDTH, Marks, Pen, points
from viz_model.topics.walk.run import Run

N, TOP = 5, 136
KEYS = (0.62, -NAMES - 8)
"""The width of a strip of numbers: from the names to 62 %."""
BEST = ("scores_5", "scores_5 later", "scores_5 negative", "scores_5 later negative", "scores_5_even", "scores_5_only")


def chapter(run: Run) -> Chapter:
    scores, q, d, guess = run.rows(run.dots), run.named(), run.head(run.last("q")).shape[-1], None
    first = np.arange(len(run)), scores.argmax(-1)
    best, few = run.shown[first], _options(run, run.shown[first])
    if few is not None:
        right = run.by("token", (few == best[:, None]).argmax(-1))
        guess = run.asks("guess_score", run.label(few), right, q=q)
    # Of the only token, of scores that are equal or all below 0, of a best key that comes later.
    even = np.ptp(run.dots, -1) <= ROUNDING * abs(run.dots).max(-1)
    case = np.where(even, 5 if len(run) == 1 else 4, run.hidden[first] + 2 * (scores.max(-1) < 0))
    biased = "_bias" if attention(run).q.bias is not None else ""
    rotated = "both_turned" if run.last("q") == "q_rotated" else ""
    product = {"k": run.named(run.shown, "token key"), "score": run.by("token key", scores, "2")}
    beats = [
        run.says("scores_1"),
        run.says(f"scores_2{biased}", "query line matrix", q=q, dk=d),
        run.says(f"scores_3 {rotated}", "key matrix"),
        run.says("scores_4 tap_row" if len(run) > 1 else "scores_4", "query key1 product score1", q=q, dk=d, **product),
        run.among(BEST, case, "score", guess, q=q, best=run.named(best)),
    ]
    return run.chapter("scores", beats, _marks(run), "attention")


def attention(run: Run) -> Any:
    """The module of the block."""
    return run.trace.stack.block(run.look.layer).attn


def _options(run: Run, best: np.ndarray) -> np.ndarray | None:
    """Up to four keys to guess among that look and score differently: [T, ≤ 4]; None where some query has no choice."""
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


def matrix(run: Run, letter: str) -> np.ndarray:
    """The columns of a matrix that make the query, key or value of the head: [D, d]"""
    weight, config = getattr(attention(run), letter).weight.detach().numpy(), run.trace.config
    d = run.head(letter).shape[-1]
    owner = run.look.head if letter == "q" else run.look.head * (len(weight) // d) // config.n_heads
    return weight.reshape(-1, d, weight.shape[-1])[owner].T


def _marks(run: Run) -> Marks:
    look, scores = run.look, run.rows(run.dots)
    yield layout.toy("dot", {"names": ["a", "b", "a · b"]}, look.words("toy_dot"), until=2)
    yield from _query(run)
    yield from layout.matrix(run, matrix(run, "k"), (0.68, 0), TOP, (0.3, 0), 258, Pen({"since": 3, "until": 4}))
    q, k, count = run.head(run.last("q")), run.head(run.last("k")), run.shown.shape[1]
    top, high, products = max(layout.most(q), layout.most(k)), layout.pitch(count, TOP), q[:, None] * k[run.shown]
    yield Pen().cells(run.row(q), NAMES, 8, KEYS, 22, top=top, since=3, part="query")
    # The working: the chosen key is copied beside the query, and multiplied.
    places = TOP + high * np.arange(count, dtype=np.float32)
    copied = ends(N, (0, places), (4, np.full_like(places, 36)), axes="key")
    key, product, total = (Pen({"since": 4, "part": part}) for part in ("key1", "product", "score1"))
    yield key.name(look.words("key"), 46)
    yield key.cells(run.by("token key", k[run.shown][:, :, None]), NAMES, copied, KEYS, 22, top=top, when=(0, 0.5))
    product, most = product.but(when=(0.5, 1)), layout.most(products)
    yield product.name(look.words("products"), 88)
    yield product.cells(run.by("token key", products[:, :, None]), NAMES, 62, KEYS, 54, top=most, look="bars")
    total = total.but(when=(0.7, 1))
    yield total.text(look.words("sum"), (0.66, 0), 88)
    yield total.end(run.by("token key", scores), y=88, form="2", look="bold")
    yield key.box(0, by("key", places), WIDTH, high, "frame")
    # All scores: a row for each key, which answers as a whole and lies over what it holds.
    column: dict[str, Any] = {"scale": layout.span(scores), "left": (0.66, 0), "width": (0.34, -62)}
    score = Pen({"since": 5, "part": "score"})
    yield score.end(look.words("scores"), y=124)
    yield score.box(points(0, **column, size=0), TOP, 1, high * count)
    yield Pen({"since": 3, "part": "key"}).text(look.words("keys"), NAMES, 124)
    for n, row in Pen({"since": 3}).rows(count, TOP, high):
        label, score = run.label(run.shown[:, n]), row.but(since=5, part="score")
        yield row.name(label)
        yield row.strip(run.row(k[run.shown[:, n]]), NAMES, KEYS, top, part="key")
        zero, own = points(0 * scores[:, n], **column), points(scores[:, n], **column)
        yield score.dot(run.ends(N, (0, zero), (5, own)))
        yield score.end(run.by("token", scores[:, n]), form="2")
        yield row.box(0, row.y, WIDTH, high - 1, "frame", part="row", act={"key": n}, label=label, when=(0, 1))


def _query(run: Run) -> Marks:
    """A vector times a matrix. The query is made below the matrix, and then goes to the top to be compared."""
    look, trace, made, weights = run.look, run.trace, run.head("q"), matrix(run, "q")
    normed = f"blocks.{look.layer}.attn.norm.out"
    is_normed = trace.norm_at in ("pre", "both") and normed in trace
    line = trace[normed if is_normed else f"blocks.{look.layer}.resid.in"].numpy()
    pen, d = Pen({"since": 2, "until": 3}), weights.shape[1]
    vector, table, query = (pen.but(part=part) for part in ("line", "matrix", "query"))
    yield vector.name(look.words("vector_of"), 66)
    yield vector.name(run.label(), 90, look="bold")
    yield vector.cells(run.by("token", line[..., None]), NAMES - 28, 104, 18, 256, top=layout.most(line) / 2)
    yield from layout.matrix(run, weights, NAMES, 104, KEYS, 256, table)
    # Column by column: the vector times a column of the matrix is a number of the query.
    across = ends(N, (0, (0.0, NAMES)), (2, (KEYS[0] * (1 - 1 / d), NAMES + KEYS[1] * (1 - 1 / d))))
    yield table.box(across, 102, (KEYS[0] / d, KEYS[1] / d), 296, "frame")
    yield query.name(look.words("query"), ends(N, (0, 382.0), (3, 18.0)), until=99)
    yield query.cells(run.row(made), NAMES, 372, KEYS, 22, top=layout.most(made))
    cover = ends(N, (0, (0.0, NAMES)), (2, (KEYS[0], KEYS[1] + NAMES)))
    yield pen.box(cover, 370, ends(N, (0, KEYS), (2, (0.0, 0.0))), 26, "cover", since=1)
