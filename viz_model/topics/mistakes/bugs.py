"""The classic bugs: of each, where it belongs, what both functions are given there, and what there is to say of it."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_model.island.look import Look
from viz_model.model import masks, ops, sites
from viz_model.model.attention import scale
from viz_model.model.positions import of_content, sinks
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import cl100k_base
from viz_model.topics.mistakes import right, wrong
from viz_model.topics.mistakes.forward import (
    Bug,
    Effect,
    Function,
    Here,
    View,
    call,
    changes,
    effect_of,
    joined,
    last_vectors,
    of_logits,
    vectors,
)

N_PADDING = 4
P_DROPOUT = 0.1
"""Of the base model in Vaswani et al. 2017, section 5.4."""
CHINESE, CHINESE_WORDS = "我爱深度学习", 4
TUTORIAL_IDS = (627, 1383, 88861)
"""The beginning of a batch in a well-known tutorial, printed there as ". By mastering"."""
LARGEST_ID = 100_069
"""The largest id in that tutorial's corpus, cut by cl100k_base."""


# How scores become weights.


def _scores(here: Here) -> dict[str, Any]:
    """Whatever a function on the way to the pattern may ask for; scores are with the bias, before the mask."""
    run, config = here.run, here.run.config
    q, k = (here.made(name) for name in sites.scored(run.full_name(here.name.removesuffix(".pattern")), config))
    k, n, factor = ops.share_heads(k, config.n_heads), len(run), scale(config)
    scheme, mask = run.stack.position_of(here.layer), ops.additive(run.mask(here.layer))
    bias = scheme.bias(n, n)
    if bias is None:
        ids = here.made(sites.ids(config, run.stack.side))
        found = of_content(scheme, q[None], k[None], ids[None], 0, factor)
        bias = None if found is None else found[0]
    scores = ops.cap(ops.scores(q, k, factor), config.score_cap)
    scores = scores if bias is None else scores + bias
    biased = mask.expand_as(scores) if bias is None else (mask + bias).expand_as(scores)
    return {"q": q, "k": k, "scale": factor, "scores": scores, "mask": mask, "attn_bias": biased,
            "masked": scores + mask}  # fmt: skip


def _beside_sink(here: Here, made: Tensor) -> Tensor:
    """What a sink takes of each row, it takes of a function's too, which knows the keys alone."""
    return made * here.value.sum(-1, keepdim=True) if sinks(here.run.stack.position_of(here.layer)) else made


