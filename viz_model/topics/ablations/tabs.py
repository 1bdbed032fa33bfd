"""The four tabs: the experiment by formula, by hand, in code and as numbers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from viz_model.drawing.digits import percent
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs
from viz_model.measures import change
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.topics.ablations import compare
from viz_model.topics.ablations.lab import ROLES, lab
from viz_model.topics.ablations.trying import chosen, finding


def divergence(before: np.ndarray, after: np.ndarray, name: Callable[[int], str], most: int = 4) -> dict[str, str]:
    """KL(before ‖ after) of [V] probabilities: its largest terms as LaTeX lines, and the whole sum.

    ``name`` is what a token of the vocabulary is called.
    """
    terms = before * (np.log2(np.maximum(before, 1e-300)) - np.log2(np.maximum(after, 1e-300)))
    order = np.argsort(-np.abs(terms), kind="stable")[:most]
    lines = [
        f"{before[i]:.4f} \\cdot \\log_2 \\frac{{{before[i]:.4f}}}{{{after[i]:.4f}}} &= {terms[i]:.4f}" for i in order
    ]
    lines.append(f"\\text{{…}} &= {terms.sum() - terms[order].sum():.4f}")
    return {
        "lines": "\\begin{aligned}\n" + "\\\\\n".join(lines) + "\n\\end{aligned}",
        "tokens": ", ".join(name(int(i)) for i in order),
        "sum": f"{max(0.0, float(terms.sum())):.4f}",
    }


def turn(before: Trace, after: Trace, token: int) -> dict[str, str]:
    """The cosine of one token's last vectors in two runs, worked out from its product and lengths."""
    found = change.vectors(before, after)
    product = found.cosines[token] * found.before[token] * found.after[token]
    return {
        "product": f"{product:.4f}",
        "before": f"{found.before[token]:.4f}",
        "after": f"{found.after[token]:.4f}",
        "cosine": f"{found.cosines[token]:.4f}",
    }


def _formula(look: Look) -> Iterator[Line]:
    yield look.text(f"formula_{chosen(lab(look)).name}")
    yield look.text("formula_logits" if look.config.has_logits else "formula_vectors")


def _hand(look: Look) -> tuple[Line | None, Sequence[Any], dict[str, Any]]:
    """The divergence of the two predictions, by its largest terms."""
    own = lab(look)
    if not look.trace.edits:
        return look.text("hand_nothing"), (), {}
    if not own.plain.config.has_logits:
        parts = turn(own.plain, own.after, look.token)
        return look.text("hand_vectors", token=literal(own.labels[look.token]), **parts), (), {}
    found = change.guesses(own.answering, own.after.at(own.answers), own.positions[own.here])
    terms = divergence(found.before, found.after, lambda id: literal(own.plain.tokenizer.token(id).label))
    return look.text("hand", **terms), (), {}


def _records(look: Look) -> list[tuple[str, str, Mapping[str, Sequence[object]]]]:
    """The measure, and the first guesses of both runs."""
    own = lab(look)
    found = finding(own)
    records: list[tuple[str, str, Mapping[str, Sequence[object]]]] = []
    if found is not None and found.table:
        known = {key: look.words(f"series_{key}") for key in ROLES} | {"": look.words("column_place")}
        table = {known.get(key, key): list(values) for key, values in found.table.items()}
        records.append(("experiment", "", table))
    if own.plain.config.has_logits:
        first = compare.guesses(own)
        at = own.here
        ids = [id for id in first.ids[at].tolist() if id >= 0]
        columns: dict[str, Sequence[object]] = {
            look.words("column_token"): [own.plain.tokenizer.token(id).label for id in ids]
        }
        for key, values in (("before", first.before), ("after", first.after)):
            columns[look.words(f"series_{key}")] = [percent(value) for value in values[at][: len(ids)]]
        records.append(("guesses", "", columns))
    elif found is None:
        records.append(("nothing", look.words("no_numbers"), {}))
    return records


APART = Tabs(
    formulas=lambda look: (),
    said=_formula,
    hand=_hand,
    code=lambda look: (),
    own=lambda look: ("ablations", {}),
    numbers=lambda look: None,
    records=_records,
)
