"""The classic bugs: of each, where it belongs, what both functions are given there, and what there is to say of it."""

import copy
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_model.island.look import Look
from viz_model.model import ops, sites
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import cl100k_base
from viz_model.topics.mistakes import attending, right, wrong
from viz_model.topics.mistakes.forward import (
    Bug,
    Effect,
    Function,
    Here,
    View,
    call,
    changes,
    joined,
    last_vectors,
    of_logits,
    vectors,
)

P_DROPOUT = 0.1
"""Of the base model in Vaswani et al. 2017, section 5.4."""
CHINESE, CHINESE_WORDS = "我爱深度学习", 4
TUTORIAL_IDS = (627, 1383, 88861)
"""The beginning of a batch in a well-known tutorial, printed there as ". By mastering"."""
LARGEST_ID = 100_069
"""The largest id in that tutorial's corpus, cut by cl100k_base."""


# Dropout: of attention weights, or of what a head reads; and of what a sub-layer adds, while the model answers.


def _weights(here: Here) -> dict[str, Any]:
    def drop(x: Tensor) -> Tensor:
        return x * (torch.rand(x.shape, generator=here.draws) >= P_DROPOUT) / (1 - P_DROPOUT)

    v = ops.share_heads(here.get("attn.v"), here.run.config.n_heads)
    return {"pattern": here.get("attn.pattern"), "v": v, "drop": drop}


