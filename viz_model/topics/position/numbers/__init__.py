"""Numbers on position: waves and rows, rotated queries and keys, biases by distance, and what order changes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model import config
from viz_model.config import ActsOn, ModelConfig, Position, Side, variants
from viz_model.model import masks, ops, positions
from viz_model.runs.record import record
from viz_model.runs.trace import Trace

PAPER_BASE = 10_000.0
"""The base of the waves in Vaswani et al. 2017, section 3.5."""
MAX_ROWS = 1024
"""Positions that are compared with one another at the most."""

# Vectors that are added


def scheme(model: ModelConfig) -> config.Sinusoidal:
    """The waves that a model adds.

    Raises:
        ValueError: its positions are not waves.
    """
    if not isinstance(model.position, config.Sinusoidal):
        raise ValueError(f"position: expected Sinusoidal, this model has {type(model.position).__name__}")
    return model.position


def wavelength(model: ModelConfig, pair: int) -> float:
    """2π·b^(2i/D): positions in one full turn of the sine and cosine numbered i = ``pair``."""
    return 2 * math.pi * scheme(model).base ** (2 * pair / model.d_model)


class Turns(NamedTuple):
    """How many of all pairs complete a turn within the context, and what share of one the slowest gets through."""

    turning: int
    pairs: int
    slowest: float


def turns(model: ModelConfig) -> Turns:
    """How far the waves that a model adds turn within its context."""
    lengths = [wavelength(model, pair) for pair in range(model.d_model // 2)]
    turning = sum(length <= model.n_context for length in lengths)
    return Turns(turning, len(lengths), (model.n_context - 1) / lengths[-1])


def pair_columns(pair: int, n_pairs: int, *, interleaved: bool) -> tuple[int, int]:
    """The two columns of a pair: neighbours, or one in each half of 2·``n_pairs`` columns."""
    return (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + n_pairs)


def wave_columns(model: ModelConfig, pair: int) -> tuple[int, int]:
    """The columns of ``embed.position`` that hold the sine and the cosine of a pair."""
    return pair_columns(pair, model.d_model // 2, interleaved=scheme(model).layout == "interleaved")


def waves(positions: np.ndarray, d_model: int, base: float, *, interleaved: bool = True) -> np.ndarray:
    """[P] positions, whole or not -> [P, D], by the function that the model itself uses.

    A model only ever reads whole positions; the curve between them is for the eye.
    """
    at = torch.from_numpy(np.asarray(positions, dtype=np.float64))
    return ops.sinusoid(at, d_model, base, interleaved=interleaved).numpy()


def table(trace: Trace) -> np.ndarray:
    """Position rows [C, D] of a model that adds some: of the whole context, or its first :data:`MAX_ROWS`."""
    rows = trace.stack.position.add(0, min(trace.config.n_context, MAX_ROWS))
    if rows is None:
        raise ValueError(f"position: {type(trace.config.position).__name__} adds no rows")
    return rows.detach().numpy()


def similarity(rows: np.ndarray) -> np.ndarray:
    """Cosine of every two rows: [T, D] -> [T, T]; a row of zeros is like nothing."""
    units = rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-30)
    return units @ units.T


class ByDistance(NamedTuple):
    """Over all pairs of positions that far apart: mean, smallest and largest cosine, each [T]."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def by_distance(similarities: np.ndarray) -> ByDistance:
    """[T, T] -> one value for each distance from 0 to T − 1.

    For sinusoidal rows low and high agree up to rounding: p_s·p_t = Σ_i cos((s − t) / b^(2i/D)),
    in which only the distance s − t occurs, and every row has the length √(D/2).
    """
    diagonals = [np.diagonal(similarities, offset) for offset in range(len(similarities))]
    mean, low, high = (np.array([of(d) for d in diagonals]) for of in (np.mean, np.min, np.max))
    return ByDistance(mean, low, high)


# Queries and keys that are turned


def rope(trace: Trace, layer: int) -> positions.Rope:
    """The rotation of a layer.

    Raises:
        ValueError: its positions are no rotation.
    """
    position = trace.stack.position_of(layer)
    if not isinstance(position, positions.Rope):
        raise ValueError(f"position: expected Rope, layer {layer} has {type(scheme_of(trace, layer)).__name__}")
    return position


def rotary(trace: Trace, layer: int) -> config.Rope:
    """What the config says of :func:`rope`."""
    scheme = scheme_of(trace, layer)
    assert isinstance(scheme, config.Rope)  # or rope() had raised
    return scheme


class Frequencies(NamedTuple):
    """Radians a position of each of the R/2 pairs: as this model turns them, and before any scaling."""

    used: np.ndarray
    unscaled: np.ndarray

    @property
    def wavelengths(self) -> np.ndarray:
        """Positions in one full turn of each pair."""
        return 2 * math.pi / self.used

    def turning(self, length: int) -> int:
        """How many pairs complete a turn within ``length`` positions."""
        return int((self.wavelengths <= length).sum())


