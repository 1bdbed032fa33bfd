r"""How a run would have to change for its loss to fall: the gradient of one token's loss, by every value and weight.

.. math:: L = -\ln p_{\text{target}}

The numbers are autograd's, of one run backward. Any of them is also derived by hand, one station back: the gradient of
a value from the gradients of what was made of it, by the declarations of those (:mod:`viz_model.values.backward`).
"""

import copy
import functools
import math
import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from viz_model.checkpoints import room
from viz_model.config import ModelConfig
from viz_model.model import sites, stored
from viz_model.model.heads import ClassHead
from viz_model.model.tap import NO_TAP, Tap
from viz_model.model.transformer import Transformer
from viz_model.runs.derivation import SMALLEST, TOLERANCE, Cell, Derivation, begin, derive
from viz_model.runs.gradient import Kept, needs_weights, run_again
from viz_model.runs.trace import Trace, counted
from viz_model.values import backward as rules
from viz_model.values.declaration import Site
from viz_model.values.expression import Divide, Expression, Negative, Number
from viz_model.values.leaves import Element, Index, Value, Weight
from viz_model.values.operations import Cases
from viz_model.values.point import Point, Where

NAME = re.compile(r"grad\.(\d+)\.(\d+)\.(.+)")
MOST_IN_DOUBLE = 20_000_000
"""Weights of a model whose loss is measured in double precision: a small step moves it less than single rounds."""


class Step(NamedTuple):
    """All weights a step down: w − rate · ∂L/∂w.

    Attributes:
        predicted: what the loss changes by, were it linear: −rate · ‖∂L/∂w‖².
        measured: what it does change by, of a run with the changed weights.
        loss, probability: of the target, in that run.
    """

    rate: float
    predicted: float
    measured: float
    loss: float
    probability: float


@dataclass(frozen=True, eq=False)
class Gradients:
    """The gradient of one loss by everything that a run made and was made with.

    Attributes:
        position, token: L is −ln of the probability of ``token`` at ``position``; of a class, where there are classes.
        loss: L.
        weights: ∂L/∂w of every weight, by the name that ``model.get_parameter`` knows.
    """

    trace: Trace
    position: int
    token: int
    loss: float
    weights: Mapping[str, Tensor]
    _values: dict[str, Tensor]

    def of(self, site: str) -> Tensor:
        """The gradient by a value, in its shape; ``site`` is as ``trace`` names it.

        Raises:
            KeyError: this model has no such site.
            NoRule: it is not kept by a run, and no derivative of what reads it is declared.
        """
        return self._whole(self._full(site))

    def read(self, name: str) -> Tensor:
        """The gradient by a value or a weight; what is raised is as of :meth:`of`."""
        return self.weights[name] if name in self.weights else self.of(name)

    def _full(self, name: str) -> str:
        return name if name in sites.table(self.trace.config) else self.trace.full_name(name)

    def _whole(self, full: str) -> Tensor:
        if full not in self._values:
            site = sites.find(full, self.trace.config)
            shape = site.length(self.reader.length)
            where: dict[Index, Where] = {}
            for n, index in enumerate(reversed(site.index)):
                where[index] = torch.arange(index.length(self.reader.length)).view(-1, *(1,) * n)
            made = self.site(full).expression.evaluate(Point(where, self.reader)).value.float()
            own = [size for size, axis in zip(shape, site.axes, strict=True) if axis != "1"]
            self._values[full] = made.expand(own).reshape(shape)
        return self._values[full]

    def name(self, name: str) -> str:
        """What the gradient by a value or a weight, given by its full name, is called where cells have names."""
        return f"grad.{self.position}.{self.token}.{name}"

    def site(self, name: str) -> Site:
        """How the gradient by a value or a weight is made, as a declaration; ``name`` is a full name.

        Raises:
            KeyError: there is no such value or weight. NoRule: no derivative of what reads it is declared.
        """
        return declared(self.trace.config, self.position, self.token, name)

    @property
    def reader(self) -> "GradientReader":
        """Cells of this run and of its gradients, for declarations."""
        return GradientReader(self)

    def derive(self, name: str, index: Sequence[int]) -> Derivation:
        """How one number of a gradient was made.

        Args:
            name: a value, as ``trace`` names it, or a weight.
            index: one number from 0 for each axis.

        Raises:
            KeyError: there is no such value or weight. NoRule: no derivative of what reads it is declared.
            ValueError: there is no such number.
        """
        full = name if name in self.weights else self._full(name)
        site, values = self.site(full), self.read(full)
        at, shape = tuple(map(int, index)), tuple(values.shape)
        if len(at) != len(shape) or not all(0 <= i < size for i, size in zip(at, shape, strict=True)):
            raise ValueError(f"index {list(at)} of {full}: expected one number from 0 for each of {list(shape)}")
        working = begin(self.trace, site, _apart(self.trace.config, full, at), self.reader)
        made = rules.settled(site.expression, working.point)
        made.work(working, site.written(working.names))
        steps = tuple(working.sheet.steps)
        same = None
        if isinstance(made, Element):
            same = Cell(made.value.site, tuple(int(i) for i in made.at(working.point)))
        return Derivation(
            cell=Cell(site.full, at),
            formula=site.formula,
            label=site.label,
            role=site.role,
            steps=steps,
            value=float(values[at]),
            bound=max(TOLERANCE * steps[-1].size, SMALLEST),
            same_as=same,
        )

    @functools.cached_property
    def norm(self) -> float:
        """‖∂L/∂w‖², over all weights."""
        return sum(float(one.double().square().sum()) for one in self.weights.values())

    def step(self, rate: float) -> Step:
        """What a step down does to the loss: as predicted, and as a run with the changed weights has it.

        The model stays as it is: the run is of a copy.
        """
        after = _loss_after(self, rate)
        return Step(rate, -rate * self.norm, after - self._loss_before, after, math.exp(-after))

    @functools.cached_property
    def _loss_before(self) -> float:
        """The loss in the precision in which that after a step is measured."""
        return _loss_after(self, 0.0)


