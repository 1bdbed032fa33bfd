"""The four tabs: the pair by formula, by hand, in code and as numbers."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from viz_model.drawing.digits import written
from viz_model.drawing.tables import resolved
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.island.tabs import Table, Tabs
from viz_model.runs import notebook
from viz_model.texts.markdown import literal, table
from viz_model.topics.mistakes.exercise import in_words, names
from viz_model.topics.mistakes.forward import View
from viz_model.topics.mistakes.pair import Matrix, answer, given, outcome, pair

MOST_COLUMNS = 8


def _place(look: Look, view: View) -> dict[str, int]:
    """The layer, head and token that are looked at in the run on which the pair is computed."""
    return {axis: int(resolved(view.fixed.get(axis, n), look.place)) for axis, n in look.place.items() if axis in AXES}


AXES = ("layer", "head", "token")


def _of(look: Look, view: View, found: Matrix) -> np.ndarray:
    """A matrix [R, C] at the selection."""
    place, values = _place(look, view), found.values
    for axis in found.axes.split():
        values = values[place[axis] - (view.there.layers.start if axis == "layer" else 0)]
    return values


def _formula(look: Look) -> Iterator[Line]:
    """Of the value that the right one gives."""
    bug, view = pair(look)[:2]
    if view is not None:
        yield view.there.formulas(bug.site.format(layer=0 if not bug.is_of_block else _place(look, view)["layer"]))


def _hand(look: Look) -> tuple[Line | None, Sequence[Any], dict[str, Any]]:
    """The row that differs most, number by number."""
    bug, view = pair(look)[:2]
    if view is None or answer(look) is None:
        return look.note("after_choice"), (), {}
    came = outcome(view, bug)
    if bug.shown != "matrix":
        return look.note("hand_none"), (), {}
    right, wrong = (_of(look, view, one) for one in (came.right, came.wrong))
    gaps = np.nan_to_num(np.abs(wrong - right), nan=-1.0)
    row, column = np.unravel_index(gaps.argmax(), gaps.shape)
    rows, columns = names(look, view, came.right)
    start = max(0, min(int(column) - 3, len(columns) - MOST_COLUMNS))
    shown = range(start, min(len(columns), start + MOST_COLUMNS))
    head = [f"{look.words('row')} {literal(rows[row])}", *(literal(columns[c]) for c in shown)]
    lines = []
    for name, values in (("right", right), ("wrong", wrong)):
        cells = [written(values[row, c], "4") for c in shown]
        cells[int(column) - start] = f"**{cells[int(column) - start]}**"
        lines.append([look.words(name), *cells])
        lines[-1] += [written(values[row].sum(), "4")] if came.right.is_pattern else []
    return Line(table([*head, *([look.words("sum")] if came.right.is_pattern else [])], lines)), (), {}


def _code(look: Look) -> tuple[str, dict[str, Any]]:
    bug, view = pair(look)[:2]
    if view is None:  # what any run has
        return "mistakes", {"bug": "count", "layer": look.layer}
    own = {} if view.there.trace is look.trace else {"model": view.run.name, "run": notebook.view(view.run)}
    return "mistakes", {"bug": bug.name, "layer": _place(look, view)["layer"], **own}


def _tables(look: Look) -> list[Table]:
    """What both gave; before there is an answer, what both are given."""
    bug, view = pair(look)[:2]
    if view is None:
        return []
    if answer(look) is None:
        found = given(view, bug)
        return [] if found is None else [(f"{bug.name}.given", _of(look, view, found), *names(look, view, found))]
    came = outcome(view, bug)
    if bug.shown != "matrix":
        return []
    both = {look.words("right"): came.right, look.words("wrong"): came.wrong}
    return [(name, _of(look, view, one), *names(look, view, one)) for name, one in both.items()]


def _records(look: Look) -> list[tuple[str, str, dict[str, Sequence[object]]]]:
    bug, view = pair(look)[:2]
    if view is None or answer(look) is None or bug.shown == "matrix":
        return []
    came = outcome(view, bug)
    found: list[tuple[str, str, dict[str, Sequence[object]]]] = []
    for name, value in (("right", came.right), ("wrong", came.wrong)):
        said = f"**{look.words(name)}**"
        if bug.shown == "reply":
            found.append((f"{bug.name}.{name}", f"{said} {literal(in_words(value))}", {}))
            continue
        tokens: Sequence[str] = view.there.labels[len(view.there) - len(value) :]
        numbers = value.numpy() / np.log(2)
        if bug.shown == "likeliest":
            at = _place(look, view)["token"] if view.outputs else -1
            shares, ids = value[at].softmax(-1).topk(min(8, value.shape[-1]))
            tokens, numbers = [one.label for one in view.run.tokenizer.tokens(ids.tolist())], shares.numpy()
        columns = {look.words("bars_token"): tokens, look.words("bars_value"): numbers.tolist()}
        found.append((f"{bug.name}.{name}", said, columns))
    return found


APART = Tabs(
    formulas=lambda look: (),
    said=_formula,
    hand=_hand,
    code=lambda look: (),
    own=_code,
    numbers=lambda look: None,
    tables=_tables,
    records=_records,
)