def frequencies(trace: Trace, layer: int) -> Frequencies:
    used = rope(trace, layer).frequencies
    return Frequencies(used.numpy(), ops.rotary_frequencies(2 * len(used), rotary(trace, layer).base).numpy())


def rotated_columns(trace: Trace, layer: int, pair: int) -> tuple[int, int]:
    """The two values of a head's query and key that are turned together."""
    position = rope(trace, layer)
    return pair_columns(pair, len(position.frequencies), interleaved=position.interleaved)


def unrotated_site(trace: Trace, layer: int, letter: str) -> str:
    """The site of what is rotated: normalised queries or keys where the model has them, else plain ones."""
    normed = f"blocks.{layer}.attn.{letter}_normed"
    return normed if normed in trace else f"blocks.{layer}.attn.{letter}"


class Rotation(NamedTuple):
    """One head's queries and keys [T, K], before and after they are turned."""

    q: Tensor
    k: Tensor
    q_rotated: Tensor
    k_rotated: Tensor


def rotation(trace: Trace, layer: int, head: int) -> Rotation:
    names = [unrotated_site(trace, layer, letter) for letter in "qk"]
    names += [f"blocks.{layer}.attn.{letter}_rotated" for letter in "qk"]
    return Rotation(*(trace.head(name, head) for name in names))


def turned(trace: Trace, layer: int, head: int, shift: int) -> tuple[Tensor, Tensor]:
    """A head's queries and keys [T, K] if the whole sentence stood ``shift`` positions further on.

    The recorded vectors, turned by the model's own function from position ``shift`` on.
    """
    before, position = rotation(trace, layer, head), trace.stack.position_of(layer)
    return position.rotate(before.q, shift), position.rotate_keys(before.k, shift)


def shifted_scores(trace: Trace, layer: int, head: int, shift: int) -> np.ndarray:
    """The scores [T, T] of :func:`turned` queries and keys."""
    q, k = turned(trace, layer, head, shift)
    return ops.scores(q, k, trace.stack.block(layer).attn.scale).numpy()


def score_by_offset(trace: Trace, layer: int, head: int, query: int, key: int, reach: int) -> np.ndarray:
    """One query and one key at every offset: the score with the query d positions after the key.

    [2·reach + 1] for d = −reach … reach. The vectors are those of the run; only their positions vary.
    """
    vectors, position = rotation(trace, layer, head), trace.stack.position_of(layer)
    turned_q = position.rotate(vectors.q[query].expand(reach + 1, -1), 0)
    turned_k = position.rotate_keys(vectors.k[key].expand(reach + 1, -1), 0)
    scale = trace.stack.block(layer).attn.scale
    after = ops.scores(turned_q, turned_k[:1], scale)[:, 0]  # the key stays at 0, the query moves on
    before = ops.scores(turned_q[:1], turned_k, scale)[0]  # the query stays at 0, the key moves on
    return torch.cat((before.flip(0), after[1:])).numpy()


# Numbers that are added to the scores


def bias_by_distance(trace: Trace, layer: int, distances: np.ndarray) -> np.ndarray:
    """What every head of a layer adds for each distance key − query: [N] -> [H, N].

    Distances after the query are those of one that has as many keys behind it as before.

    Raises:
        ValueError: the layer adds nothing to its scores.
    """
    before, after = -int(distances.min(initial=0)), int(distances.max(initial=0))
    bias = trace.stack.position_of(layer).bias(after + 1, before + after + 1)
    if bias is None:
        raise ValueError(f"position: {type(scheme_of(trace, layer)).__name__} adds nothing to the scores")
    return bias[:, 0, torch.from_numpy(before + distances)].detach().numpy()


def knows_distance(trace: Trace, layer: int) -> bool:
    """Whether what the layer adds to a score can be told from the distance alone, without a query."""
    return trace.stack.position_of(layer).bias(1, 1) is not None


def along_diagonals(bias: np.ndarray) -> float:
    """The largest difference between neighbours along a diagonal of [H, T, T]; 0 where the distance is all."""
    here, next_ = bias[:, :-1, :-1], bias[:, 1:, 1:]
    differs = here != next_  # −∞ is the same as −∞
    return float(np.abs(np.subtract(next_, here, out=np.zeros_like(here), where=differs)).max(initial=0.0))


def slopes(trace: Trace, layer: int) -> np.ndarray:
    """[H] slopes: what each further token of distance takes from a score, in a scheme that falls with it evenly."""
    here, next_ = bias_by_distance(trace, layer, np.array([0, -1])).T
    return np.asarray(here - next_)


class Reach(NamedTuple):
    """How far the heads with the steepest and the flattest slope look in a run, in tokens on average."""

    steepest: float
    flattest: float


def reach(trace: Trace, layer: int) -> Reach:
    """Over all rows of the two heads' patterns."""
    falls = slopes(trace, layer)
    away = ops.distances(len(trace), len(trace)).abs()
    patterns = (trace.head(f"blocks.{layer}.attn.pattern", int(head)) for head in (falls.argmax(), falls.argmin()))
    return Reach(*(float((pattern * away).sum(-1).mean()) for pattern in patterns))


