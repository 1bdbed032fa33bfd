"""Bugs of attention: how scores become weights, padding in a batch, and what becomes of the queries."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_model.drawing import digits
from viz_model.model import masks, ops, sites
from viz_model.model.attention import scale
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.topics.mistakes.forward import Bug, Effect, Function, Here, View, effect_of, last_vectors

N_PADDING = 4


# How scores become weights.


def _scores(here: Here) -> dict[str, Any]:
    """Whatever a function on the way to the pattern may ask for; scores are with the bias, before the mask."""
    run, config = here.run, here.run.config
    q, k = (here.made(name) for name in sites.scored(run.full_name(here.name.removesuffix(".pattern")), config))
    k, n, factor = ops.share_heads(k, config.n_heads), len(run), scale(config)
    scheme, mask = run.stack.position_of(here.layer), ops.additive(run.mask(here.layer))
    bias = scheme.bias(n, n)
    if bias is None:
        found = scheme.content_bias(q[None], k[None], 0, factor)
        bias = None if found is None else found[0]
    scores = ops.cap(ops.scores(q, k, factor), config.score_cap)
    scores = scores if bias is None else scores + bias
    biased = mask.expand_as(scores) if bias is None else (mask + bias).expand_as(scores)
    return {"q": q, "k": k, "scale": factor, "scores": scores, "mask": mask, "attn_bias": biased,
            "masked": scores + mask}  # fmt: skip


def beside_sink(here: Here, made: Tensor) -> Tensor:
    """What a sink takes of each row, it takes of a function's too, which knows the keys alone."""
    return made * here.value.sum(-1, keepdim=True) if here.run.config.attention_sink else made


def of_pattern(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    sums, width = wrong.sum(-1), view.run.config.d_head
    is_root, root = digits.root(width)
    is_finite = np.isfinite(wrong).all(-1)
    n_finite = np.maximum(is_finite.sum(-1), 1)
    later = np.where(is_finite, np.triu(np.nan_to_num(wrong), 1).sum(-1), 0).sum(-1) / n_finite
    table = partial(view.by, "layer head")
    return {
        "k": width,
        "is_root": is_root,
        "root": root,
        "sum_low": table(np.where(np.isnan(sums), np.inf, sums).min(-1), "2"),
        "sum_high": table(np.where(np.isnan(sums), -np.inf, sums).max(-1), "2"),
        "future": table(later, "%0"),
        "peak": table(right.max(-1).mean(-1), "%0"),
        "wrong_peak": table(np.where(is_finite, wrong.max(-1), 0).sum(-1) / n_finite, "%0"),
    }


def pattern(name: str, reads: str, *needs: str) -> Bug:
    """Both functions make every head's pattern [H, Tq, Tk]."""
    site = "blocks.{layer}.attn.pattern"
    return Bug(name, site, _scores, needs=("long", *needs), reads=reads, read=beside_sink, facts=of_pattern)


# One text in a batch whose other texts are longer. What is behind its end must not be looked at.


def padded(run: Trace) -> tuple[tuple[int, ...], Tensor]:
    """The ids with padding behind them, and which of them are padding [T + n].

    What fills the context is cut, so that there is room. Nobody should look at padding, so its id does not matter:
    it is the end of a text where the vocabulary has one, as is usual, or else id 0.
    """
    ids = run.ids[: run.config.n_context - N_PADDING]
    pad = run.tokenizer.end_of_text or 0
    return (*ids, *(pad,) * N_PADDING), torch.arange(len(ids) + N_PADDING) >= len(ids)


def in_batch(run: Trace) -> Trace:
    """The text with padding behind it that nobody sees."""
    ids, is_padding = padded(run)
    stack, n = run.stack, len(ids)
    own = torch.stack([stack.visible(layer, n, n) for layer in range(run.n_layers)])
    # Padding may look at padding: with a window it would see nothing else.
    visible = {stack.side: own & (masks.padding(n, is_padding) | is_padding[:, None])}
    return record(run.model, run.tokenizer, ids, run.target_ids, visible=visible).at(stack.side)


def padded_scores(here: Here) -> dict[str, Any]:
    given, n = _scores(here), len(here.run)
    return {**given, "padding": torch.arange(n) >= n - N_PADDING}


def without_padding(run: Trace, layer: int) -> Tensor | None:
    pattern = run[f"blocks.{layer}.attn.pattern"]
    is_cut = len(padded(run)[0]) - N_PADDING < len(run)
    return None if is_cut else torch.nn.functional.pad(pattern, (0, N_PADDING))


@torch.inference_mode()
def effect_of_padding(run: Trace, function: Function) -> Effect:
    """Without the run's edits, which speak of other tokens."""
    ids, is_padding = padded(run)
    target = None if run.target_ids is None else torch.tensor([run.target_ids])
    seen = (run.model.vectors(torch.tensor([ids]), target, padding=one)[0] for one in (is_padding[None], None))
    found = effect_of(run, *seen)
    n = len(last_vectors(run))
    # Of a text that was cut the last position that there is stands for those that are gone.
    at = np.minimum(np.arange(n), len(found.change) - 1)
    return Effect(*(each[at] for each in found))


def of_padding(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    n = wrong.shape[-1] - N_PADDING
    return {"share": view.by("layer head", wrong[..., :n, n:].sum(-1).mean(-1), "%0"), "n_padding": N_PADDING}


# All heads' queries: how they are cut, and how long they are.


def whole(here: Here) -> dict[str, Any]:
    """What is cut into heads as it should be, put side by side again."""
    return {"x": ops.merge_heads(here.value).contiguous(), "n_heads": len(here.value)}


def of_split(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    n_heads, length = view.run.config.n_heads, len(view.run)
    heads = np.arange(n_heads)
    first, last = heads * length // n_heads, ((heads + 1) * length - 1) // n_heads
    return {
        "first_token": view.by("head", first, "whole"),
        "last_token": view.by("head", last, "whole"),
        "n_heads": n_heads,
    }


def norm_of_queries(here: Here) -> dict[str, Any]:
    attention, letter = here.block.attn, here.name.rpartition(".")[2][0]
    linear, norm = getattr(attention, letter), getattr(attention.qk_norm, letter)
    return {
        "x": here.block.attn_input(here.get("resid.in")),
        "project": lambda y: ops.split_heads(linear(y), linear.out_features // attention.d_head),
        "unit": lambda y: torch.nn.functional.rms_norm(y, y.shape[-1:], eps=norm.eps),
        "gain": norm.weight,
    }


def of_norms(view: View, right: np.ndarray, wrong: np.ndarray) -> Mapping[str, Any]:
    lengths = (np.linalg.norm(made, axis=-1) for made in (right, wrong))
    ends = (end for each in lengths for end in (each.min(-1), each.max(-1)))
    names = ("low", "high", "wrong_low", "wrong_high")
    return {name: view.by("layer head", end, "2") for name, end in zip(names, ends, strict=True)}
