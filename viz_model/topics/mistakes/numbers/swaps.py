"""Values of a run made by another function, wherever they are made. The model itself is never touched.

A change is made where a run names the value, as interventions are (:mod:`viz_model.runs.edits`): it has the value,
and all that were made before it.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from viz_model.config import ModelConfig, Side
from viz_model.model import ops, sites
from viz_model.model.attention import Attention, Given, Source, scale
from viz_model.model.block import Block
from viz_model.model.positions import of_content, sinks
from viz_model.model.tap import NO_TAP, Tap
from viz_model.model.transformer import Stack
from viz_model.runs.recorder import recorder
from viz_model.runs.trace import Trace

Function = Callable[..., Any]
Seen = Mapping[str, Tensor]
Changes = Mapping[str, Callable[[Tensor, Seen], Tensor]]
"""By the full name of a value [B, …], what makes another of it and of the values before it."""


def call(function: Function, given: Mapping[str, Any]) -> Any:
    """Call a function with those of the arguments that it takes; all, where it takes any."""
    taken = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        return function(**given)
    return function(**{name: given[name] for name in taken})


class Spot(NamedTuple):
    """A block of a run's model."""

    run: Trace
    side: Side
    layer: int

    @property
    def stack(self) -> Stack:
        return self.run.model.stack(self.side)

    @property
    def block(self) -> Block:
        return self.stack.block(self.layer)

    def name(self, short: str) -> str:
        """The full name of a value of the block."""
        return self.run.at(self.side).full_name(f"blocks.{self.layer}.{short}")

    def given(self, x: Tensor, seen: Seen) -> Given:
        """What its attention layers are given beside the stream ``x`` [B, T, D]."""
        bias = self.stack.attn_bias(self.layer, 0, x, self.run.visible.get(self.side))
        source = None
        if self.block.cross is not None:
            source = Source(seen[sites.leaving(self.run.config, "encoder")])
        ids = seen[sites.ids(self.run.config, self.side)]
        return Given(self.stack.position_of(self.layer), bias, source, ids=ids)

    def tap(self) -> Tap:
        """The edits of the run on values of the block, for a part that runs once more."""
        return recorder(self.run.config, self.run.changes).at(self.name("")[:-1])


def spots(run: Trace) -> Iterator[Spot]:
    """All blocks of a run's model."""
    for side in run.config.sides:
        yield from (Spot(run, side, layer) for layer in range(run.config.depth(side)))


def every(run: Trace, endings: Sequence[str], make: Callable[[Tensor], Tensor]) -> Changes:
    """Another value in the place of all whose names end so."""
    names = (name for name in sites.recorded(run.config) if name.endswith(tuple(endings)))
    return {name: lambda value, seen: make(value) for name in names}


def visible(run: Trace, layer: int) -> Tensor:
    """The mask [Tq, Tk] of a layer's self-attention, True where a query may look."""
    return run.head(f"blocks.{layer}.attn.mask", 0) == 0


def attention_arguments(q: Tensor, k: Tensor, bias: Tensor | None, seen: Tensor, config: ModelConfig) -> dict[str, Any]:
    """Whatever a function on the way to the pattern may ask for.

    q [.., Tq, K], k [.., Tk, K], bias [.., Tq, Tk] or None, seen [Tq, Tk]; scores are with the bias, before the mask.
    """
    mask, factor = ops.additive(seen), scale(config)
    scores = ops.cap(ops.scores(q, k, factor), config.score_cap)
    scores = scores if bias is None else scores + bias
    return {
        "q": q,
        "k": k,
        "scale": factor,
        "scores": scores,
        "mask": mask,
        "attn_bias": mask if bias is None else mask + bias,
        "masked": scores + mask,
    }


def with_pattern(run: Trace, layers: Collection[int], function: Function) -> Changes:
    """Another way from q and k to the pattern, in these layers of the run's stack."""
    length, config = len(run), run.config

    def make(layer: int, value: Tensor, seen: Seen) -> Tensor:
        q, k = (seen[name] for name in sites.scored(run.full_name(f"blocks.{layer}.attn"), config))
        scheme, k = run.stack.position_of(layer), ops.share_heads(k, config.n_heads)
        bias = scheme.bias(length, length)
        if bias is None:
            bias = of_content(scheme, q, k, seen[sites.ids(config, run.stack.side)], 0, scale(config))
        given = attention_arguments(q, k, bias, visible(run, layer), config)
        # A function knows the keys alone: what a sink takes of each row, it takes of the function's too.
        kept = value.sum(-1, keepdim=True) if sinks(scheme) else 1.0
        return call(function, given) * kept

    return {run.full_name(f"blocks.{layer}.attn.pattern"): functools.partial(make, layer) for layer in layers}


