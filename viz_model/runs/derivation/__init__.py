"""How any one number of a run was made: every value followed back to where it came from.

>>> derivation = derive(trace, "blocks.0.attn.scores", (1, 4, 2))
>>> [step.formula for step in derivation.steps]
>>> derive(trace, derivation.before[0].site, derivation.before[0].index)

A derivation goes one station back: its operands are cells of named values and entries of weights,
as the run had them, and the arithmetic between is redone in double precision. So it is checked
against the trace at every station, and no error hides behind another.
"""

from __future__ import annotations

from collections.abc import Sequence

from viz_model.runs.derivation import rules
from viz_model.runs.derivation.sources import Run
from viz_model.runs.derivation.steps import (
    SETTINGS,
    WHATS,
    Cell,
    Derivation,
    Earlier,
    Factor,
    Largest,
    Line,
    Operand,
    Origin,
    Setting,
    Sheet,
    Step,
    Terms,
    Weight,
    What,
    operand,
)
from viz_model.runs.trace import Trace

__all__ = [
    "SETTINGS",
    "TOLERANCE",
    "WHATS",
    "Cell",
    "Derivation",
    "Earlier",
    "Factor",
    "Largest",
    "Line",
    "Operand",
    "Origin",
    "Setting",
    "Step",
    "Terms",
    "Weight",
    "What",
    "derive",
]

TOLERANCE = 1e-4


def derive(trace: Trace, name: str, index: Sequence[int]) -> Derivation:
    """How one number of a run was made.

    Args:
        name: a site, as ``trace`` names it or by its full name.
        index: one number from 0 for each of the site's axes.

    Raises:
        ValueError: this model has no such site, or the site no such cell; the message names it.
    """
    run, sheet = Run(trace), Sheet()
    place = run.place(name)
    at = run.index(place, index)
    value = run.value(place, at)
    same_as = rules.write(sheet, run, place, at)
    made = sheet.steps[-1]
    edits = run.edits(place.full)
    if edits and made.result != value and abs(made.result - value) > TOLERANCE * made.size:
        would = Operand(made.symbol, made.result, Earlier(len(sheet.steps) - 1), made.size)
        sheet.write("edit", made.symbol, "@0", (operand(made.symbol, value, Setting("edit")), would), value, abs(value))
    else:
        edits = ()
    return Derivation(
        cell=Cell(place.full, at),
        formula=place.site.formula,
        label=place.site.label,
        role=place.site.role,
        steps=tuple(sheet.steps),
        value=value,
        bound=TOLERANCE * sheet.steps[-1].size,
        kv_head=rules.kv_head(run, place, at),
        edits=edits,
        same_as=None if edits else same_as,
    )
