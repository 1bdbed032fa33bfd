"""Both functions of a bug run on the same tensors, and the whole model with the wrong one in it."""

from __future__ import annotations

import ast
import inspect
import math
from typing import Any

import torch
from torch import Tensor

from viz_model.runs import measures
from viz_model.runs.trace import Trace
from viz_model.topics.mistakes.numbers import right, swaps, wrong
from viz_model.topics.mistakes.numbers.bug import INPUTS, Bug, Place, of_run
from viz_model.topics.mistakes.numbers.results import Effect, Matrix, Outcome, difference, matrix
from viz_model.topics.mistakes.numbers.swaps import Function, call


def promise(bug: Bug, place: Place) -> str:
    """What both functions are for: the docstring of the right one."""
    return inspect.getdoc(getattr(right, bug.function_name(place))) or ""


def sources(bug: Bug, place: Place) -> tuple[str, str]:
    """The lines of the right function and of the wrong one, without what both promise: what is shown is what is run."""
    name = bug.function_name(place)
    return _lines(getattr(right, name)), _lines(getattr(wrong, name))


def _lines(function: Function) -> str:
    source = inspect.getsource(function)
    (made,) = ast.parse(source).body
    assert isinstance(made, ast.FunctionDef)
    lines = source.splitlines()
    if ast.get_docstring(made) is not None:
        del lines[made.body[0].lineno - 1 : made.body[0].end_lineno]
    return "\n".join(lines)


@torch.inference_mode()
def given(bug: Bug, place: Place) -> Matrix | None:
    """What both functions are given first, where it is a matrix."""
    return matrix(bug.given(place)[bug.reads][: len(place.trace)], *INPUTS[bug.reads]) if bug.reads else None


@torch.inference_mode()
def outcome(bug: Bug, place: Place) -> Outcome:
    """Run both functions on the same tensors, and the model with the wrong one in it.

    Raises:
        ValueError: the run lacks what the bug needs.
    """
    if (lack := bug.lacks(place)) is not None:
        raise ValueError(f"{bug.name}: this run lacks what it needs ({lack})")
    name = bug.function_name(place)
    # Arguments anew for each: a generator would go on where the other function left it.
    values = [_attempt(bug, place, getattr(module, name)) for module in (right, wrong)]
    first, second = (bug.result(place, value) for value in values)
    traced = of_run(place, bug.site_of(place)) if bug.traced is None else bug.traced(place)
    largest, at, relative = difference(first, second)
    return Outcome(
        right=first,
        wrong=second,
        largest=largest,
        at=at,
        relative=relative,
        n_lost=int(second.is_lost.sum()) if isinstance(second, Matrix) else 0,
        gap=None if traced is None else _gap(values[0], traced),
        effect=_effect(bug, place, getattr(wrong, name)),
        facts=bug.facts(place, *values),
    )


def _attempt(bug: Bug, place: Place, function: Function) -> Any:
    """What a function gives, as the run holds it; or what it stops with."""
    try:
        return bug.read(place, call(function, bug.given(place)))
    except IndexError as error:
        return error


def _gap(made: Any, traced: Tensor) -> float:
    """max |made − traced| over the rows that the run has."""
    value = torch.as_tensor(made, dtype=torch.float32)
    value = value[: len(traced)] if value.dim() else value
    return (value - traced).abs().max().item()


def _effect(bug: Bug, place: Place, function: Function) -> Effect | None:
    if bug.effect is not None:
        return bug.effect(place, function)
    if bug.changed is None:
        return None
    run = place.trace
    return effect(run, swaps.last_vectors(run), swaps.vectors(run, bug.changed(place, function)), place.output)


def effect(run: Trace, before: Tensor, after: Tensor, position: int) -> Effect:
    """What two last vectors [T, D] say at a position."""
    if not run.config.has_logits:
        gap = ((after[position] - before[position]).norm() / before[position].norm()).item()
        return Effect(None, None, gap if math.isfinite(gap) else math.nan)
    return effect_of_logits(run, *(run.model.head(x[None, position : position + 1])[0, 0] for x in (before, after)))


def effect_of_logits(run: Trace, before: Tensor, after: Tensor) -> Effect:
    """The same of two rows of logits [V]."""
    logs = [row.double().log_softmax(-1) for row in (before, after)]
    tops = [(run.tokenizer.token(int(log.argmax())), log.max().exp().item()) for log in logs]
    bits = measures.divergence(*logs).item()
    return Effect(tops[0], None if math.isnan(bits) else tops[1], bits)