def norm_of_queries(attention: Attention, letter: str) -> dict[str, Any]:
    """What a function in the place of QK-norm may ask for, of the queries ("q") or the keys ("k")."""
    linear, norm = getattr(attention, letter), getattr(attention.qk_norm, letter)
    return {
        "project": lambda y: ops.split_heads(linear(y), linear.out_features // attention.d_head),
        "unit": lambda y: torch.nn.functional.rms_norm(y, y.shape[-1:], eps=norm.eps),
        "gain": norm.weight,
    }


def with_qk_norm(run: Trace, function: Function) -> Changes:
    """Queries and keys of all self-attention projected and normalised by another function."""

    def make(spot: Spot, letter: str, value: Tensor, seen: Seen) -> Tensor:
        x = spot.block.attn_input(seen[spot.name("resid.in")])
        return call(function, {"x": x, **norm_of_queries(spot.block.attn, letter)})

    letters = ("q", "k")
    return {s.name(f"attn.{one}_normed"): functools.partial(make, s, one) for s in spots(run) for one in letters}


def norm_arguments(norm: Any) -> dict[str, Any]:
    """What a function in the place of a norm with a gain and a shift may ask for beside the vector."""
    return {"gain": norm.weight, "shift": norm.bias, "eps": norm.eps}


def with_norm(run: Trace, function: Function) -> Changes:
    """Another function in the place of every norm of the stream."""

    def make(name: str, norm: Any, value: Tensor, seen: Seen) -> Tensor:
        x = torch.stack([seen[read] for read in sites.norm_reads(name, run.config)]).sum(0)
        return call(function, {"x": x, **norm_arguments(norm)})

    changes = {}
    for at in map(run.at, run.config.sides):
        for name in (name.removesuffix(".out") for name in at.sites if name.endswith(".norm.out")):
            if not name.startswith("head."):
                norm = at.stack.get_submodule(name.removesuffix(".norm") + "_norm")
                changes[at.full_name(f"{name}.out")] = functools.partial(make, at.full_name(name), norm)
    return changes


def reading(spot: Spot, seen: Seen, tap: Tap = NO_TAP) -> Callable[[Tensor, Tensor], Tensor]:
    """Attention [B, T, D] of those who ask to what keys and values are made of."""

    own = spot.block.attn

    def attend(asks: Tensor, sources: Tensor) -> Tensor:
        other = copy.copy(own)
        other.__dict__["keys"] = lambda y, *more, **named: own.keys(sources, *more, **named)
        other.__dict__["values"] = lambda y, *more, **named: own.values(sources, *more, **named)
        return other(asks, spot.given(asks, seen), tap)

    return attend


def with_reading(run: Trace, function: Function) -> Changes:
    """Another choice of what self-attention reads of the stream, in every block."""

    def make(spot: Spot, value: Tensor, seen: Seen) -> Tensor:
        tap, x = spot.tap(), seen[spot.name("resid.in")]
        attention = reading(spot, seen, tap.at("attn"))
        return call(function, {"x": x, "norm": spot.block.attn_norm, "attention": attention})

    return {spot.name("attn.out"): functools.partial(make, spot) for spot in spots(run)}


def with_addition(run: Trace, function: Function) -> Changes:
    """Another way to put norm, sub-layer and addition together: ``function(x, norm, sublayer)``, in every block."""

    def make(spot: Spot, part: str, before: str, value: Tensor, seen: Seen) -> Tensor:
        block, tap, x = spot.block, spot.tap(), seen[spot.name(before)]
        sublayers: dict[str, Function] = {
            "attn": lambda y: block.attend(y, spot.given(y, seen), tap),
            "cross": lambda y: block.attend_source(y, spot.given(y, seen), tap),
            "ffn": lambda y: block.feed_forward(y, spot.given(y, seen), tap),
        }
        return function(x, lambda y: getattr(block, f"{part}_norm")(y, tap.at(f"{part}.norm")), sublayers[part])

    changes = {}
    for spot in spots(run):
        stations = [("attn", "mid"), *([("cross", "cross")] if spot.block.cross is not None else []), ("ffn", "out")]
        before = "resid.in"
        for part, place in stations:
            changes[spot.name(f"resid.{place}")] = functools.partial(make, spot, part, before)
            before = f"resid.{place}"
    return changes


class Remade(NamedTuple):
    """A change, as a recorder takes it."""

    make: Callable[[Tensor, Seen], Tensor]

    def apply(self, value: Tensor, name: str, seen: Seen) -> Tensor:
        return self.make(value, seen)


def padded(run: Trace, n: int) -> tuple[tuple[int, ...], Tensor]:
    """The ids with n of padding behind them, and which of them are padding [T + n].

    What fills the context is cut, so that there is room. Nobody should look at padding, so its id does not matter:
    it is the end of a text where the vocabulary has one, as is usual, or else id 0.
    """
    ids = run.ids[: run.config.n_context - n]
    pad = run.tokenizer.end_of_text or 0
    return (*ids, *(pad for _ in range(n))), torch.arange(len(ids) + n) >= len(ids)


def vectors(run: Trace, changes: Changes) -> Tensor:
    """What the output of a run's model reads at every position, [T, D], with values made anew before its own edits."""
    target = None if run.target_ids is None else torch.tensor([run.target_ids])
    remade: dict[str, Any] = {name: (Remade(make), *run.changes.get(name, ())) for name, make in changes.items()}
    made = run.model.vectors(
        torch.tensor([run.ids]),
        target,
        segments=None if run.segments is None else torch.tensor([run.segments]),
        visible=run.visible,
        tap=recorder(run.config, {**run.changes, **remade}),
    )
    return made[0]


def last_vectors(run: Trace) -> Tensor:
    """What the output of a run read, [T, D]: of an encoder–decoder its decoder's."""
    seen = run.at(run.config.sides[-1])
    return seen[seen.leaving]
