"""The pairs of a block: its first norm, a norm with a sub-layer and the addition, and dropout."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from viz_model.topics.mistakes.numbers import swaps, wrong
from viz_model.topics.mistakes.numbers.attention import P_DROPOUT
from viz_model.topics.mistakes.numbers.bug import Bug, Place
from viz_model.topics.mistakes.numbers.swaps import Changes, Function, call


def _given_norm(place: Place) -> dict[str, Any]:
    read = place.trace.norm_input(place.at("attn.norm"))
    return {"x": read, **swaps.norm_arguments(place.trace.stack.block(place.layer).attn_norm)}


def _facts_of_norm(place: Place, right: Tensor, wrong: Tensor) -> dict[str, str]:
    width = place.trace.config.d_model
    return {"width": str(width), "factor": f"{math.sqrt((width - 1) / width):.5f}"}


# A sub-layer, its norm and the addition: here the block's feed-forward.


def _given_sublayer(place: Place) -> dict[str, Any]:
    block = place.trace.stack.block(place.layer)
    before = next(name for name in ("resid.cross", "resid.mid") if place.at(name) in place.trace)
    return {"x": place.trace[place.at(before)], "norm": block.ffn_norm, "sublayer": block.ffn}


def _lengths(place: Place, right: Tensor, wrong: Tensor) -> dict[str, str]:
    length, wrong_length = (made.norm(dim=-1).mean().item() for made in (right, wrong))
    return {"length": f"{length:.1f}", "wrong_length": f"{wrong_length:.1f}"}


def _with_addition(place: Place, function: Function) -> Changes:
    return swaps.with_addition(place.trace, function)


# What attention reads of the stream: with the norm before it, everybody's normalised vector.


def _given_stream(place: Place) -> dict[str, Any]:
    run, block = place.trace, place.trace.stack.block(place.layer)
    attend = swaps.reading(swaps.Spot(run, run.stack.side, place.layer), run.values)

    def attention(asks: Tensor, sources: Tensor) -> Tensor:
        return attend(asks[None], sources[None])[0]

    return {"x": run[place.at("resid.in")], "norm": block.attn_norm, "attention": attention}


# What a sub-layer adds, while the model answers.


def _drawing(seed: int) -> dict[str, Any]:
    return {"p": P_DROPOUT, "training": False, "numbers": torch.Generator().manual_seed(seed)}


def _with_dropout(place: Place, function: Function, seed: int = 1) -> Changes:
    given = _drawing(seed)
    written = ("embed.out", "attn.out", "cross.out", "ffn.out")
    return swaps.every(place.trace, written, lambda x: call(function, {"x": x, **given}))


def _facts_of_dropout(place: Place, right: Tensor, made: Tensor) -> dict[str, str]:
    draws = (_with_dropout(place, wrong.leave_out, seed) for seed in (1, 2))
    first, other = (swaps.vectors(place.trace, changes)[place.output] for changes in draws)
    return {
        "zeros": f"{(made == 0).float().mean().item():.0%}",
        "p": f"{P_DROPOUT:.0%}",
        "grown": f"{1 / (1 - P_DROPOUT):.2f}",
        "apart": f"{((first - other).norm() / first.norm()).item():.0%}",
    }


BUGS = (
    Bug(
        "layer_norm",
        "blocks.{layer}.attn.norm.out",
        _given_norm,
        needs=("long", "layer_norm"),
        reads="x",
        facts=_facts_of_norm,
        changed=lambda place, function: swaps.with_norm(place.trace, function),
    ),
    Bug(
        "norm_side",
        "blocks.{layer}.resid.out",
        _given_sublayer,
        needs=("long", "added"),
        reads="x",
        facts=_lengths,
        changed=_with_addition,
        function=lambda place: f"{place.trace.norm_at}_ln",
    ),
    Bug(
        "add",
        "blocks.{layer}.resid.out",
        _given_sublayer,
        needs=("long", "added", "pre"),
        reads="x",
        facts=_lengths,
        changed=_with_addition,
    ),
    Bug(
        "attend",
        "blocks.{layer}.attn.out",
        _given_stream,
        needs=("long", "added", "pre"),
        reads="x",
        facts=_lengths,
        changed=lambda place, function: swaps.with_reading(place.trace, function),
    ),
    Bug(
        "leave_out",
        "blocks.{layer}.attn.out",
        lambda place: {"x": place.trace[place.at("attn.out")], **_drawing(0)},
        reads="x",
        facts=_facts_of_dropout,
        changed=_with_dropout,
    ),
)
