"""The pairs of a block: its first norm, a norm with a sub-layer and the addition, and dropout."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from viz_model.model.transformer import Transformer
from viz_model.topics.mistakes.numbers import swaps, wrong
from viz_model.topics.mistakes.numbers.bug import Bug, Place
from viz_model.topics.mistakes.numbers.swaps import Function, call

P_DROPOUT = 0.1
"""Of the base model in Vaswani et al. 2017, section 5.4."""


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


def _with_addition(place: Place, function: Function) -> Transformer:
    return swaps.with_addition(place.trace, function)


# What a sub-layer adds, while the model answers.


def _drawing(seed: int) -> dict[str, Any]:
    return {"p": P_DROPOUT, "training": False, "numbers": torch.Generator().manual_seed(seed)}


def _with_dropout(place: Place, function: Function, seed: int = 1) -> Transformer:
    given = _drawing(seed)
    return swaps.with_dropout(place.trace, lambda x: call(function, {"x": x, **given}))


def _facts_of_dropout(place: Place, right: Tensor, made: Tensor) -> dict[str, str]:
    models = (_with_dropout(place, wrong.leave_out, seed) for seed in (1, 2))
    first, other = (swaps.vectors(place.trace, model)[place.output] for model in models)
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
        "leave_out",
        "blocks.{layer}.attn.out",
        lambda place: {"x": place.trace[place.at("attn.out")], **_drawing(0)},
        reads="x",
        facts=_facts_of_dropout,
        changed=_with_dropout,
    ),
)