def derivation(trace: Trace, name: str, index: Sequence[int]) -> Derivation:
    """How a number of a run was made, or one of a gradient by the name that :meth:`Gradients.name` gave it.

    Raises:
        ValueError: the run has no such value, or of it no such number; or its derivative is not declared.
    """
    asked = NAME.fullmatch(name)
    if asked is None:
        return derive(trace, name, index)
    try:
        return gradients(trace, int(asked[1]), int(asked[2])).derive(asked[3], index)
    except LookupError as unknown:
        raise ValueError(unknown.args[0]) from None


class GradientReader:
    """A :class:`viz_model.values.point.Reader` of a run that knows its gradients too."""

    def __init__(self, gradients: Gradients) -> None:
        self._gradients, self._run = gradients, gradients.trace.whole.reader
        self.length, self.given, self.entries = self._run.length, self._run.given, self._run.entries

    def _own(self, site: str) -> str | None:
        found = NAME.fullmatch(site)
        return found[3] if found else None

    def cells(self, site: str, index: tuple[Where, ...]) -> Tensor:
        if (own := self._own(site)) is None:
            return self._run.cells(site, index)
        value = self._gradients._whole(own)
        # As of a run: a case that does not hold may point outside.
        inside = (
            min(max(i, 0), n - 1) if isinstance(i, int) else i.clamp(0, n - 1)
            for i, n in zip(index, value.shape, strict=True)
        )
        return value[tuple(inside)]

    def rounding(self, site: str, index: tuple[Where, ...]) -> Tensor:
        return self.cells(site, index).abs() if self._own(site) else self._run.rounding(site, index)