def _of_pattern(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    sums, width = wrong.sum(-1), view.run.config.d_head
    is_finite = np.isfinite(wrong).all(-1)
    n_finite = np.maximum(is_finite.sum(-1), 1)
    later = np.where(is_finite, np.triu(np.nan_to_num(wrong), 1).sum(-1), 0).sum(-1) / n_finite
    table = partial(view.by, "layer head")
    return {
        "k": width,
        "root": f"{math.sqrt(width):.2f}".rstrip("0").rstrip("."),
        "sum_low": table(np.where(np.isnan(sums), np.inf, sums).min(-1), "2"),
        "sum_high": table(np.where(np.isnan(sums), -np.inf, sums).max(-1), "2"),
        "future": table(later, "%0"),
        "peak": table(right.max(-1).mean(-1), "%0"),
        "wrong_peak": table(np.where(is_finite, wrong.max(-1), 0).sum(-1) / n_finite, "%0"),
    }


def _pattern(name: str, reads: str, *needs: str) -> Bug:
    """Both functions make every head's pattern [H, Tq, Tk]."""
    site = "blocks.{layer}.attn.pattern"
    return Bug(name, site, _scores, needs=("long", *needs), reads=reads, read=_beside_sink, facts=_of_pattern)


# One text in a batch whose other texts are longer. What is behind its end must not be looked at.


def padded(run: Trace) -> tuple[tuple[int, ...], Tensor]:
    """The ids with padding behind them, and which of them are padding [T + n].

    What fills the context is cut, so that there is room. Nobody should look at padding, so its id does not matter:
    it is the end of a text where the vocabulary has one, as is usual, or else id 0.
    """
    ids = run.ids[: run.config.n_context - N_PADDING]
    pad = run.tokenizer.end_of_text or 0
    return (*ids, *(pad,) * N_PADDING), torch.arange(len(ids) + N_PADDING) >= len(ids)


def _in_batch(run: Trace) -> Trace:
    """The text with padding behind it that nobody sees."""
    ids, is_padding = padded(run)
    stack, n = run.stack, len(ids)
    own = torch.stack([stack.visible(layer, n, n) for layer in range(run.n_layers)])
    # Padding may look at padding: with a window it would see nothing else.
    visible = {stack.side: own & (masks.padding(n, is_padding) | is_padding[:, None])}
    return record(run.model, run.tokenizer, ids, run.target_ids, visible=visible).at(stack.side)


def _padded_scores(here: Here) -> dict[str, Any]:
    given, n = _scores(here), len(here.run)
    return {**given, "padding": torch.arange(n) >= n - N_PADDING}


def _without_padding(run: Trace, layer: int) -> Tensor | None:
    pattern = run[f"blocks.{layer}.attn.pattern"]
    is_cut = len(padded(run)[0]) - N_PADDING < len(run)
    return None if is_cut else torch.nn.functional.pad(pattern, (0, N_PADDING))


@torch.inference_mode()
def _effect_of_padding(run: Trace, function: Function) -> Effect:
    """Without the run's edits, which speak of other tokens."""
    ids, is_padding = padded(run)
    target = None if run.target_ids is None else torch.tensor([run.target_ids])
    seen = (run.model.vectors(torch.tensor([ids]), target, padding=one)[0] for one in (is_padding[None], None))
    found = effect_of(run, *seen)
    n = len(last_vectors(run))
    # Of a text that was cut the last position that there is stands for those that are gone.
    at = np.minimum(np.arange(n), len(found.change) - 1)
    return Effect(*(each[at] for each in found))


def _of_padding(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    n = wrong.shape[-1] - N_PADDING
    return {"share": view.by("layer head", wrong[..., :n, n:].sum(-1).mean(-1), "%0"), "n_padding": N_PADDING}


# All heads' queries: how they are cut, and how long they are.


def _whole(here: Here) -> dict[str, Any]:
    """What is cut into heads as it should be, put side by side again."""
    return {"x": ops.merge_heads(here.value).contiguous(), "n_heads": len(here.value)}


def _of_split(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    n_heads, length = view.run.config.n_heads, len(view.run)
    heads = np.arange(n_heads)
    first, last = heads * length // n_heads, ((heads + 1) * length - 1) // n_heads
    return {
        "first_token": view.by("head", first, "whole"),
        "last_token": view.by("head", last, "whole"),
        "n_heads": n_heads,
    }


def _norm_of_queries(here: Here) -> dict[str, Any]:
    attention, letter = here.block.attn, here.name.rpartition(".")[2][0]
    linear, norm = getattr(attention, letter), getattr(attention.qk_norm, letter)
    return {
        "x": here.block.attn_input(here.get("resid.in")),
        "project": lambda y: ops.split_heads(linear(y), linear.out_features // attention.d_head),
        "unit": lambda y: torch.nn.functional.rms_norm(y, y.shape[-1:], eps=norm.eps),
        "gain": norm.weight,
    }


def _of_norms(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    lengths = (np.linalg.norm(made, axis=-1) for made in (right, wrong))
    ends = (end for each in lengths for end in (each.min(-1), each.max(-1)))
    names = ("low", "high", "wrong_low", "wrong_high")
    return {name: view.by("layer head", end, "2") for name, end in zip(names, ends, strict=True)}


# Dropout: of attention weights, or of what a head reads; and of what a sub-layer adds, while the model answers.


def _weights(here: Here) -> dict[str, Any]:
    def drop(x: Tensor) -> Tensor:
        return x * (torch.rand(x.shape, generator=here.draws) >= P_DROPOUT) / (1 - P_DROPOUT)

    v = ops.share_heads(here.get("attn.v"), here.run.config.n_heads)
    return {"pattern": here.get("attn.pattern"), "v": v, "drop": drop}


def _of_weights(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    zeros, wrong_zeros = (view.by("layer head", (made == 0).mean((-2, -1)), "%0") for made in (right, wrong))
    return {"zeros": zeros, "wrong_zeros": wrong_zeros, "p": f"{P_DROPOUT:.0%}"}


def _left_out(here: Here) -> dict[str, Any]:
    return {"x": here.value, "p": P_DROPOUT, "training": False, "numbers": here.draws}


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


def _n_read(run: Trace, layer: int) -> Tensor | None:
    return None if run.text is None else torch.tensor(len(_own_ids(run)) + run.n_dropped)


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
    if value.shape[-1] < here.run.config.d_model:
        value = torch.stack((value.sin(), value.cos()), dim=-1).flatten(-2)
    return value.float()


def _of_waves(view: View, *results: Any) -> Mapping[str, Any]:
    one = {"positions": torch.ones(1, dtype=torch.float64), "d_model": 4, "base": 10_000.0}
    sine, wrong_sine = (call(made.angles, one)[0, 1].sin().item() for made in (right, wrong))
    half = view.run.config.d_model // 2
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
    _pattern("causal", "scores", "causal"),
    _pattern("diagonal", "scores", "causal"),
    _pattern("mask_then_softmax", "scores", "causal"),
    Bug(
        "padded",
        "blocks.{layer}.attn.pattern",
        _padded_scores,
        needs=("long", "two_way"),
        reads="scores",
        on=_in_batch,
        traced=_without_padding,
        facts=_of_padding,
        effect=_effect_of_padding,
    ),
    _pattern("normalise", "masked"),
    _pattern("scaled", "q", "scaled"),
    _pattern("divided", "q", "scaled"),
    _pattern("compare", "q", "uncapped"),
    Bug(
        "norm_queries",
        "blocks.{layer}.attn.q_normed",
        _norm_of_queries,
        needs=("long", "qk"),
        reads="x",
        also=("attn.k_normed",),
        facts=_of_norms,
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
        _whole,
        needs=("long", "heads"),
        reads="x",
        also=(".q", ".k", ".v"),
        facts=_of_split,
    ),
    Bug(
        "count",
        "tokens.ids",
        lambda here: {"text": here.run.text or "", "tokenizer": here.run.tokenizer},
        needs=(),
        shown="reply",
        is_in_model=False,
        traced=_n_read,
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
    Bug(
        "attend",
        "blocks.{layer}.attn.out",
        _reading,
        needs=("long", "added", "pre"),
        reads="x",
        facts=_lengths,
    ),
    Bug(
        "leave_out",
        "blocks.{layer}.attn.out",
        _left_out,
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
