"""Cross-attention in numbers: who reads what of the source, and decoding step by step.

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
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token

N_PADDING = 2
"""Positions at the end of the source that are treated as filling, where that is asked for."""


def n_padding(n_source: int) -> int:
    """The same of a source of so many tokens, of which one stays."""
    return min(N_PADDING, n_source - 1)


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


def spread(row: np.ndarray) -> float:
    """The exponential of a row's entropy: over how many tokens, were they read alike, it spreads its weight.

    From 1 (one token) to Ts (all alike).
    """
    positive = row[row > 0].astype(np.float64)
    return float(np.exp(-(positive * np.log(positive)).sum()))


class Written(NamedTuple):
    """What cross-attention adds to one target token's stream.

    ``before`` and ``after`` [D] are the stream around it, ``out`` [D] what is added, ``heads``
    [H, D] what each head writes. Under Post-LN ``after`` is the norm of ``before`` + ``out``.
    """

    before: np.ndarray
    heads: np.ndarray
    out: np.ndarray
    after: np.ndarray


def written(trace: Trace, layer: int, query: int) -> Written:
    sites = ("resid.mid", "cross.head_out", "cross.out", "resid.cross")
    return Written(*(trace.row(f"blocks.{layer}.{site}", query).numpy() for site in sites))


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
        return self.came is not None and self.came.id == self.guesses[0][0].id


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
