"""What comes out: the loss of a model that predicts the next token, and the table that makes its logits."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from viz_model.topics.mistakes.numbers import right, swaps
from viz_model.topics.mistakes.numbers.bug import Bug, Place
from viz_model.topics.mistakes.numbers.outcome import effect_of_logits
from viz_model.topics.mistakes.numbers.results import Bars, Effect
from viz_model.topics.mistakes.numbers.swaps import Function, call


def _losses(place: Place, value: Tensor) -> Bars:
    tokens = place.trace.tokens
    return Bars(value.numpy() / math.log(2), tokens[len(tokens) - len(value) :], "loss")


def _traced_losses(place: Place) -> Tensor:
    ids = torch.tensor(place.trace.own_ids)[1:]
    return -place.trace["logits"][:-1].log_softmax(-1).gather(-1, ids[:, None])[:, 0]


def _mean_losses(place: Place, right: Tensor, wrong: Tensor) -> dict[str, str]:
    loss, wrong_loss = (made.mean().item() / math.log(2) for made in (right, wrong))
    return {"loss": f"{loss:.2f}", "wrong_loss": f"{wrong_loss:.2f}"}


# The table that turns vectors into logits is the embedding's own.


def _given_last(place: Place) -> dict[str, Any]:
    run = place.trace
    x = run.model.head.before(swaps.last_vectors(run)[place.output : place.output + 1])
    return {"x": x, "embedding": run.model.embedding.weight, "numbers": torch.Generator().manual_seed(0)}


def _with_bias(place: Place, value: Tensor) -> Tensor:
    """Logits [1, V] as the run has them."""
    bias = place.trace.model.unembedding.bias
    return value if bias is None else value + bias


def _likeliest(place: Place, value: Tensor) -> Bars:
    probabilities, ids = value[0].softmax(-1).topk(min(8, value.shape[-1]))
    return Bars(probabilities.numpy(), place.trace.tokenizer.tokens(ids.tolist()), "probability")


def _effect_of_table(place: Place, function: Function) -> Effect:
    before, after = (_with_bias(place, call(made, _given_last(place)))[0] for made in (right.logits, function))
    return effect_of_logits(place.trace, before, after)


def _facts_of_table(place: Place, right: Tensor, wrong: Tensor) -> dict[str, str]:
    n_vocab, width = place.trace.model.embedding.weight.shape
    return {"rows": f"{n_vocab:,}", "width": str(width), "spared": f"{n_vocab * width:,}"}


BUGS = (
    Bug(
        "loss",
        "logits",
        lambda place: {"logits": place.trace["logits"], "ids": torch.tensor(place.trace.own_ids)},
        needs=("long", "predicts"),
        shown=_losses,
        traced=_traced_losses,
        facts=_mean_losses,
    ),
    Bug(
        "logits",
        "logits",
        _given_last,
        needs=("long", "tied"),
        shown=_likeliest,
        read=_with_bias,
        traced=lambda place: place.trace.row("logits", place.output)[None],
        facts=_facts_of_table,
        effect=_effect_of_table,
    ),
)
