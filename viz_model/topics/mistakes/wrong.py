"""The steps of :mod:`viz_model.topics.mistakes.right`, which says what each does, with a bug in each.

Never use them.
"""

from collections.abc import Callable, Sequence
from math import inf, sqrt

import torch
from torch import Tensor
from torch.nn import functional as F

from viz_model.tokenizers.tokenizer import Tokenizer

Layer = Callable[[Tensor], Tensor]


def causal(scores: Tensor) -> Tensor:
    n = scores.shape[-1]
    mask = torch.triu(torch.ones(n, n), diagonal=1)
    hidden = mask == 0
    return scores.masked_fill(hidden, -inf).softmax(dim=-1)


def diagonal(scores: Tensor) -> Tensor:
    n = scores.shape[-1]
    # diagonal=1 would hide the diagonal
    future = torch.ones(n, n).triu(diagonal=2)
    hidden = future == 1
    return scores.masked_fill(hidden, -inf).softmax(dim=-1)


def mask_then_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    visible = mask == 0
    return scores.softmax(dim=-1) * visible


def padded(scores: Tensor, padding: Tensor) -> Tensor:
    return scores.softmax(dim=-1)


def normalize(masked: Tensor) -> Tensor:
    return masked.softmax(dim=-2)


def scaled(q: Tensor, k: Tensor, attn_bias: Tensor) -> Tensor:
    scores = q @ k.mT
    return (scores + attn_bias).softmax(dim=-1)


def divided(q: Tensor, k: Tensor, attn_bias: Tensor) -> Tensor:
    d_k = q.shape[-1]
    scores = q @ k.mT / d_k
    return (scores + attn_bias).softmax(dim=-1)


def compare(q: Tensor, k: Tensor, scale: float, attn_bias: Tensor) -> Tensor:
    scores = k @ q.mT * scale
    return (scores + attn_bias).softmax(dim=-1)


def norm_queries(x: Tensor, project: Layer, unit: Layer, gain: Tensor) -> Tensor:
    q = project(unit(x))
    return gain * q


def attend(x: Tensor, norm: Layer, attention: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    t = norm(x)
    return attention(t, x)


def drop_weights(pattern: Tensor, v: Tensor, drop: Layer) -> Tensor:
    read = pattern @ v
    return drop(read)


def split(x: Tensor, n_heads: int) -> Tensor:
    n = x.shape[0]
    return x.view(n_heads, n, -1)


def count(text: str, tokenizer: Tokenizer) -> int:
    return len(text)


def spell(ids: Sequence[int], tokenizer: Tokenizer) -> str:
    words = [tokenizer.decode([id]).strip() for id in ids]
    return " ".join(words)


def look_up(embedding: Tensor, ids: Tensor) -> Tensor:
    n_rows = int(ids.max())
    table = embedding[:n_rows]
    return table[ids]


def angles(positions: Tensor, d_model: int, base: float) -> Tensor:
    i = torch.arange(d_model // 2)
    exponent = 2 * i / (d_model // 2)
    return positions[:, None] / base**exponent


def waves(positions: Tensor, d_model: int, base: float) -> Tensor:
    i = torch.arange(d_model // 2)
    angle = positions[:, None] / base ** (2 * i / d_model)
    waves = angle.sin(), angle.cos()
    return torch.cat(waves, dim=-1)


def layer_norm(x: Tensor, gain: Tensor, shift: Tensor, eps: float) -> Tensor:
    centered = x - x.mean(dim=-1, keepdim=True)
    scale = x.std(dim=-1, keepdim=True) + eps
    return gain * centered / scale + shift


def pre_ln(x: Tensor, norm: Layer, sublayer: Layer) -> Tensor:
    return norm(x + sublayer(x))


def post_ln(x: Tensor, norm: Layer, sublayer: Layer) -> Tensor:
    return x + sublayer(norm(x))


def add(x: Tensor, norm: Layer, sublayer: Layer) -> Tensor:
    normed = norm(x)
    return normed + sublayer(normed)


def leave_out(x: Tensor, p: float, training: bool, numbers: torch.Generator) -> Tensor:
    drawn = torch.rand(x.shape, generator=numbers)
    return x * (drawn >= p) / (1 - p)


def loss(logits: Tensor, ids: Tensor) -> Tensor:
    predicted, target = logits, ids
    return F.cross_entropy(predicted, target, reduction="none")


def logits(x: Tensor, embedding: Tensor, numbers: torch.Generator) -> Tensor:
    drawn = torch.randn(embedding.shape, generator=numbers)
    table = drawn / sqrt(embedding.shape[1])
    return x @ table.mT
