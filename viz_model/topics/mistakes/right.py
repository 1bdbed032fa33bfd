"""What each step of a Transformer does, as one short function: the right one of each pair.

:mod:`viz_model.topics.mistakes.wrong` holds a function of the same name and arguments
with a bug in it. Visitors read these very lines, two functions side by side, so the lines are
short and nothing in them tells which of the two they are.
"""

from collections.abc import Callable, Sequence
from math import inf, sqrt

import torch
from torch import Tensor
from torch.nn import functional as F

from viz_model.tokenizers.tokenizer import Tokenizer

Layer = Callable[[Tensor], Tensor]


def causal(scores: Tensor) -> Tensor:
    """scores [T, T] -> attention pattern [T, T]: each token sees itself and its past."""
    n = scores.shape[-1]
    mask = torch.triu(torch.ones(n, n), diagonal=1)
    hidden = mask == 1
    return scores.masked_fill(hidden, -inf).softmax(dim=-1)


def diagonal(scores: Tensor) -> Tensor:
    """scores [T, T] -> attention pattern [T, T]: each token sees itself and its past."""
    n = scores.shape[-1]
    # diagonal=1 begins above the diagonal
    future = torch.ones(n, n).triu(diagonal=1)
    hidden = future == 1
    return scores.masked_fill(hidden, -inf).softmax(dim=-1)


def mask_then_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """scores [Tq, Tk], mask [Tq, Tk] of 0 and −inf -> attention pattern [Tq, Tk]."""
    masked = scores + mask
    return masked.softmax(dim=-1)


def padded(scores: Tensor, padding: Tensor) -> Tensor:
    """scores [Tq, Tk], padding [Tk] of booleans -> attention pattern [Tq, Tk] of one text in a batch."""
    scores = scores.masked_fill(padding, -inf)
    return scores.softmax(dim=-1)


def normalize(masked: Tensor) -> Tensor:
    """masked scores [Tq, Tk] -> attention pattern [Tq, Tk]."""
    return masked.softmax(dim=-1)


def scaled(q: Tensor, k: Tensor, attn_bias: Tensor) -> Tensor:
    """q [Tq, K], k [Tk, K], bias and mask [Tq, Tk] -> attention pattern [Tq, Tk]."""
    scores = q @ k.mT / sqrt(q.shape[-1])
    return (scores + attn_bias).softmax(dim=-1)


def divided(q: Tensor, k: Tensor, attn_bias: Tensor) -> Tensor:
    """q [Tq, K], k [Tk, K], bias and mask [Tq, Tk] -> attention pattern [Tq, Tk]."""
    d_k = q.shape[-1]
    scores = q @ k.mT / d_k**0.5
    return (scores + attn_bias).softmax(dim=-1)


def compare(q: Tensor, k: Tensor, scale: float, attn_bias: Tensor) -> Tensor:
    """q [T, K], k [T, K], bias and mask [T, T] -> attention pattern [T, T]: who asks in rows."""
    scores = q @ k.mT * scale
    return (scores + attn_bias).softmax(dim=-1)


def norm_queries(x: Tensor, project: Layer, unit: Layer, gain: Tensor) -> Tensor:
    """x [T, D], as attention reads it -> every head's queries [H, T, K] with QK-norm; gain [K]."""
    q = project(x)
    return gain * unit(q)


def attend(x: Tensor, norm: Layer, attention: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """x [T, D] -> what attention adds to it [T, D]. It takes who asks, then whom keys and values are made of."""
    t = norm(x)
    return attention(t, t)


def drop_weights(pattern: Tensor, v: Tensor, drop: Layer) -> Tensor:
    """pattern [Tq, Tk], v [Tk, K] -> what a head reads [Tq, K], in training: with dropout on attention weights."""
    weights = drop(pattern)
    return weights @ v


def split(x: Tensor, n_heads: int) -> Tensor:
    """all heads' queries side by side [T, H·K] -> one matrix for each head [H, T, K]."""
    n = x.shape[0]
    heads = x.view(n, n_heads, -1)
    return heads.transpose(0, 1)


def count(text: str, tokenizer: Tokenizer) -> int:
    """text -> how many tokens the model reads of it, control tokens apart."""
    ids = tokenizer.encode(text, special=False)
    return len(ids)


def spell(ids: Sequence[int], tokenizer: Tokenizer) -> str:
    """ids -> the text that they stand for, to the last space."""
    return tokenizer.decode(ids)


def look_up(embedding: Tensor, ids: Tensor) -> Tensor:
    """embedding [V, D], ids [T] -> rows [T, D], from a table no larger than this text needs."""
    n_rows = int(ids.max()) + 1
    table = embedding[:n_rows]
    return table[ids]


def angles(positions: Tensor, d_model: int, base: float) -> Tensor:
    """positions [T] -> angle of every sine and cosine pair [T, D/2]."""
    i = torch.arange(d_model // 2)
    exponent = 2 * i / d_model
    return positions[:, None] / base**exponent


def waves(positions: Tensor, d_model: int, base: float) -> Tensor:
    """positions [T] -> position vectors [T, D], for a model trained as Vaswani et al. 2017 write it."""
    i = torch.arange(d_model // 2)
    angle = positions[:, None] / base ** (2 * i / d_model)
    waves = angle.sin(), angle.cos()
    return torch.stack(waves, dim=-1).flatten(-2)


def layer_norm(x: Tensor, gain: Tensor, shift: Tensor, eps: float) -> Tensor:
    """x [T, D] -> [T, D], every row normalized (Ba et al. 2016)."""
    centered = x - x.mean(dim=-1, keepdim=True)
    variance = (centered**2).mean(-1, keepdim=True)
    scale = (variance + eps).sqrt()
    return gain * centered / scale + shift


def pre_ln(x: Tensor, norm: Layer, sublayer: Layer) -> Tensor:
    """x [T, D] -> [T, D]: a sub-layer of a Pre-LN block."""
    return x + sublayer(norm(x))


def post_ln(x: Tensor, norm: Layer, sublayer: Layer) -> Tensor:
    """x [T, D] -> [T, D]: a sub-layer of a Post-LN block."""
    return norm(x + sublayer(x))


def add(x: Tensor, norm: Layer, sublayer: Layer) -> Tensor:
    """x [T, D] -> [T, D]: a sub-layer of a Pre-LN block, whose residual stream passes untouched."""
    normed = norm(x)
    return x + sublayer(normed)


def leave_out(x: Tensor, p: float, training: bool, numbers: torch.Generator) -> Tensor:
    """x [T, D] -> [T, D]: dropout, as it must be while the model answers (training=False)."""
    if not training:
        return x
    drawn = torch.rand(x.shape, generator=numbers)
    return x * (drawn >= p) / (1 - p)


def loss(logits: Tensor, ids: Tensor) -> Tensor:
    """logits [T, V], ids [T] -> loss at each position, of a model that learns to predict the next token."""
    predicted, target = logits[:-1], ids[1:]
    return F.cross_entropy(predicted, target, reduction="none")


def logits(x: Tensor, embedding: Tensor, numbers: torch.Generator) -> Tensor:
    """last vectors x [T, D], embedding [V, D] -> logits [T, V], of a model with tied weights."""
    table = embedding
    return x @ table.mT