def _of_weights(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    zeros, wrong_zeros = (view.by("layer head", (made == 0).mean((-2, -1)), "%0") for made in (right, wrong))
    return {"zeros": zeros, "wrong_zeros": wrong_zeros, "p": f"{P_DROPOUT:.0%}"}


def _two_draws(there: Look) -> list[Tensor]:
    run = there.trace
    return [vectors(run, changes(BUGS["leave_out"], run, wrong.leave_out, seed)) for seed in (1, 2)]


def _of_dropout(view: View, right: np.ndarray, made: np.ndarray) -> Mapping[str, Any]:
    first, other = view.there.once(_two_draws)
    return {
        "zeros": view.by("layer", (made == 0).mean((-2, -1)), "%0"),
        "p": f"{P_DROPOUT:.0%}",
        "grown": f"{1 / (1 - P_DROPOUT):.2f}",
        "apart": view.of_output(((first - other).norm(dim=-1) / first.norm(dim=-1)).numpy(), "%0"),
    }


# What a model reads: the length of a text, its spelling, the rows of its table, its position waves.


def _own_ids(run: Trace) -> list[int]:
    """Those of the text, without control tokens around it."""
    return [id for id in run.ids if id not in run.tokenizer.controls]


def _of_count(view: View, n_tokens: int, n_characters: int) -> Mapping[str, Any]:
    return {
        "n_tokens": f"{n_tokens:,}",
        "n_characters": f"{n_characters:,}",
        "chinese": CHINESE,
        "chinese_characters": len(CHINESE),
        "chinese_words": CHINESE_WORDS,
        "chinese_tokens": right.count(CHINESE, cl100k_base()),
    }


def _of_spelling(view: View, text: str, wrong_text: str) -> Mapping[str, Any]:
    tokenizer, book = view.run.tokenizer, cl100k_base()
    own, printed = (" ".join(map(str, book.encode(made.spell(TUTORIAL_IDS, book)))) for made in (right, wrong))
    counts = (len(tokenizer.encode(one, special=False)) for one in (text, wrong_text))
    return {**dict(zip(("n_tokens", "n_wrong"), counts, strict=True)), "own": own, "printed": printed}


def _of_rows(view: View, right: Any, wrong: Any) -> Mapping[str, Any]:
    counted = {"largest_id": max(view.run.own_ids), "tutorial_id": LARGEST_ID}
    rows = {"n_rows": counted["largest_id"] + 1, "tutorial_rows": LARGEST_ID + 1}
    return {name: f"{n:,}" for name, n in {**counted, **rows}.items()}


def _positions(here: Here) -> dict[str, Any]:
    length, width = here.value.shape[-2:]
    base = getattr(here.run.config.position, "base", 0.0)
    return {"positions": torch.arange(length, dtype=torch.float64), "d_model": width, "base": base}


def _waved(here: Here, value: Tensor) -> Tensor:
    """Position vectors [T, D]; of angles [T, D/2] a sine and a cosine of each."""
    if value.shape[-1] < here.run.config.d_embedding:
        value = torch.stack((value.sin(), value.cos()), dim=-1).flatten(-2)
    return value.float()


def _of_waves(view: View, *results: Any) -> Mapping[str, Any]:
    one = {"positions": torch.ones(1, dtype=torch.float64), "d_model": 4, "base": 10_000.0}
    sine, wrong_sine = (call(made.angles, one)[0, 1].sin().item() for made in (right, wrong))
    half = view.run.config.d_embedding // 2
    found = {"sine": f"{sine:.7f}", "wrong_sine": f"{wrong_sine:.7f}".rstrip("0")}
    return {**found, "half": half, "width": 2 * half}


def _waves(name: str) -> Bug:
    return Bug(name, "embed.position", _positions, needs=("long", "waves"), read=_waved, facts=_of_waves)


# A norm, and a norm with a sub-layer and the addition.


def _norm(here: Here) -> dict[str, Any]:
    at = here.name.removesuffix(".norm.out")
    norm: Any = here.run.stack.get_submodule(f"{at}_norm")
    read = sites.norm_reads(here.run.full_name(f"{at}.norm"), here.run.config)
    x = torch.stack([here.made(name) for name in read]).sum(0)
    return {"x": x, "gain": norm.weight, "shift": norm.bias, "eps": norm.eps}


def _of_variance(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    width = view.run.config.d_model
    return {"width": width, "factor": f"{math.sqrt((width - 1) / width):.5f}"}


def _sublayer(here: Here) -> dict[str, Any]:
    """What leads to a vector of the stream: the one before it, and the norm and the sub-layer between them."""
    block, after = here.block, here.name.rpartition(".")[2]
    order = {"in": "", "mid": "attn", **({} if block.cross is None else {"cross": "cross"}), "out": "ffn"}
    part, before = order[after], list(order)[list(order).index(after) - 1]
    parts: dict[str, Function] = {"attn": block.attend, "cross": block.attend_source, "ffn": block.feed_forward}
    norm = getattr(block, f"{part}_norm")
    return {
        "x": here.get(f"resid.{before}"),
        "norm": lambda y: norm(y[None], here.tap(f"{part}.norm"))[0],
        "sublayer": lambda y: parts[part](y[None], here.given(y[None]), here.tap())[0],
    }


def _reading(here: Here) -> dict[str, Any]:
    """What attention reads of the stream: with the norm before it, everybody's normalized vector."""
    own = here.block.attn

    def attention(asks: Tensor, sources: Tensor) -> Tensor:
        other = copy.copy(own)
        other.__dict__["keys"] = lambda y, *more, **named: own.keys(sources[None], *more, **named)
        other.__dict__["values"] = lambda y, *more, **named: own.values(sources[None], *more, **named)
        made: Tensor = other(asks[None], here.given(asks[None]), here.tap("attn"))
        return made[0]

    return {"x": here.get("resid.in"), "norm": here.block.attn_norm, "attention": attention}


def _lengths(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    length, wrong_length = (view.by("layer", np.linalg.norm(made, axis=-1).mean(-1), "1") for made in (right, wrong))
    return {"length": length, "wrong_length": wrong_length}


_ADDED: dict[str, Any] = {"also": ("resid.mid", "resid.cross"), "reads": "x", "facts": _lengths}


# What comes out: the loss of a model that predicts the next token, and the table that makes its logits.


def _losses(run: Trace, layer: int) -> Tensor:
    ids = torch.tensor(run.own_ids)[1:]
    return -run["logits"][:-1].log_softmax(-1).gather(-1, ids[:, None])[:, 0]


def _of_losses(view: View, right: Tensor, wrong: Tensor) -> Mapping[str, Any]:
    loss, wrong_loss = (f"{made.mean().item() / math.log(2):.2f}" for made in (right, wrong))
    return {"loss": loss, "wrong_loss": wrong_loss}


def _last(here: Here) -> dict[str, Any]:
    model = here.run.model
    return {"x": model.head.before(last_vectors(here.run)), "embedding": model.embedding.weight, "numbers": here.draws}


def _with_bias(here: Here, value: Tensor) -> Tensor:
    """Logits [T, V] as the run has them."""
    bias = here.run.model.unembedding.bias
    return value if bias is None else value + bias


def _effect_of_table(run: Trace, function: Function) -> Effect:
    made = [BUGS["logits"].made(run, 0, one).split(32) for one in (right.logits, function)]
    return joined([of_logits(*pair) for pair in zip(*made, strict=True)])


def _of_table(view: View, right: Tensor, wrong: Tensor) -> Mapping[str, Any]:
    n_vocab, width = view.run.model.embedding.weight.shape
    return {"rows": f"{n_vocab:,}", "width": width, "spared": f"{n_vocab * width:,}"}


_EVERY = (
    attending.pattern("causal", "scores", "causal"),
    attending.pattern("diagonal", "scores", "causal"),
    attending.pattern("mask_then_softmax", "scores", "causal"),
    Bug(
        "padded",
        "blocks.{layer}.attn.pattern",
        attending.padded_scores,
        needs=("long", "two_way"),
        reads="scores",
        on=attending.in_batch,
        traced=attending.without_padding,
        facts=attending.of_padding,
        effect=attending.effect_of_padding,
    ),
    attending.pattern("normalize", "masked"),
    attending.pattern("scaled", "q", "scaled"),
    attending.pattern("divided", "q", "scaled"),
    attending.pattern("compare", "q", "uncapped"),
    Bug(
        "norm_queries",
        "blocks.{layer}.attn.q_normed",
        attending.norm_of_queries,
        needs=("long", "qk"),
        reads="x",
        also=("attn.k_normed",),
        facts=attending.of_norms,
    ),
    Bug(
        "drop_weights",
        "blocks.{layer}.attn.z",
        _weights,
        reads="pattern",
        is_in_model=False,
        traced=lambda run, layer: None,  # nothing is dropped in the run
        facts=_of_weights,
    ),
    Bug(
        "split",
        "blocks.{layer}.attn.q",
        attending.whole,
        needs=("long", "heads"),
        reads="x",
        also=(".q", ".k", ".v"),
        facts=attending.of_split,
    ),
    Bug(
        "count",
        "tokens.ids",
        lambda here: {"text": here.run.text or "", "tokenizer": here.run.tokenizer},
        needs=(),
        shown="reply",
        is_in_model=False,
        traced=lambda run, layer: None if run.text is None else torch.tensor(len(_own_ids(run)) + run.n_dropped),
        facts=_of_count,
    ),
    Bug(
        "spell",
        "tokens.ids",
        lambda here: {"ids": _own_ids(here.run), "tokenizer": here.run.tokenizer},
        needs=("long", "words"),
        shown="reply",
        is_in_model=False,
        traced=lambda run, layer: None,  # of a text the run has ids alone
        facts=_of_spelling,
    ),
    Bug(
        "look_up",
        "embed.token",
        lambda here: {"embedding": here.run.model.embedding.weight, "ids": torch.tensor(here.run.own_ids)},
        shown="reply",
        is_in_model=False,
        traced=lambda run, layer: run["embed.token"] / run.model.embedding_scale,
        facts=_of_rows,
    ),
    _waves("angles"),
    _waves("waves"),
    Bug(
        "layer_norm",
        "blocks.{layer}.attn.norm.out",
        _norm,
        needs=("long", "layer_norm"),
        reads="x",
        also=(".norm.out",),
        facts=_of_variance,
    ),
    Bug(
        "norm_side",
        "blocks.{layer}.resid.out",
        _sublayer,
        needs=("long", "added"),
        function=lambda run: f"{run.norm_at}_ln",
        **_ADDED,
    ),
    Bug("add", "blocks.{layer}.resid.out", _sublayer, needs=("long", "added", "pre"), **_ADDED),
    Bug("attend", "blocks.{layer}.attn.out", _reading, needs=("long", "added", "pre"), reads="x", facts=_lengths),
    Bug(
        "leave_out",
        "blocks.{layer}.attn.out",
        lambda here: {"x": here.value, "p": P_DROPOUT, "training": False, "numbers": here.draws},
        reads="x",
        also=("embed.out", "cross.out", "ffn.out"),
        facts=_of_dropout,
    ),
    Bug(
        "loss",
        "logits",
        lambda here: {"logits": here.value, "ids": torch.tensor(here.run.own_ids)},
        needs=("long", "predicts"),
        shown="loss",
        is_in_model=False,
        traced=_losses,
        facts=_of_losses,
    ),
    Bug(
        "logits",
        "logits",
        _last,
        needs=("long", "tied"),
        shown="likeliest",
        read=_with_bias,
        facts=_of_table,
        effect=_effect_of_table,
    ),
)
BUGS: Mapping[str, Bug] = MappingProxyType({bug.name: bug for bug in _EVERY})
"""Every bug by name, in the order in which they are shown."""