class Buckets(NamedTuple):
    """T5's buckets as one stack uses them.

    ``two_way``: half of all buckets are for keys after the query. ``per_side`` buckets serve one
    direction, the first ``exact`` of them hold a single distance, and the last holds
    ``last_from`` and all beyond.
    """

    two_way: bool
    total: int
    per_side: int
    exact: int
    max_distance: int
    position: positions.T5Bias

    @property
    def last_from(self) -> int:
        """The distance from which on all fall into the last bucket; no more than ``max_distance``."""
        back = self.of(-np.arange(self.max_distance + 1))
        return int((back == back[-1]).argmax())

    def of(self, distances: np.ndarray) -> np.ndarray:
        """The bucket of each distance key − query, by the model's own function."""
        return self.position.bucket(torch.from_numpy(np.asarray(distances, dtype=np.int64))).numpy()


def buckets(trace: Trace, layer: int) -> Buckets:
    position = trace.stack.position_of(layer)
    assert isinstance(position, positions.T5Bias)
    total = position.buckets.num_embeddings
    per_side = total // 2 if position.two_way else total
    return Buckets(position.two_way, total, per_side, per_side // 2, position.max_distance, position)


class Biased(NamedTuple):
    """One head's scores, what position adds, and the pattern with and without it; all [Tq, Tk].

    Hidden cells are NaN, in the patterns too.
    """

    scores: np.ndarray
    bias: np.ndarray
    masked: np.ndarray
    pattern: np.ndarray
    pattern_without: np.ndarray


def biased(trace: Trace, layer: int, head: int) -> Biased:
    at = f"blocks.{layer}.attn."
    scores, bias, mask, masked, pattern = (
        trace.head(at + name, head) for name in ("scores", "bias", "mask", "masked", "pattern")
    )
    sink = trace.head(f"{at}sink", head) if f"{at}sink" in trace else None
    without = ops.pattern(ops.cap(scores, trace.config.score_cap) + mask, sink)
    hidden = mask.isneginf()
    return Biased(*(x.masked_fill(hidden, math.nan).numpy() for x in (scores, bias, masked, pattern, without)))


# Order itself


class OrderEffect(NamedTuple):
    """How much one token's vector changes when the tokens before it change places.

    ``order`` [T] is the order they were put in; the changes are |Δr| / |r| behind every block,
    [L], with the model's own mask and with none, measured by running the model on both orders.
    """

    order: tuple[int, ...]
    own_mask: np.ndarray
    no_mask: np.ndarray


def order_effect(trace: Trace, token: int) -> OrderEffect | None:
    """Reverse everything before ``token`` and run the model again; None where that changes no token."""
    ids = list(trace.ids if trace.side != "decoder" or not trace.prefix else trace.target_ids or ())
    reversed_ids = [*ids[:token][::-1], *ids[token:]]
    if reversed_ids == ids:
        return None
    order = (*range(token)[::-1], *range(token, len(ids)))
    side: Side = trace.stack.side
    changes = []
    for visible in ({}, {side: masks.everything(len(ids), len(ids))}):
        first, second = (_run(trace, side, each, visible) for each in (ids, reversed_ids))
        names = [f"blocks.{layer}.resid.out" for layer in range(trace.n_layers)]
        was, now = (torch.stack([run[name][token] for name in names]) for run in (first, second))
        changes.append(((now - was).norm(dim=-1) / was.norm(dim=-1)).numpy())
    return OrderEffect(order, *changes)


def _run(trace: Trace, side: Side, ids: list[int], visible: dict[Side, Tensor]) -> Trace:
    """The model of a trace on other ids of one side."""
    source, target = (trace.ids, ids) if trace.prefix and side == "decoder" else (ids, trace.target_ids)
    return record(trace.model, trace.tokenizer, source, target, visible=visible).at(side)


# The schemes side by side


class SchemeFacts(NamedTuple):
    """Where a scheme acts, and how many numbers are trained for it at a model's size."""

    acts_on: ActsOn
    n_trained: int


def scheme_of(trace: Trace, layer: int) -> Position:
    """The scheme of a layer."""
    return trace.config.layer(trace.stack.side, layer).position


def scheme_name(scheme: Position) -> str:
    """What texts call a scheme."""
    return type(scheme).__name__.lower()


def schemes(own: Position) -> tuple[Position, ...]:
    """Every scheme there is: a model's own as it has it, the others as published."""
    return tuple(own if isinstance(own, kind) else kind() for kind in variants("position"))


def scheme_facts(scheme: Position, model: ModelConfig) -> SchemeFacts:
    """The facts of a scheme, for one stack of a model of these sizes."""
    with torch.device("meta"):  # which gives sizes and takes no memory
        module = positions.build(scheme, model, model.sides[0])
    return SchemeFacts(scheme.acts_on, sum(weight.numel() for weight in module.parameters()))
