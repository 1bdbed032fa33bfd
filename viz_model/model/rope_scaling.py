"""RoPE for texts longer than those of training: the frequencies are lowered."""

import math

import torch
from torch import Tensor

from viz_model import config


def scale_frequencies(frequencies: Tensor, base: float, scaling: config.RopeScaling | None) -> tuple[Tensor, float]:
    """The frequencies [R/2] that a scaled RoPE uses, and the factor by which it lengthens q and k."""
    match scaling:
        case None:
            return frequencies, 1.0
        case config.LinearScaling(factor=factor):
            return frequencies / factor, 1.0
        case config.Llama3Scaling():
            # Turns that a wave makes over the context it was trained with.
            turns = scaling.original_context * frequencies / (2 * math.pi)
            low, high = scaling.low_freq_factor, scaling.high_freq_factor
            kept = ((turns - low) / (high - low)).clamp(0, 1)
            return kept * frequencies + (1 - kept) * frequencies / scaling.factor, 1.0
        case config.LongScaling():
            return frequencies / torch.tensor(scaling.factors, dtype=frequencies.dtype), scaling.attention_factor
        case config.YarnScaling():
            # Peng et al. 2023, section 3.2: the ramp runs over the index of the pair, between the
            # pairs that make beta_fast and beta_slow turns over the trained context.
            n_rotated = 2 * len(frequencies)

            def pair_with(turns: float) -> float:
                wave = scaling.original_context / (turns * 2 * math.pi)
                return n_rotated * math.log(wave) / (2 * math.log(base))

            begins, ends = pair_with(scaling.beta_fast), pair_with(scaling.beta_slow)
            if scaling.truncate:
                begins, ends = math.floor(begins), math.ceil(ends)
            first, last = max(begins, 0), min(ends, n_rotated - 1)
            pairs = torch.arange(len(frequencies), dtype=torch.float64)
            slowed = ((pairs - first) / (last - first or 0.001)).clamp(0, 1)
            scaled = slowed * frequencies / scaling.factor + (1 - slowed) * frequencies
            stretch = scaling.attention_factor
            if stretch is None:
                stretch = 0.1 * math.log(scaling.factor) + 1 if scaling.factor > 1 else 1.0
            return scaled, stretch
