"""The four tabs, and the question."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.digits import percent
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs
from viz_model.texts.markdown import literal, table
from viz_model.topics.batch import norms
from viz_model.topics.batch.rows import batched, names


def _hand(look: Look) -> Any:
    """The mean of the losses, row by row, and one number by both norms."""
    words = look.text("hand_norms", **_by_hand(look)).words
    return Line(words._replace(template="\n\n".join([*_sums(look), words.template]))), (), {}


def _sums(look: Look) -> Iterator[str]:
    run = batched(look).run
    if run.losses is None or run.loss is None:
        return
    asked = np.isfinite(run.losses)
    sums, counts = np.where(asked, run.losses, 0.0).sum(-1), asked.sum(-1)
    lines = []
    for name, line, total, n in zip(names(look), run.losses, sums, counts, strict=True):
        known = [f"{each:.3f}" for each in line if np.isfinite(each)]
        terms = " + ".join(known if len(known) <= 8 else [*known[:6], "…", known[-1]])
        lines.append([name, f"{terms} = **{total:.3f}**" if known else "–", str(n)])
    yield table((look.words(f"hand_{name}") for name in ("row", "sum", "count")), lines, "lrr")
    facts = {"sums": " + ".join(f"{each:.3f}" for each in sums), "counts": " + ".join(map(str, counts))}
    said = look.text("hand_loss", **facts, total=f"{sums.sum():.3f}", n=counts.sum(), mean=f"{run.loss:.3f}")
    yield str(said.words)


def _by_hand(look: Look) -> dict[str, Any]:
    known = norms.layers(look)
    given, vectors = known.found[look.layer - look.layers.start], known.vectors[0]
    token = min(look.token, len(given.x) - 1)
    d = int(given.feature[token])
    made = {"own": given.layer[0, token, d], "feature": given.batch[0, token, d]}
    facts: dict[str, Any] = {**norms.facts(look), "d": d, "x": f"{given.x[token, d]:.4f}"}
    moments = {"own": given.own_moments[:, token], "feature": given.feature_moments[:, token]}
    for kind, (mean, deviation) in moments.items():
        facts |= {f"{kind}_mean": theme.signed(mean), f"{kind}_deviation": f"{deviation:.4f}"}
        facts[f"{kind}_made"] = f"{made[kind]:.4f}"
    return {**facts, "width": given.x.shape[1], "n_vectors": sum(map(len, vectors))}


def _code(look: Look) -> tuple[str, dict[str, Any]]:
    rows, sides = batched(look).rows, look.config.sides
    ids = [list(row.ids(sides[0])) for row in rows]
    if len(sides) == 1:
        return "batch", {"ids": ids}
    return "batch_translated", {"ids": ids, "targets": [list(row.ids("decoder")) for row in rows]}


def _tables(look: Look) -> list[Any]:
    run, rows = batched(look).run, names(look)
    found = [("attention_mask", 1 - run.padding.astype(int))]
    if run.losses is not None:
        found.append(("losses", run.losses))
    return [(name, values, rows, [str(n) for n in range(values.shape[1])]) for name, values in found]


def _numbers(look: Look) -> Any:
    ids = batched(look).run.ids
    return "ids", ids, names(look), [str(n) for n in range(ids.shape[1])]


def _gaps(look: Look) -> Any:
    run = batched(look).run
    headings = (look.words("hand_row"), look.words("alone_gap"), look.words("open_gap"))
    columns = zip(headings, (names(look), run.gaps.tolist(), run.open_gaps.tolist()), strict=True)
    return [("gaps", look.words("gaps", output=literal("output")), dict(columns))]


APART = Tabs(
    lambda look: ["embed.token", "logits"] if "logits" in look.trace else ["embed.token"],
    _hand,
    lambda look: [],
    _numbers,
    begins=say.text("formula"),
    tables=_tables,
    own=_code,
    records=_gaps,
)


def facts(look: Look) -> dict[str, Any]:
    padding = batched(look).run.padding
    return {"n_padding": int(padding.sum()), "n": padding.size, "share": percent(float(padding.mean()))}


def quiz(look: Look) -> Quiz:
    """How much of the rectangle is padding; what is offered beside it lies at least a tenth of the rectangle away."""
    n = round(100 * float(batched(look).run.padding.mean()))
    others = sorted((other for other in range(0, 100, 15) if abs(other - n) >= 10), key=lambda other: abs(other - n))
    options = sorted({n, *others[:3]})
    asked = look.words("guess", rows=len(batched(look).rows))
    named = tuple(f"{option}%" for option in options)
    return Quiz(asked, named, np.float32(options.index(n)), look.words("guess_found", **facts(look)))


def to_try(look: Look) -> Iterator[Line]:
    yield look.to_try("question")
    yield look.answer("answer", "here" if batched(look).run.padding.any() else "here_none", **facts(look))
