"""What every mark of a trace says and answers, and how it is coloured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.plot.colours import role_of
from viz_model.drawing.plot.writing import plain, template_of, told
from viz_model.drawing.sheet import Trace

MOST_SAID = 500
"""Marks of a trace that are told of one by one. Of more, which no pointer tells apart, some are, evenly spread."""


class Said(NamedTuple):
    """Of the marks of a trace.

    Attributes:
        labels: what is said of each, nothing of those that :data:`MOST_SAID` leaves out.
        picks: what a click on each tells the page.
        where: which numbers of the run they are.
        name: of the trace.
        walk: whether they are pointed at.
    """

    labels: tuple[str, ...]
    picks: tuple[Any, ...]
    where: Where | None
    name: str
    walk: bool


def said_of(trace: Trace, n: int, where: Where | None, *, has_picks: bool) -> Said:
    """Of the ``n`` marks of a trace; those that a click on answers tell their ``customdata`` where it ``has_picks``."""
    template = template_of(trace)
    fields = {
        name: values
        for name in ("x", "y", "text", "hovertext", "customdata", "base")
        if (values := _listed(trace.get(name), n))
    }
    labels = () if template is None else tuple(told(template, n, {"x": range(n), "y": range(n), **fields}))
    if n > MOST_SAID:
        labels = tuple(label if i % -(-n // MOST_SAID) == 0 else "" for i, label in enumerate(labels))
    picks = fields.get("customdata", []) if has_picks and trace.get("customdata") is not None else []
    walk = template is not None or bool(picks) or where is not None
    return Said(labels, tuple(picks), where, plain(trace.get("name") or ""), walk)


def _listed(values: Any, n: int) -> list[Any]:
    if values is None:
        return []
    if isinstance(values, np.ndarray):
        return list(values.tolist())
    if isinstance(values, str) or not isinstance(values, Sequence):
        return [values] * n
    return [value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value for value in values]


def colours_of(colour: Any, trace: Mapping[str, Any], marker: Mapping[str, Any]) -> tuple[Any, Any]:
    """(role, opacity) of marks: each one for all, or a list with one for each."""
    whole = 1.0 if trace.get("opacity") is None else float(trace["opacity"])
    given: Any = marker.get("opacity")
    if isinstance(colour, str) and not isinstance(given, (np.ndarray, list)):
        role, alpha = role_of(colour)
        return role, round(alpha * whole * (1.0 if given is None else float(given)), 3)
    n = len(given) if isinstance(colour, str) else len(colour)
    each = [colour] * n if isinstance(colour, str) else list(colour)
    more = list(given) if isinstance(given, (np.ndarray, list)) else [1.0 if given is None else float(given)] * n
    found = [role_of(str(one)) for one in each]
    roles, alphas = (
        [role for role, _ in found],
        [round(alpha * whole * float(own), 3) for (_, alpha), own in zip(found, more, strict=True)],
    )
    return roles, alphas if len(set(alphas)) > 1 else alphas[0] if alphas else 1.0
