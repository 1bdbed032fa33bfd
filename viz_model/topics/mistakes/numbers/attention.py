"""How scores become weights, and how all heads' queries become each head's: the pairs inside attention."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from viz_model.model import masks, ops, sites
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.topics.mistakes.numbers import swaps
from viz_model.topics.mistakes.numbers.bug import NEEDS, Bug, Place, of_run
from viz_model.topics.mistakes.numbers.outcome import effect
from viz_model.topics.mistakes.numbers.results import Effect
from viz_model.topics.mistakes.numbers.swaps import Changes, Function, call

N_PADDING = 4
P_DROPOUT = 0.1
"""Of the base model in Vaswani et al. 2017, section 5.4."""


def _given_scores(place: Place, run: Trace, visible: Tensor) -> dict[str, Any]:
    scored = sites.scored(run.full_name(place.at("attn")), run.config)
    q, k = (run.head(name.removeprefix(run.prefix), place.head) for name in scored)
    bias = run.head(place.at("attn.bias"), place.head) if place.at("attn.bias") in run else None
    return swaps.attention_arguments(q, k, bias, visible, run.config)


def _given(place: Place) -> dict[str, Any]:
    return _given_scores(place, place.trace, place.visible)


def _changed(place: Place, function: Function, need: str | None) -> Changes:
    """Another pattern in all layers, or in those that have what it needs."""
    layers = range(place.trace.n_layers)
    fitting = [layer for layer in layers if need is None or NEEDS[need](place._replace(layer=layer))]
    return swaps.with_pattern(place.trace, fitting, function)


def _facts(place: Place, right: Tensor, wrong: Tensor) -> dict[str, str]:
    sums, finite = wrong.sum(-1), wrong[wrong.isfinite().all(-1)]
    later = finite.triu(1).sum(-1).mean().item() if len(finite) else 0.0
    width = place.trace.config.d_head
    return {
        "k": str(width),
        "root": f"{math.sqrt(width):.2f}".rstrip("0").rstrip("."),
        "sum_low": f"{sums.nan_to_num(nan=math.inf).min().item():.2f}",
        "sum_high": f"{sums.nan_to_num(nan=-math.inf).max().item():.2f}",
        "future": f"{later:.0%}",
        "peak": f"{right.amax(-1).mean().item():.0%}",
        "wrong_peak": f"{wrong.amax(-1).nanmean().item():.0%}",
    }


def _among_keys(place: Place) -> Tensor:
    """The head's pattern in the run, each row as its keys share it: the functions know no logit beside theirs."""
    pattern = of_run(place, place.at("attn.pattern"))
    return pattern / pattern.sum(-1, keepdim=True) if place.at("attn.sink") in place.trace else pattern


def _pattern(name: str, reads: str, need: str | None = None) -> Bug:
    """Both functions give one head's pattern [Tq, Tk]."""
    return Bug(
        name,
        "blocks.{layer}.attn.pattern",
        _given,
        needs=("long",) if need is None else ("long", need),
        reads=reads,
        facts=_facts,
        changed=functools.partial(_changed, need=need if need == "causal" else None),
        traced=_among_keys,
    )


# One text in a batch whose other texts are longer. What is behind its end must not be looked at.


class Padded(NamedTuple):
    """A text with padding behind it that nobody sees, and which of its tokens are padding [T]."""

    run: Trace
    is_padding: Tensor


def _padded(place: Place) -> Padded:
    ids, is_padding = swaps.padded(place.trace, N_PADDING)
    stack, n = place.trace.stack, len(ids)
    own = torch.stack([stack.visible(layer, n, n) for layer in range(place.trace.n_layers)])
    # Padding may look at padding: with a window it would see nothing else.
    visible = {stack.side: own & (masks.padding(n, is_padding) | is_padding[:, None])}
    run = record(place.trace.model, place.trace.tokenizer, ids, place.trace.target_ids, visible=visible)
    return Padded(run.at(stack.side), is_padding)


def _given_padded(place: Place) -> dict[str, Any]:
    run, is_padding = _padded(place)
    everything = masks.everything(len(is_padding), len(is_padding))
    return {**_given_scores(place, run, everything), "padding": is_padding}


def _traced_padded(place: Place) -> Tensor | None:
    pattern = of_run(place, place.at("attn.pattern"))
    if len(swaps.padded(place.trace, N_PADDING)[0]) - N_PADDING < len(pattern):
        return None  # the text fills the context, and was cut to make room
    return torch.nn.functional.pad(pattern, (0, N_PADDING))


