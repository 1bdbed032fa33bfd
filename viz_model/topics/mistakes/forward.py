"""A function of the forward pass in another's place: on a run's own numbers, and in the whole model.

The model that is loaded is never changed: values are made anew where a run names them, as interventions are
(:mod:`viz_model.runs.edits`), of all that was made before them.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from viz_model.island.look import Look
from viz_model.model import masks, sites
from viz_model.model.attention import Given, Source
from viz_model.model.block import Block
from viz_model.model.norms import RMSNorm
from viz_model.model.tap import Tap
from viz_model.runs import measures
from viz_model.runs.edits import NoNorm
from viz_model.runs.recorder import recorder
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.mistakes import right, wrong

Function: TypeAlias = Callable[..., Any]
LEAST, ROWS = 3, 32
"""Tokens that a text must have, because with fewer right and wrong often come to the same; positions whose logits are
made at once.
"""


@dataclass(frozen=True)
class Here:
    """A value of a run that a function is to make, and what it may be made of.

    Attributes:
        run: seen from the value's stack.
        name: as the run has it.
        value: what the model makes there; none has a batch here.
        made: a value made before it, by its full name.
        draws: where random numbers come from.
    """

    run: Trace
    name: str
    value: Tensor
    made: Callable[[str], Tensor]
    draws: torch.Generator

    @classmethod
    def of_run(cls, run: Trace, name: str) -> Here:
        return cls(run, name, run[name], run.whole.__getitem__, torch.Generator().manual_seed(0))

    @property
    def layer(self) -> int:
        return int(self.name.split(".")[1])

    @property
    def block(self) -> Block:
        return self.run.stack.block(self.layer)

    def get(self, name: str) -> Tensor:
        """Another value of the block."""
        return self.made(self.run.full_name(f"blocks.{self.layer}.{name}"))

    def given(self, x: Tensor) -> Given:
        """What attention is given beside the stream ``x`` [1, T, D]."""
        run, stack = self.run, self.run.stack
        bias = stack.attn_bias(self.layer, 0, x, run.visible.get(stack.side))
        crosses = self.block.cross is not None
        source = Source(self.made(sites.leaving(run.config, "encoder"))[None]) if crosses else None
        read = run.config.source_of(stack.side, self.layer)
        shared = {}
        if read is not None:
            at = run.full_name(f"blocks.{read}.attn.v").removesuffix(".v")
            shared[read] = self.made(sites.scored(at, run.config)[1])[None], self.made(f"{at}.v")[None]
        return Given(stack.position_of(self.layer), bias, source, shared=shared)

    def tap(self, part: str = "") -> Tap:
        """The run's own edits, for the block, or a part of it, that runs once more."""
        at = self.run.full_name(f"blocks.{self.layer}.{part}").removesuffix(".")
        return recorder(self.run.config, self.run.changes).at(at)


def _is_affine_norm(run: Trace, layer: int) -> bool:
    """Whether the norms take off a mean, divide by a scale, and have a gain and a shift."""
    at = f"blocks.{layer}.attn.norm"
    return all(f"{at}.{name}" in run for name in ("mean", "scale")) and len(run.site(f"{at}.out").weights) == 2


def _has_norms_and_additions(run: Trace, layer: int) -> bool:
    """Whether a block is as the pairs have it: one norm, one sub-layer, one addition."""
    config = run.config
    is_other = config.parallel or config.norm_at in ("branch", "both")
    return not is_other and config.residual and config.norm != NoNorm.changes["norm"]


def _is_norm_of_heads(run: Trace, layer: int) -> bool:
    """Whether every head's queries and keys have an RMSNorm of their own."""
    norm = run.stack.block(layer).attn.qk_norm
    return norm is not None and not norm.over_heads and isinstance(norm.q, RMSNorm)


NEEDS: Mapping[str, Callable[[Trace, int], bool]] = {
    "long": lambda run, layer: len(run) >= LEAST,
    "causal": lambda run, layer: run.mask(layer).equal(masks.causal(len(run), len(run))),
    "two_way": lambda run, layer: bool(run.mask(layer).all()) and run.stack.side == "encoder",
    "scaled": lambda run, layer: run.config.divides_by_root and run.config.score_cap is None,
    "uncapped": lambda run, layer: run.config.score_cap is None,
    "heads": lambda run, layer: run.config.n_heads > 1,
    "waves": lambda run, layer: getattr(run.config.position, "layout", "") == "interleaved",
    "layer_norm": _is_affine_norm,
    "qk": _is_norm_of_heads,
    "words": lambda run, layer: not isinstance(run.tokenizer, IdTokenizer),
    "added": _has_norms_and_additions,
    "pre": lambda run, layer: run.norm_at == "pre",
    "predicts": lambda run, layer: "logits" in run and run.stack.side == "decoder",
    "tied": lambda run, layer: "logits" in run and run.config.tie_embeddings,
}
"""What a layer of a run may lack for a pair, by the key of the words that say so."""


