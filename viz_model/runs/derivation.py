"""How any one number of a run was made: every value followed back to where it came from.

>>> derivation = derive(trace, "blocks.0.attn.scores", (1, 4, 2))
>>> [step.formula for step in derivation.steps]
>>> derive(trace, derivation.before[0].site, derivation.before[0].index)

A derivation goes one station back: its operands are cells of named values and entries of weights,
as the run had them, and the arithmetic between is redone in double precision, by the value's own
declaration. So it is checked against the trace at every station, and no error hides behind another.
"""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from viz_model.model import sites, stored
from viz_model.runs.edits import Edit
from viz_model.runs.trace import Trace
from viz_model.tokenizers.patches import PatchTokenizer
from viz_model.tokenizers.text import spelled
from viz_model.values.declaration import Site
from viz_model.values.leaves import Element
from viz_model.values.point import Reader
from viz_model.values.steps import (
    SETTINGS,
    WHATS,
    Cell,
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
from viz_model.values.working import Working

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

SMALLEST = torch.finfo(torch.float32).tiny
"""Below it single precision has fewer digits, then none: e^−200 is 0 in a run."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Derivation:
    """How one number of a run was made.

    Attributes:
        cell: which number; its site is a full name.
        formula: LaTeX of the whole site, from the registry, where ``label`` and ``role`` come from too.
        steps: in order; the last one makes the number.
        value: the number in the trace, in single precision.
        bound: how far the two may lie apart: 1e-4 of the last step's ``size``, or :data:`SMALLEST`. A sum of n terms
            rounds by about √n·6e-8 of the sum of their magnitudes, and what the run fused (softmax
            with the mixing of values) does so a few times over. Of a run in 16 bits it is a few of their steps.
        kv_head: the key–value head that a query head shares with others, where it reads one.
        edits: the interventions that put another number here; the last step then is "edit", and
            the step before holds what the run would have had.
        same_as: a cell that is this very number, by the model's construction.
    """

    cell: Cell
    formula: str
    label: str
    role: str
    steps: tuple[Step, ...]
    value: float
    bound: float
    kv_head: int | None = None
    edits: tuple[Edit, ...] = ()
    same_as: Cell | None = None

    @property
    def result(self) -> float:
        """What the last step makes, in double precision."""
        return self.steps[-1].result

    @property
    def difference(self) -> float:
        """``result`` − ``value``: rounding; 0 where both are −∞, or both no number."""
        is_same = self.result == self.value or (math.isnan(self.result) and math.isnan(self.value))
        return 0.0 if is_same else self.result - self.value

    @property
    def agrees(self) -> bool:
        """Whether the trace's number is the one that the steps make."""
        return self.difference == 0 or abs(self.difference) <= self.bound

    @property
    def before(self) -> tuple[Cell, ...]:
        """The cells that enter as numbers of their own, each once: where one can walk on.

        Those of long sums are not listed: ``step.terms.term(n)`` names them.
        """
        found = (o.origin for step in self.steps for o in step.operands if isinstance(o.origin, Cell))
        return tuple(dict.fromkeys(found))


def tolerance(trace: Trace) -> float:
    """How far a number of a run may lie from what its derivation makes, of the magnitudes that are summed."""
    dtype = stored.dtype_of(trace.model)
    return TOLERANCE if dtype == torch.float32 else 4 * torch.finfo(dtype).eps


def derive(trace: Trace, name: str, index: Sequence[int]) -> Derivation:
    """How one number of a run was made.

    Args:
        name: a site, as ``trace`` names it or by its full name.
        index: one number from 0 for each of the site's axes.

    Raises:
        ValueError: this model has no such site, or the site no such cell; the message names it.
    """
    site = _site(trace, name)
    at = _index(trace, site, index)
    value = trace.whole.reader.cells(site.full, at).item()
    working = begin(trace, site, at, trace.whole.reader)
    sheet, symbol = working.sheet, site.written(working.names)
    if site.full.endswith(".attn.mask") and _mask_of_its_own(trace, site):
        seen = tuple(working.index(letter) for letter in site.index[1:])
        shown = "0" if value == 0 else r"-\infty"
        sheet.write("mask", symbol, shown, seen, value, 0.0, visible=value == 0, drawn=True)
    else:
        site.expression.work(working, symbol)
    made = sheet.steps[-1]
    edits = trace.changes.get(site.full, ())
    if edits and made.result != value and abs(made.result - value) > tolerance(trace) * made.size:
        would = Operand(made.symbol, made.result, Earlier(len(sheet.steps) - 1), made.size)
        sheet.write("edit", made.symbol, "@0", (operand(made.symbol, value, Setting("edit")), would), value, abs(value))
    else:
        edits = ()
    return Derivation(
        cell=Cell(site.full, at),
        formula=site.placed_formula,
        label=site.label,
        role=site.role,
        steps=tuple(sheet.steps),
        value=value,
        bound=max(tolerance(trace) * sheet.steps[-1].size, SMALLEST),
        kv_head=_kv_head(trace, site, at),
        edits=edits,
        same_as=None if edits else _same(site, at, working),
    )


def begin(trace: Trace, site: Site, at: Sequence[int], reader: Reader) -> Working:
    """An empty sheet for one cell of a declared value."""
    where = dict(zip(site.index, at, strict=False))
    return Working(Sheet(), where, reader, lambda given, id: _token(trace, given, id), site.letters)


def _site(trace: Trace, name: str) -> Site:
    known = sites.table(trace.config)
    try:
        return sites.find(name if name in known else trace.full_name(name), trace.config)
    except KeyError as unknown:
        raise ValueError(unknown.args[0]) from None


def _index(trace: Trace, site: Site, index: Sequence[int]) -> tuple[int, ...]:
    shape = site.length(trace.whole.reader.length)
    found = tuple(operator.index(i) for i in index)
    if len(found) != len(shape) or not all(0 <= i < size for i, size in zip(found, shape, strict=True)):
        axes = ", ".join(f"{axis} {size}" for axis, size in zip(site.axes, shape, strict=True))
        raise ValueError(f"index {list(found)} of {site.full}: expected one number from 0 for each of [{axes}]")
    return found


def _mask_of_its_own(trace: Trace, site: Site) -> bool:
    """Whether the run had a mask that somebody drew, in place of the model's."""
    return (sites.split_side(site.full)[0] or trace.config.sides[-1]) in trace.visible


def _token(trace: Trace, given: str, id: int) -> Mapping[str, str | int | float | bool]:
    tokenizer = trace.tokenizer.at("decoder" if given == "decoder.ids" else trace.config.sides[0])
    token = tokenizer.token(id)
    if isinstance(tokenizer, PatchTokenizer):
        return {"text": token.label}
    return {"bytes": spelled(token.bytes), "text": token.label, "control": id in tokenizer.controls}


def _kv_head(trace: Trace, site: Site, index: tuple[int, ...]) -> int | None:
    """The shared key–value head behind a cell of a query head."""
    reads_one = site.name.rpartition(".")[2] in ("scores", "capped", "masked", "pattern", "z")
    side, name = sites.split_side(site.full)
    layer, _ = sites.split_name(name)
    if not reads_one or layer is None:
        return None
    own = trace.config.of_layer(side or trace.config.sides[-1], layer)
    return own.kv_head(index[0]) if own.n_kv_heads < own.n_heads else None


def _same(site: Site, index: tuple[int, ...], working: Working) -> Cell | None:
    """The cell that is this very number, where the declaration says no more than its name."""
    if not isinstance(site.expression, Element):
        return None
    return Cell(site.expression.value.site, tuple(int(i) for i in site.expression.at(working.point)))