def gradients(trace: Trace, position: int = -1, token: int | None = None) -> Gradients:
    """The gradient of −ln p(token) after ``position``, by every value and weight of a run.

    Args:
        position: counted from the end where it is negative; of a model that says which class, it does not matter.
        token: the id of the target; by default the one that stands next in the text, or after the last one the most
            probable. Of a model of classes, the number of one.

    Raises:
        IndexError: no such position, or no such token.
        ValueError: the model predicts nothing, interventions have put other numbers into the run, or the gradients
            take more memory than is free.
    """
    needs_weights(trace, "gradients")
    trace = trace.at(trace.config.sides[-1])
    config = trace.config
    if not config.has_logits and not config.classes:
        raise ValueError("gradients: this model predicts nothing, so nothing is lost")
    if trace.changes:
        raise ValueError("gradients: interventions have put other numbers into this run")
    position = 0 if config.classes else counted("position", position, len(trace))
    known = trace["class.probs"] if config.classes else trace.row("probs", position)
    if token is None:
        follows = trace.own_ids[position + 1 :] if config.kind != "encoder" else trace.own_ids[position:]
        token = follows[0] if follows and not config.classes else int(known.argmax())
    token = counted("token", token, len(known))
    _check_room(trace.model)
    kept = Kept(trace)
    model = _copied(trace.model, {name: _leaf(one) for name, one in trace.model.named_parameters()})
    with torch.inference_mode(False), torch.enable_grad():
        leaving = run_again(model, trace, kept)
        logits = _logits(model, leaving, position, kept)
    values = _at_end(config, len(trace), position, token, known)
    begins = values["class.logits"] if config.classes else values["logits"][position]
    parameters = dict(model.named_parameters())
    wanted = {name: value for name, value in kept.values.items() if value.requires_grad}
    # From the run's own probabilities on: those of another kernel differ in the last digits.
    made = torch.autograd.grad(logits, [*wanted.values(), *parameters.values()], begins, materialize_grads=True)
    values |= {name: one[0] for name, one in zip(wanted, made, strict=False)}
    weights = dict(zip(parameters, made[len(wanted) :], strict=True))
    return Gradients(trace, position, token, -math.log(known[token]), weights, values)


def lacking(model: Transformer) -> room.Room | None:
    """The bytes that gradients of a model take and those that are free, where these are too few; None where they do.

    A gradient for every weight, as much again while they are made, and of a model in 16 bits its weights in single
    precision.
    """
    own, free = 8 if stored.running(model) is model else 12, room.available()
    needed = own * sum(weight.numel() for weight in model.parameters())
    return room.Room(needed, free) if free is not None and needed > free and not os.environ.get(room.ANYWAY) else None


def _check_room(model: Transformer) -> None:
    if (found := lacking(model)) is not None and found.free is not None:
        there = f"{found.free / 1e9:.1f} GB are free"
        raise ValueError(f"gradients: they take {found.needed / 1e9:.1f} GB of memory, and {there}")


def _leaf(weight: Tensor) -> nn.Parameter:
    """The same numbers in single precision, in the same memory where they are, whose gradient is nobody else's."""
    own = stored.single(weight.detach())
    return nn.Parameter(own.clone() if own.is_inference() else own)


def _copied(model: Transformer, weights: Mapping[str, nn.Parameter], dtype: torch.dtype = torch.float32) -> Transformer:
    """The model with other weights; itself it is left alone, for others run it meanwhile."""
    own = stored.running(model)
    with torch.inference_mode(False):
        made = copy.deepcopy(own, {id(one): weights[name] for name, one in own.named_parameters()})
        return made.eval().to("cpu", dtype)


def _logits(model: Transformer, leaving: Tensor, position: int, tap: Tap = NO_TAP) -> Tensor:
    """The logits at a position, [V], or of the classes."""
    head = model.head
    if isinstance(head, ClassHead):
        return head(leaving)[0]
    before = head.before(leaving, tap)
    assert head.unembedding is not None
    raw = head.unembedding(before[0, position])
    return raw if head.cap is None else head.cap * (raw / head.cap).tanh()