@dataclass(frozen=True)
class View:
    """Where a pair is looked at.

    Attributes:
        there: at the run that the pair is computed on.
        fixed: which entries of tables over ``there`` are meant, where they are not those of the selection.
    """

    there: Look
    fixed: Mapping[str, Any]

    @property
    def run(self) -> Trace:
        return self.there.trace

    @property
    def outputs(self) -> str:
        """The axis of what is said of every position of the output: none, where only the last one is meant."""
        return "" if self.run.stack.side != self.run.config.sides[-1] else "token"

    def by(self, axes: str, values: Any, write: str = "", **more: Any) -> Any:
        """A table of values of ``there``."""
        fixed = {axis: self.fixed[axis] for axis in axes.split() if axis in self.fixed}
        return self.there.by(axes, values, write, **fixed, **more)

    @property
    def numbers(self) -> dict[str, Any]:
        """The layer and the head that are looked at, for words."""
        counts = {"layer": self.there.layers, "head": range(self.there.n_heads)}
        return {axis: self.by(axis, np.array(held), "whole") for axis, held in counts.items()}

    def of_output(self, values: np.ndarray, write: str = "") -> Any:
        """A table of values [T, …] of the output's positions."""
        return self.by("token", values, write) if self.outputs else self.there.by("", values[-1], write)


@dataclass(frozen=True)
class Bug:
    """A pair of functions of one name, of which one is wrong: a small change of the forward pass.

    Attributes:
        name: of both functions, in :mod:`.right` and :mod:`.wrong`.
        site: the value that the right one makes; ``{layer}`` is the block's number.
        given: the arguments by name, more than a function takes.
        needs: what a run must have, of :data:`NEEDS`.
        reads: the argument that is drawn before there is an answer; "" draws none.
        shown: what comes of it: a matrix, of each token a loss, of each position the likeliest tokens, or a reply.
        read: makes of what a function gave what the run holds.
        also: endings of the names of other values that the function makes in the model.
        is_in_model: whether the function is a part of the forward pass.
        on: the run whose numbers both are given; by default the run itself.
        traced: what the run has in a layer in place of the right one's result; by default ``site``, None for nothing.
        facts: numbers for its words, of what both gave in every layer that is held.
        effect: what the model says with the wrong one, where that is no change of single values.
        function: the name of both functions, where it depends on the model.
    """

    name: str
    site: str
    given: Callable[[Here], dict[str, Any]]
    needs: tuple[str, ...] = ("long",)
    reads: str = ""
    shown: Literal["matrix", "loss", "likeliest", "reply"] = "matrix"
    read: Callable[[Here, Any], Any] = lambda here, made: made
    also: tuple[str, ...] = ()
    is_in_model: bool = True
    on: Callable[[Trace], Trace] = lambda run: run
    traced: Callable[[Trace, int], Tensor | None] | None = None
    facts: Callable[[View, Any, Any], Mapping[str, Any]] = lambda view, right, wrong: {}
    effect: Callable[[Trace, Function], Effect] | None = None
    function: Callable[[Trace], str] | None = None

    @property
    def is_of_block(self) -> bool:
        return "{layer}" in self.site

    def lacks(self, run: Trace, layer: int) -> str | None:
        """What a layer of a run lacks for it; None where it has everything."""
        return next((need for need in self.needs if not NEEDS[need](run, layer)), None)

    def functions(self, run: Trace) -> tuple[Function, Function]:
        """The right one and the wrong one."""
        name = self.name if self.function is None else self.function(run)
        return getattr(right, name), getattr(wrong, name)

    def promise(self, run: Trace) -> str:
        """What both functions are for."""
        return inspect.getdoc(self.functions(run)[0]) or ""

    def sources(self, run: Trace) -> tuple[str, str]:
        """The lines of both without what they promise: what is shown is what is run."""
        first, second = map(_lines, self.functions(run))
        return first, second

    def here(self, run: Trace, layer: int) -> Here:
        """Where both functions are run on the numbers of a run."""
        return Here.of_run(self.on(run), self.site.format(layer=layer))

    def made(self, run: Trace, layer: int, function: Function) -> Any:
        """What a function makes there, as the run holds it; or the error that it stops with."""
        here = self.here(run, layer)
        with torch.inference_mode():
            try:
                return self.read(here, call(function, self.given(here)))
            except IndexError as error:
                return error

    def gap(self, run: Trace, layer: int, made: Any) -> float:
        """max |made − what the run has|; NaN where the run has nothing of the kind."""
        traced = run[self.site.format(layer=layer)] if self.traced is None else self.traced(run, layer)
        if traced is None:
            return math.nan
        value = torch.as_tensor(made, dtype=torch.float32)
        rows = (..., slice(traced.shape[-2]), slice(None)) if traced.dim() > 1 else ...
        return (value[rows] - traced).abs().max().item()


