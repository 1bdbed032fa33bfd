"""The steps of one target token, and the row of weights that they end in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from viz_model.drawing import strips
from viz_model.drawing.cells import Cells, span_of
from viz_model.drawing.spans import window
from viz_model.topics.cross_attention import numbers as cross

MOST_COLUMNS = 24
"""Source tokens beside each other."""
STEPS = ("product", "scale", "mask", "softmax", "value")


def step_strips(
    steps: cross.Steps,
    labels: Sequence[str],
    names: Mapping[str, str],
    *,
    scaled: bool,
    cells: Mapping[str, Cells] = MappingProxyType({}),
) -> strips.StripsView:
    """Rows of aligned cells, one column a source token, and the length of weight · value as bars below.

    ``names`` are :data:`STEPS`. A model that does not divide by √K has no row for it.
    Long sources show the window that is read most. ``cells`` say of rows which numbers of the run they are.
    """
    shown = window(steps.fetched, MOST_COLUMNS)
    if np.isneginf(steps.mask).any():  # what is hidden stands at the end, and is what one wants to see
        shown = slice(max(0, len(labels) - MOST_COLUMNS), len(labels))
    rows = {"product": steps.products, "scale": steps.scores, "mask": steps.masked, "softmax": steps.pattern}
    if not scaled:
        del rows["scale"]
    drawn = [
        strips.scaled(
            names[step],
            values[shown],
            "share" if step == "softmax" else "signed",
            cells=cells[step]._replace(columns=span_of(shown)) if step in cells else None,
        )
        for step, values in rows.items()
    ]
    drawn.append(strips.scaled(names["value"], steps.fetched[shown], "bars", role="value"))
    return strips.steps(drawn, labels[shown], span_of(shown))


def steps_table(
    steps: cross.Steps, names: Mapping[str, str], labels: Sequence[str]
) -> tuple[np.ndarray, tuple[str, ...], Sequence[str]]:
    """The steps as numbers: values [5, Ts], the names of the rows, and those of the columns."""
    rows = (steps.products, steps.scores, steps.masked, steps.pattern, steps.fetched)
    return np.stack(rows), tuple(names[key] for key in STEPS), labels


def row_strip(pattern: np.ndarray, labels: Sequence[str], name: str, cells: Cells | None = None) -> strips.StripsView:
    """One row of a pattern as bars over the source: all of it, or the window that is read most."""
    shown = window(pattern, MOST_COLUMNS)
    which = None if cells is None else cells._replace(columns=span_of(shown))
    bars = strips.scaled(name, pattern[shown], "bars", cells=which)
    return strips.StripsView((bars,), tuple(labels[shown]), 190, span_of(shown), written=True)
