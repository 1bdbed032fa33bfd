"""How a model knows the order of its tokens.

A scheme may act in three places: add a vector to the embedding, rotate queries and keys, or add a
number to the scores. Each does nothing unless a scheme says otherwise, so that whoever calls all
three branches on none.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from viz_model import config
from viz_model.config import ModelConfig, Side
from viz_model.model import ops
from viz_model.model.tap import NO_TAP, Tap


class Position(nn.Module):
    """Nothing tells positions apart: the neutral scheme, and the base of the others."""

    def add(self, x: Tensor, start: int, tap: Tap = NO_TAP) -> Tensor:
        """Embeddings [B, T, D] of positions start … start + T − 1 -> the same with position in them."""
        return x

    def rotate(self, q: Tensor, k: Tensor, start: int, tap: Tap = NO_TAP) -> tuple[Tensor, Tensor]:
        """Queries [B, H, T, K] and keys [B, G, T, K] of positions start … -> the same, turned."""
        return q, k

    def bias(self, n_queries: int, n_keys: int) -> Tensor | None:
        """[H, Tq, Tk], to be added to the scores, or None for nothing. The queries are the last positions."""
        return None


class Sinusoidal(Position):
    """Waves of geometrically growing length, added to the embedding (Vaswani et al. 2017, 3.5)."""

    waves: Tensor

    def __init__(self, position: config.Sinusoidal, n_context: int, d_model: int) -> None:
        super().__init__()
        # Not a weight: it is recomputed from the config, never stored in a checkpoint.
        interleaved = position.layout == "interleaved"
        table = ops.sinusoid(torch.arange(n_context), d_model, position.base, interleaved=interleaved)
        self.register_buffer("waves", table, persistent=False)

    def add(self, x: Tensor, start: int, tap: Tap = NO_TAP) -> Tensor:
        # A copy, because a trace keeps what it is given and the table belongs to the model.
        return x + tap("position", self.waves[None, start : start + x.shape[-2]].clone())


class Learned(Position):
    """A trained row for every position, added to the embedding (Devlin et al. 2019, figure 2)."""

    def __init__(self, n_context: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Embedding(n_context, d_model)

    def add(self, x: Tensor, start: int, tap: Tap = NO_TAP) -> Tensor:
        return x + tap("position", self.table(torch.arange(start, start + x.shape[-2], device=x.device))[None])


class Rope(Position):
    """Pairs of q and k turned by position × frequency, so that q·k depends on the offset alone.

    Su et al. 2021, section 3.2.2.
    """

    def __init__(self, position: config.Rope, d_head: int) -> None:
        super().__init__()
        frequencies = ops.rotary_frequencies(int(d_head * position.fraction), position.base)
        self.frequencies, self.stretch = scale_frequencies(frequencies, position)  # [R/2] radians a position
        self.interleaved = position.pairing == "interleaved"

    def angles(self, start: int, length: int) -> Tensor:
        """[T, R/2] radians, float64: single precision loses the fast waves at far positions."""
        return torch.arange(start, start + length, dtype=torch.float64)[:, None] * self.frequencies

    def rotate(self, q: Tensor, k: Tensor, start: int, tap: Tap = NO_TAP) -> tuple[Tensor, Tensor]:
        angles = self.angles(start, q.shape[-2])
        q = ops.rotate(q, angles, interleaved=self.interleaved, stretch=self.stretch)
        k = ops.rotate(k, angles, interleaved=self.interleaved, stretch=self.stretch)
        return tap("q_rotated", q), tap("k_rotated", k)


def scale_frequencies(frequencies: Tensor, position: config.Rope) -> tuple[Tensor, float]:
    """The frequencies [R/2] that a scaled RoPE uses, and the factor by which it lengthens q and k."""
    match position.scaling:
        case None:
            return frequencies, 1.0
        case config.LinearScaling(factor=factor):
            return frequencies / factor, 1.0
        case config.Llama3Scaling() as scaling:
            # Turns that a wave makes over the context it was trained with.
            turns = scaling.original_context * frequencies / (2 * math.pi)
            low, high = scaling.low_freq_factor, scaling.high_freq_factor
            kept = ((turns - low) / (high - low)).clamp(0, 1)
            return kept * frequencies + (1 - kept) * frequencies / scaling.factor, 1.0
        case config.YarnScaling() as scaling:
            # Peng et al. 2023, section 3.2: the ramp runs over the index of the pair, between the
            # pairs that make beta_fast and beta_slow turns over the trained context.
            n_rotated = 2 * len(frequencies)

            def pair_with(turns: float) -> float:
                wave = scaling.original_context / (turns * 2 * math.pi)
                return n_rotated * math.log(wave) / (2 * math.log(position.base))

            first = max(math.floor(pair_with(scaling.beta_fast)), 0)
            last = min(math.ceil(pair_with(scaling.beta_slow)), n_rotated - 1)
            pairs = torch.arange(len(frequencies), dtype=torch.float64)
            slowed = ((pairs - first) / max(last - first, 0.001)).clamp(0, 1)
            scaled = slowed * frequencies / scaling.factor + (1 - slowed) * frequencies
            stretch = scaling.attention_factor
            if stretch is None:
                stretch = 0.1 * math.log(scaling.factor) + 1 if scaling.factor > 1 else 1.0
            return scaled, stretch


class Alibi(Position):
    """Each head lowers a score by its slope times the distance (Press et al. 2022, section 3)."""

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.slopes = ops.alibi_slopes(n_heads)

    def bias(self, n_queries: int, n_keys: int) -> Tensor:
        return -self.slopes[:, None, None] * ops.distances(n_queries, n_keys).abs()


class T5Bias(Position):
    """A trained number for each head and bucket of distances (Raffel et al. 2020, section 2.1).

    One table serves all blocks of a stack.
    """

    def __init__(self, position: config.T5Bias, n_heads: int, *, two_way: bool) -> None:
        super().__init__()
        self.buckets = nn.Embedding(position.buckets, n_heads)
        self.max_distance = position.max_distance
        self.two_way = two_way

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of each distance, key − query: any shape -> the same shape."""
        return ops.t5_buckets(
            distance,
            two_way=self.two_way,
            n_buckets=self.buckets.num_embeddings,
            max_distance=self.max_distance,
        )

    def bias(self, n_queries: int, n_keys: int) -> Tensor:
        return self.buckets(self.bucket(ops.distances(n_queries, n_keys)).to(self.buckets.weight.device)).permute(
            2, 0, 1
        )


def build(config_: ModelConfig, side: Side) -> Position:
    match config_.position:
        case config.Sinusoidal() as position:
            return Sinusoidal(position, config_.n_context, config_.d_model)
        case config.Learned():
            return Learned(config_.n_context, config_.d_model)
        case config.Rope() as position:
            return Rope(position, config_.d_head)
        case config.Alibi():
            return Alibi(config_.n_heads)
        case config.T5Bias() as position:
            return T5Bias(position, config_.n_heads, two_way=side == "encoder")
        case config.NoPosition():
            return Position()
