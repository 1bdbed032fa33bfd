"""Cross-attention in numbers: who reads what of the source, how a reading is made, and decoding step by step.

Everything here takes a run of an encoder–decoder seen from its decoder (``trace.at("decoder")``):
Tq positions of the target, Ts of the source.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.config import ModelConfig
from viz_model.model import masks, ops
from viz_model.model.attention import CrossAttention
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token

N_PADDING = 2
"""Positions at the end of the source that are treated as filling, where that is asked for."""


def exists(config: ModelConfig) -> bool:
    """Whether a model has cross-attention at all."""
    return config.kind == "encoder_decoder"


def source_labels(trace: Trace) -> tuple[str, ...]:
    return tuple(token.label for token in trace.at("encoder").tokens)


def target_labels(trace: Trace) -> tuple[str, ...]:
    return tuple(token.label for token in trace.target_tokens)


def patterns(trace: Trace, layer: int) -> np.ndarray:
    """The patterns of all heads of a layer, [H, Tq, Ts]."""
    return trace[f"blocks.{layer}.cross.pattern"].numpy()


def encoded_site(trace: Trace) -> str:
    """The name, in the encoder, of what it made of the source: [Ts, D], read by every cross-attention layer."""
    return trace.at("encoder").leaving


class Steps(NamedTuple):
    """One target token's way from its query to what it fetches. Arrays over the source are [Ts].

    ``query`` [K] comes from the decoder, ``keys`` and ``values`` [Ts, K] from the encoder.
    ``products`` are q·k, ``scores`` the same times ``scale``, ``mask`` 0 or −∞, ``masked`` their
    sum, ``pattern`` after softmax, and ``z`` [K] the weighted sum of the values.
    """

    query: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    products: np.ndarray
    scale: float
    scores: np.ndarray
    mask: np.ndarray
    masked: np.ndarray
    pattern: np.ndarray
    z: np.ndarray

    @property
    def fetched(self) -> np.ndarray:
        """The length of each weighted value, [Ts]."""
        return np.asarray(self.pattern * np.linalg.norm(self.values, axis=-1))


def steps(trace: Trace, layer: int, head: int, query: int, *, padded: bool = False) -> Steps:
    """The steps of one target position. ``padded`` hides the end of the source, as its padding would be in a batch."""
    at = f"blocks.{layer}.cross."

    def read(letter: str) -> Tensor:
        """Queries or keys as the scores read them: normalised, where the model does that."""
        normed = f"{at}{letter}_normed"
        return trace.head(normed if normed in trace else at + letter, head)

    q, k, v = read("q")[query], read("k"), trace.head(at + "v", head)
    scores = trace.head(at + "scores", head)[query]
    mask, masked, pattern = (trace.head(at + name, head)[query] for name in ("mask", "masked", "pattern"))
    z = trace.head(at + "z", head)[query]
    if padded:
        hidden = torch.arange(len(k)) >= len(k) - min(N_PADDING, len(k) - 1)
        mask = ops.additive(masks.padding(1, hidden))[0]
        masked = scores + mask
        pattern = ops.pattern(masked)
        z = ops.mix(pattern[None], v)[0]
    return Steps(
        query=q.numpy(),
        keys=k.numpy(),
        values=v.numpy(),
        products=ops.dot_products(q[None], k)[0].numpy(),
        scale=cross_attention(trace, layer).scale,
        scores=scores.numpy(),
        mask=mask.numpy(),
        masked=masked.numpy(),
        pattern=pattern.numpy(),
        z=z.numpy(),
    )


def cross_attention(trace: Trace, layer: int) -> CrossAttention:
    attention = trace.stack.block(layer).cross
    if attention is None:
        raise ValueError("only the decoder of an encoder–decoder has cross-attention")
    return attention


class Focus(NamedTuple):
    """What one row of a pattern settles on.

    ``spread`` is the exponential of the row's entropy: over how many source tokens, were they
    read alike, it spreads its weight. From 1 (one token) to Ts (all alike).
    """

    strongest: int
    weight: float
    spread: float


def focus(row: np.ndarray) -> Focus:
    positive = row[row > 0].astype(np.float64)
    spread = float(np.exp(-(positive * np.log(positive)).sum()))
    return Focus(int(row.argmax()), float(row.max()), spread)


class Written(NamedTuple):
    """What cross-attention adds to one target token's stream.

    ``before`` and ``after`` [D] are the stream around it, ``out`` [D] what is added, ``heads``
    [H, D] what each head writes, ``bias`` [D] that of W_O. Under Post-LN ``after`` is the norm of
    ``before`` + ``out``.
    """

    before: np.ndarray
    heads: np.ndarray
    bias: np.ndarray
    out: np.ndarray
    after: np.ndarray


def written(trace: Trace, layer: int, query: int) -> Written:
    at = f"blocks.{layer}."
    bias = cross_attention(trace, layer).o.bias
    return Written(
        before=trace[at + "resid.mid"][query].numpy(),
        heads=trace.row(at + "cross.head_out", query).numpy(),
        bias=np.zeros(trace.config.d_model, np.float32) if bias is None else bias.detach().numpy(),
        out=trace[at + "cross.out"][query].numpy(),
        after=trace[at + "resid.cross"][query].numpy(),
    )


class Reading(NamedTuple):
    """The source position that each target position reads most, and its weight: [Tq] each.

    By one head, by the average over the heads of one layer, and by that over all heads of all layers.
    """

    head: tuple[np.ndarray, np.ndarray]
    layer: tuple[np.ndarray, np.ndarray]
    model: tuple[np.ndarray, np.ndarray]


def reading(trace: Trace, layer: int, head: int) -> Reading:
    own = patterns(trace, layer)
    every = np.mean([patterns(trace, i).mean(0) for i in range(trace.n_layers)], axis=0)

    def strongest(pattern: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return pattern.argmax(-1), pattern.max(-1)

    return Reading(strongest(own[head]), strongest(own.mean(0)), strongest(every))


class Step(NamedTuple):
    """One step of decoding: the newest token read, the best guesses, and what the target has next.

    ``came`` is None after the last token; ``probability`` and ``rank`` (1 is first) are then NaN and 0.
    """

    reads: Token
    guesses: tuple[tuple[Token, float], ...]
    came: Token | None
    probability: float
    rank: int

    @property
    def hit(self) -> bool:
        """Whether the target goes on as predicted."""
        return self.rank == 1


def decoding(trace: Trace, k: int = 5) -> tuple[Step, ...]:
    """Every step of saying the target, in order.

    One run holds them all: position i of the decoder sees nothing beyond i, so it predicts what
    it would have predicted had the target ended there. This is what makes training with the true
    target as input ("teacher forcing") a single run.
    """
    read = trace.target_tokens
    following = torch.tensor([token.id for token in read[1:]], dtype=torch.long)[:, None]
    parts: list[tuple[Tensor, ...]] = []
    for logits, came in itertools.zip_longest(trace.chunks("logits"), following.split(64), fillvalue=following[:0]):
        total = logits.logsumexp(-1, keepdim=True)  # [≤ 64, 1]
        top = logits.topk(min(k, logits.shape[-1]))
        own = logits[: len(came)].gather(1, came)  # the last position has nothing that came
        chance = (own - total[: len(came)]).exp()[:, 0]
        parts.append((top.indices, (top.values - total).exp(), chance, 1 + (logits[: len(came)] > own).sum(-1)))
    ids, chances, probabilities, ranks = (torch.cat(each).tolist() for each in zip(*parts, strict=True))
    found = []
    for i, token in enumerate(read):
        labels = map(trace.tokenizer.token, ids[i])
        guesses = tuple(zip(labels, chances[i], strict=True))
        if i + 1 < len(read):
            found.append(Step(token, guesses, read[i + 1], probabilities[i], ranks[i]))
        else:
            found.append(Step(token, guesses, None, math.nan, 0))
    return tuple(found)


def agreement(steps: tuple[Step, ...], own: tuple[Token, ...]) -> int:
    """How many tokens at the start of the target are those that the model says by itself."""
    target = [step.came.id for step in steps if step.came is not None]
    same = [a == b.id for a, b in zip(target, own, strict=False)]
    return same.index(False) if False in same else len(same)


def spared(config: ModelConfig, n_source: int) -> int:
    """Multiplications that each step would spend on the source's keys and values, were they not kept: 2·L·Ts·D·G·K."""
    return 2 * config.n_layers * n_source * config.d_model * config.n_kv_heads * config.d_head