def _effect_of_padding(place: Place, function: Function) -> Effect:
    run = place.trace
    ids, is_padding = swaps.padded(run, N_PADDING)
    target = None if run.target_ids is None else torch.tensor([run.target_ids])
    # Without the run's edits, which speak of other tokens.
    hidden, seen = (
        run.model.vectors(torch.tensor([ids]), target, padding=padding)[0] for padding in (is_padding[None], None)
    )
    return effect(run, hidden, seen, min(place.output, len(hidden) - 1))


def _facts_of_padding(place: Place, right: Tensor, wrong: Tensor) -> dict[str, str]:
    n = wrong.shape[-1] - N_PADDING
    return {"share": f"{wrong[:n, n:].sum(-1).mean().item():.0%}", "n_padding": str(N_PADDING)}


# One matrix of all heads' queries, cut into heads.


def _given_queries(place: Place) -> dict[str, Any]:
    q = place.trace[place.at("attn.q")]
    return {"x": ops.merge_heads(q).contiguous(), "n_heads": len(q)}


def _with_split(place: Place, function: Function) -> Changes:
    """What is cut into heads as it should be, put side by side again and cut by the function."""

    def cut(heads: Tensor) -> Tensor:
        return call(function, {"x": ops.merge_heads(heads)[0].contiguous(), "n_heads": heads.shape[1]})[None]

    return swaps.every(place.trace, (".q", ".k", ".v"), cut)


def _facts_of_split(place: Place, right: Tensor, wrong: Tensor) -> dict[str, str]:
    n_heads, length = place.trace.config.n_heads, len(place.trace)
    touched = range(place.head * length // n_heads, ((place.head + 1) * length - 1) // n_heads + 1)
    return {"first_token": str(touched[0]), "last_token": str(touched[-1]), "n_heads": str(n_heads)}


def _given_norm(place: Place) -> dict[str, Any]:
    block = place.trace.stack.block(place.layer)
    x = block.attn_input(place.trace[place.at("resid.in")])
    return {"x": x, **swaps.norm_of_queries(block.attn, "q")}


def _facts_of_norm(place: Place, right: Tensor, wrong: Tensor) -> dict[str, str]:
    (low, high), (wrong_low, wrong_high) = (made.norm(dim=-1).aminmax() for made in (right, wrong))
    lengths = {"low": low, "high": high, "wrong_low": wrong_low, "wrong_high": wrong_high}
    return {name: f"{length.item():.2f}" for name, length in lengths.items()}


# What is dropped in training: attention weights, or what a head reads.


def _given_weights(place: Place) -> dict[str, Any]:
    numbers = torch.Generator().manual_seed(0)

    def drop(x: Tensor) -> Tensor:
        return x * (torch.rand(x.shape, generator=numbers) >= P_DROPOUT) / (1 - P_DROPOUT)

    pattern, v = (place.trace.head(place.at(f"attn.{name}"), place.head) for name in ("pattern", "v"))
    return {"pattern": pattern, "v": v, "drop": drop}


def _facts_of_weights(place: Place, right: Tensor, wrong: Tensor) -> dict[str, str]:
    zeros, wrong_zeros = ((made == 0).float().mean().item() for made in (right, wrong))
    return {"zeros": f"{zeros:.0%}", "wrong_zeros": f"{wrong_zeros:.0%}", "p": f"{P_DROPOUT:.0%}"}


BUGS = (
    _pattern("causal", "scores", "causal"),
    _pattern("diagonal", "scores", "causal"),
    _pattern("mask_then_softmax", "scores", "causal"),
    Bug(
        "padded",
        "blocks.{layer}.attn.pattern",
        _given_padded,
        needs=("long", "two_way"),
        reads="scores",
        traced=_traced_padded,
        facts=_facts_of_padding,
        effect=_effect_of_padding,
    ),
    _pattern("normalise", "masked"),
    _pattern("scaled", "q", "scaled"),
    _pattern("divided", "q", "scaled"),
    _pattern("compare", "q", "uncapped"),
    Bug(
        "norm_queries",
        "blocks.{layer}.attn.q_normed",
        _given_norm,
        needs=("long", "qk"),
        reads="x",
        read=lambda place, value: value[place.head],
        facts=_facts_of_norm,
        changed=lambda place, function: swaps.with_qk_norm(place.trace, function),
    ),
    Bug(
        "drop_weights",
        "blocks.{layer}.attn.z",
        _given_weights,
        reads="pattern",
        traced=lambda place: None,  # nothing is dropped in the run
        facts=_facts_of_weights,
    ),
    Bug(
        "split",
        "blocks.{layer}.attn.q",
        _given_queries,
        needs=("long", "heads"),
        reads="x",
        read=lambda place, value: value[place.head],
        facts=_facts_of_split,
        changed=_with_split,
    ),
)