def _at_end(config: ModelConfig, length: int, position: int, token: int, probs: Tensor) -> dict[str, Tensor]:
    """The gradient by logits and probabilities: p − y, and −1/p at the target."""
    logits, ends = probs.clone(), torch.zeros_like(probs)
    logits[token] -= 1
    ends[token] = -1 / probs[token]
    if config.classes:
        return {"class.logits": logits, "class.probs": ends}
    rows = {"logits": logits, "probs": ends}
    found = {name: torch.zeros(length, len(probs)) for name in rows}
    for name, row in rows.items():
        found[name][position] = row
    return found


@torch.no_grad()
def _loss_after(found: Gradients, rate: float) -> float:
    """The loss of a run whose weights are a step further down."""
    weights = dict(found.trace.model.named_parameters())
    wide = sum(one.numel() for one in weights.values()) <= MOST_IN_DOUBLE
    dtype = torch.float64 if wide else torch.float32
    moved = {
        name: nn.Parameter(one.to("cpu", dtype) - rate * found.weights[name].to(dtype), requires_grad=False)
        for name, one in weights.items()
    }
    model = _copied(found.trace.model, moved, dtype)
    with torch.inference_mode(False), torch.no_grad():
        logits = _logits(model, run_again(model, found.trace), found.position)
    return float(-logits.log_softmax(-1)[found.token])


# Declarations


@functools.cache
def _readers(config: ModelConfig) -> Mapping[Value | Weight, tuple[Site, ...]]:
    """Who reads each value and each weight."""
    found: defaultdict[Value | Weight, list[Site]] = defaultdict(list)
    for site in sites.declare(config):
        reads: tuple[Value | Weight, ...] = (*site.reads, *site.weights)
        for read in reads:
            found[read].append(site)
    return {read: tuple(own) for read, own in found.items()}


@functools.lru_cache(maxsize=4096)
def declared(config: ModelConfig, position: int, token: int, name: str) -> Site:
    """The gradient by a value or a weight as a declared value; ``name`` is the full name of that."""
    readers, prefix = _readers(config), f"grad.{position}.{token}."
    weight = next((one for one in readers if isinstance(one, Weight) and one.name == name), None)

    def upstream(full: str) -> Value:
        site = sites.table(config)[full]
        return Value(prefix + full, site.axes, rf"\mathrm{{d}}{site.symbol}")

    if weight is not None:
        index = rules.letters(weight)
        return Site(
            full=prefix + name, name=name, axes=tuple(one.axis for one in index), index=index,
            expression=rules.gradient(weight, index, readers[weight], upstream),
            label=name, role="output", symbol=rf"\mathrm{{d}}{weight.symbol}",
        )  # fmt: skip
    site = sites.find(name, config)
    made = _at_target(site, position, token)
    if made is None:
        made = rules.gradient(site.value, site.index, readers.get(site.value, ()), upstream)
    return replace(site, full=prefix + name, expression=made, symbol=rf"\mathrm{{d}}{site.symbol}", lines=None)


def _at_target(site: Site, position: int, token: int) -> Expression | None:
    """Where the way back begins: of logits p − y, of probabilities −1/p; None of all others."""
    if site.full not in ("logits", "probs", "class.logits", "class.probs"):
        return None
    *where, w = site.index
    probs = Value(site.full.replace("logits", "probs"), site.axes, "p")[site.index]
    is_target = w.equals(token)
    made: Expression = Cases(is_target, Negative(Divide(Number(1), probs)), Number(0))
    if site.full.endswith("logits"):
        made = Cases(is_target, probs - 1, probs)
    return Cases(where[0].equals(position), made, Number(0)) if where else made


def _apart(config: ModelConfig, full: str, at: tuple[int, ...]) -> tuple[int, ...]:
    """An index into a stored weight, as one number for each of its axes; that of a value as it is."""
    weight = next((one for one in _readers(config) if isinstance(one, Weight) and one.name == full), None)
    if weight is None:
        return at
    found: list[int] = []
    for n, sizes in zip(at, weight.sizes, strict=True):
        own: list[int] = []
        for size in reversed(sizes):
            own.insert(0, n % size)
            n //= size
        found += own
    return tuple(found)