class Differences(NamedTuple):
    """The largest difference between values worked out from their parts, and the recorded ones.

    ``keys`` and ``values``: the encoder's vectors times W_K and W_V. ``scores``, ``pattern``, ``z``:
    the steps, in double precision. ``out``: the heads' writings and the bias. Dimensionless.
    """

    keys: float
    values: float
    scores: float
    pattern: float
    z: float
    out: float


def differences(trace: Trace, layer: int, head: int, query: int) -> Differences:
    at, found = f"blocks.{layer}.cross.", steps(trace, layer, head, query)
    cross, parts = cross_attention(trace, layer), written(trace, layer, query)
    source = trace.at("encoder")[encoded_site(trace)]
    made = [ops.split_heads(matrix(source).detach(), trace.config.n_kv_heads).numpy() for matrix in (cross.k, cross.v)]
    scores = found.keys.astype(np.float64) @ found.query.astype(np.float64) * found.scale
    exponentials = np.exp(scores - scores.max())
    pattern = exponentials / exponentials.sum()
    return Differences(
        keys=largest(made[0], trace[at + "k"].numpy()),
        values=largest(made[1], trace[at + "v"].numpy()),
        scores=largest(scores, found.scores),
        pattern=largest(pattern, found.pattern),
        z=largest(pattern @ found.values, found.z),
        out=largest(parts.heads.sum(0) + parts.bias, parts.out),
    )


def largest(a: np.ndarray, b: np.ndarray) -> float:
    """The largest absolute difference of two arrays of one shape."""
    return float(np.abs(a - b).max())
