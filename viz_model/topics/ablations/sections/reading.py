"""What the model reads, changed: the order of the tokens, and one cell of the mask."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from viz_model.runs.edits import FlipMask, ShuffleTokens
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.topics.ablations import claims
from viz_model.topics.ablations.numbers import breaking
from viz_model.topics.ablations.pictures.series import SeriesView
from viz_model.topics.ablations.sections.experiment import Experiment, Facts, Finding
from viz_model.topics.ablations.sections.lab import Lab

# The same tokens in another order: do the same vectors come out, in that order?


def _text(lab: Lab, shuffle: ShuffleTokens) -> str:
    tokens = lab.plain.at(shuffle.side or lab.plain.config.sides[0]).tokens
    return literal("".join(tokens[i].text for i in breaking.came_from(lab.plain, shuffle)))


def _ask_order(lab: Lab) -> Facts:
    shuffle = breaking.a_shuffle(lab.plain)
    return {"text": "" if shuffle is None else _text(lab, shuffle), "enters": lab.enters}


def _answer_order(lab: Lab, edit: ShuffleTokens, after: Trace) -> Finding:
    distances = lab.reordered(edit)
    by_condition = dict(zip(breaking.CONDITIONS, distances, strict=True))
    facts: Facts = {name: f"{distance:.3f}" for name, distance in by_condition.items()}
    facts |= {"text": _text(lab, edit), "enters": lab.enters, "limit": breaking.ALIKE}
    labels = tuple(lab.words(f"condition_{condition}") for condition in breaking.CONDITIONS)
    view = SeriesView(labels, {"cost": np.array(distances)}, "", (0,))
    axes = lab.words("axis_condition"), lab.words("axis_reordered")
    outcome = claims.SHUFFLE.of(by_condition["as_it_is"])
    return Finding(outcome, facts, lambda: lab.draw(view, axes, "order"), view.table())


# The key that a query reads most is hidden from it: where does the weight go, and does the answer change?


def _row(lab: Lab, trace: Trace, query: int) -> np.ndarray:
    """Where a query looks, on the mean of all layers and heads, [Tk]."""
    return lab.measure("row", trace, query)


def _hides_one(lab: Lab, edit: FlipMask) -> bool:
    """One cell of every layer, and one that is hidden by it, not shown."""
    if edit.key is None or edit.layer is not None:
        return False
    return bool(_row(lab, lab.plain, edit.query)[edit.key] > 0)


def _cell(lab: Lab) -> tuple[int, int]:
    """What was tried; else the selected query, and of what it sees beside itself the key that it reads most."""
    tried = lab.tried
    if isinstance(tried, FlipMask) and tried.key is not None and CELL.fits(lab, tried):
        return tried.query, tried.key
    row = _row(lab, lab.plain, lab.token).copy()
    row[lab.token] = 0.0
    return lab.token, int(row.argmax())


def _ask_cell(lab: Lab) -> Facts:
    query, key = _cell(lab)
    row = _row(lab, lab.plain, query)
    return {
        "query": lab.token_name(query),
        "key": lab.token_name(key),
        "before": f"{row[key]:.0%}",
        "own": f"{row[query]:.0%}",
        "subject": lab.subject,
    }


def _make_cell(lab: Lab, guess: str | None = None) -> FlipMask | None:
    query, key = _cell(lab)
    if _row(lab, lab.plain, query)[key] == 0 or key == query:
        return None
    return FlipMask(query=query, key=key, side=lab.side)


def _cell_view(lab: Lab, after: Trace | None = None) -> SeriesView:
    query, key = _cell(lab)
    series = {"before": _row(lab, lab.plain, query)} | ({} if after is None else {"after": _row(lab, after, query)})
    return SeriesView(lab.labels, series, "attn.pattern", (key,))


def _draw_cell(lab: Lab, view: Callable[[Lab], SeriesView]) -> None:
    lab.draw(view, (lab.page.t("common.axis_key"), lab.words("axis_weight")), "measure_flip", by=("token",))


def _answer_cell(lab: Lab, edit: FlipMask, after: Trace) -> Finding:
    view, here = _cell_view(lab, after), lab.cost(after)
    gain = view.series["after"] - view.series["before"]
    gained = int(gain.argmax())
    facts = _ask_cell(lab) | {
        "after": f"{view.series['after'][_cell(lab)[1]]:.0%}",
        "gained": lab.token_name(gained),
        "gain": f"{100 * gain[gained]:.0f}",
        "cost": lab.amount(here),
    }
    draw = partial(_draw_cell, lab, lambda lab: _cell_view(lab, after))
    return Finding(claims.FLIP.of(here.changed), facts, draw, view.table())


ORDER = Experiment(
    "shuffle",
    ShuffleTokens,
    _ask_order,
    lambda lab, guess: breaking.a_shuffle(lab.plain),
    _answer_order,
    missing=lambda lab: None if breaking.a_shuffle(lab.plain) else "few_tokens",
    everywhere=True,
    least=0,
)
CELL = Experiment(
    "flip",
    FlipMask,
    _ask_cell,
    _make_cell,
    _answer_cell,
    missing=lambda lab: None if _make_cell(lab) else "sees_one",
    before=lambda lab: _draw_cell(lab, _cell_view),
    belongs=_hides_one,
)
