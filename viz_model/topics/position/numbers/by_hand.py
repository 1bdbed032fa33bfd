"""The arithmetic of single numbers, for prose."""

from __future__ import annotations

import numpy as np

from viz_model.drawing import theme
from viz_model.runs.trace import Trace
from viz_model.topics.position import numbers
from viz_model.topics.position.numbers.views import PARTS, summed


def by_hand(trace: Trace, token: int, pair: int) -> dict[str, str]:
    """The arithmetic of one position and pair for prose, and of the textbook case D = 4, position 1."""
    config = trace.config
    base, columns = numbers.scheme(config).base, numbers.wave_columns(config, pair)
    divisor = base ** (2 * pair / config.d_model)
    angle = token / divisor
    sine, cosine = (trace["embed.position"][token, column].item() for column in columns)
    parts = {site: trace[site][token, columns[0]].item() for site in PARTS if site in trace}
    rest = sum(value for site, value in parts.items() if site != "embed.position")
    textbook = numbers.waves(np.array([1]), d_model=4, base=10_000.0)[0]
    return {
        "position": str(token),
        "pair": str(pair),
        "sine_at": str(columns[0]),
        "cosine_at": str(columns[1]),
        "exponent": str(2 * pair),
        "base": f"{base:g}",
        "d_model": str(config.d_model),
        "divisor": f"{divisor:.4f}",
        "angle": f"{angle:.4f}",
        "sine": f"{np.sin(angle):.4f}",
        "cosine": f"{np.cos(angle):.4f}",
        "recorded_sine": f"{sine:.4f}",
        "recorded_cosine": f"{cosine:.4f}",
        "embedding": f"{rest:.4f}",
        "signed_sine": theme.signed(sine),
        "sum": f"{summed(trace)[token, columns[0]].item():.4f}",
        "textbook_0": f"{textbook[0]:.4f}",
        "textbook_1": f"{textbook[1]:.4f}",
        "textbook_2": f"{textbook[2]:.7f}",
        "textbook_3": f"{textbook[3]:.5f}",
    }


def ends(trace: Trace) -> dict[str, str]:
    """The fastest and the slowest wave in words: their length in tokens, and how far the slowest gets."""
    config = trace.config
    last = config.d_model // 2 - 1
    slowest = numbers.wavelength(config, last)
    turning = sum(numbers.wavelength(config, pair) <= config.n_context for pair in range(last + 1))
    return {
        "turning": str(turning),
        "pairs": str(last + 1),
        "fastest": f"{numbers.wavelength(config, 0):.1f}",
        "slowest": f"{slowest:,.0f}",
        "last_pair": str(last),
        "context": str(config.n_context),
        "last_position": str(config.n_context - 1),
        "turn": f"{(config.n_context - 1) / slowest:.2%}",
        "length": f"{(config.d_model / 2) ** 0.5:.2f}",
    }


def learned_by_hand(trace: Trace, token: int, column: int) -> dict[str, str]:
    """One cell of the table, and of the sum, for prose."""
    parts = {site: trace[site][token, column].item() for site in PARTS if site in trace}
    rest = sum(value for site, value in parts.items() if site != "embed.position")
    return {
        "position": str(token),
        "column": str(column),
        "value": f"{parts['embed.position']:.4f}",
        "signed_value": theme.signed(parts["embed.position"]),
        "embedding": f"{rest:.4f}",
        "sum": f"{summed(trace)[token, column].item():.4f}",
        "context": f"{trace.config.n_context:,}",
        "last_position": f"{trace.config.n_context - 1:,}",
        "numbers": f"{trace.config.n_context * trace.config.d_model:,}",
        "d_model": str(trace.config.d_model),
    }