def call(function: Function, given: Mapping[str, Any]) -> Any:
    """Call a function with those of the arguments that it takes."""
    return function(**{name: given[name] for name in inspect.signature(function).parameters})


def _lines(function: Function) -> str:
    source = inspect.getsource(function)
    (made,) = ast.parse(source).body
    assert isinstance(made, ast.FunctionDef)
    lines = source.splitlines()
    if ast.get_docstring(made) is not None:
        del lines[made.body[0].lineno - 1 : made.body[0].end_lineno]
    return "\n".join(lines)


class Remade(NamedTuple):
    """A change, as a recorder takes it."""

    make: Callable[[Tensor, Mapping[str, Tensor]], Tensor]

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        return self.make(value, seen)


def changes(bug: Bug, run: Trace, function: Function, seed: int = 1) -> dict[str, Remade]:
    """A function in every place of the model where it belongs, by the full names of the values that it makes."""
    endings, draws = (bug.site.removeprefix("blocks.{layer}."), *bug.also), torch.Generator().manual_seed(seed)
    found = {}

    def make(at: Trace, name: str, value: Tensor, seen: Mapping[str, Tensor]) -> Tensor:
        here = Here(at, name, value[0], lambda other: seen[other][0], draws)
        made: Tensor = bug.read(here, call(function, bug.given(here)))
        return made[None]

    for at in map(run.at, run.config.sides):
        for name in at.sites:
            is_made = name.endswith(".pattern") or at.full_name(name) in sites.recorded(run.config)
            is_there = name.endswith(endings) and not name.startswith("head.")
            if is_there and is_made and ("causal" not in bug.needs or NEEDS["causal"](at, int(name.split(".")[1]))):
                found[at.full_name(name)] = Remade(partial(make, at, name))
    return found


@torch.inference_mode()
def vectors(run: Trace, remade: Mapping[str, Remade]) -> Tensor:
    """What the output of a run's model reads at every position, [T, D], with values made anew before its own edits."""
    target = None if run.target_ids is None else torch.tensor([run.target_ids])
    every: dict[str, Any] = {name: (made, *run.changes.get(name, ())) for name, made in remade.items()}
    made = run.model.vectors(
        torch.tensor([run.ids]),
        target,
        segments=None if run.segments is None else torch.tensor([run.segments]),
        visible=run.visible,
        tap=recorder(run.config, {**run.changes, **every}),
    )
    return made[0]


def last_vectors(run: Trace) -> Tensor:
    """What the output of a run read, [T, D]: of an encoder–decoder its decoder's."""
    seen = run.at(run.config.sides[-1])
    return seen[seen.leaving]


class Effect(NamedTuple):
    """What the whole model says at every position of its output, right and with the bug everywhere; each [T].

    ``before`` and ``after`` are the likeliest tokens, −1 of a model without logits, with their probabilities.
    ``change`` is KL(right ‖ wrong) in bits, and without logits ‖difference‖ / ‖right‖ of the vectors; it is NaN where
    the bug leaves no number.
    """

    before: Any
    before_share: Any
    after: Any
    after_share: Any
    change: Any


def effect(bug: Bug, run: Trace) -> Effect | None:
    """Run the model with the wrong function in it; None where no forward pass has it."""
    _, function = bug.functions(run)
    if bug.effect is not None:
        return bug.effect(run, function)
    return effect_of(run, last_vectors(run), vectors(run, changes(bug, run, function))) if bug.is_in_model else None


@torch.inference_mode()
def effect_of(run: Trace, before: Tensor, after: Tensor) -> Effect:
    """What two last vectors [T, D] say at every position."""
    if run.config.has_logits:
        pairs = zip(before.split(ROWS), after.split(ROWS), strict=True)
        return joined([of_logits(*(run.model.head(x[None])[0] for x in pair)) for pair in pairs])
    change = ((after - before).norm(dim=-1) / before.norm(dim=-1)).numpy()
    nothing = np.full(len(change), -1)
    return Effect(nothing, change * 0, nothing, change * 0, np.where(np.isfinite(change), change, np.nan))


def joined(parts: list[Effect]) -> Effect:
    return Effect(*map(np.concatenate, zip(*parts, strict=True)))


def of_logits(before: Tensor, after: Tensor) -> Effect:
    """The same of two sets of logits [T, V]."""
    logs = [one.double().log_softmax(-1) for one in (before, after)]
    ids, shares = ([log.argmax(-1).numpy() for log in logs], [log.amax(-1).exp().numpy() for log in logs])
    return Effect(ids[0], shares[0], ids[1], shares[1], measures.divergence(*logs).numpy())
