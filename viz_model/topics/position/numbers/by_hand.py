"""The arithmetic of single numbers, for prose."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from viz_model.drawing import theme
from viz_model.runs.trace import Trace
from viz_model.topics.position import numbers
from viz_model.topics.position.numbers.views import PARTS, summed
from viz_model.topics.position.pictures.added import AddedView


def wave_by_hand(trace: Trace, token: int, pair: int) -> dict[str, str]:
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


def row_by_hand(trace: Trace, token: int, column: int) -> dict[str, str]:
    """One cell of the vectors that are added to the embedding, and of the sum, for prose."""
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


def pair_by_hand(trace: Trace, layer: int, head: int, query: int, key: int, pair: int) -> dict[str, str]:
    """One pair of one query turned by hand, and its share of one score, for prose."""
    of_head, position = numbers.rotation(trace, layer, head), numbers.rope(trace, layer)
    columns = list(numbers.rotated_columns(trace, layer, pair))
    frequency = numbers.frequencies(trace, layer).used[pair]
    angle = query * frequency
    a, b = (of_head.q[query, column].item() for column in columns)
    cos, sin = position.stretch * math.cos(angle), position.stretch * math.sin(angle)
    turned_q, turned_k = of_head.q_rotated[query], of_head.k_rotated[key]
    share = (turned_q[columns] * turned_k[columns]).sum().item()
    values = {
        "a": a,
        "b": b,
        "cos": cos,
        "sin": sin,
        "new_a": a * cos - b * sin,
        "new_b": a * sin + b * cos,
        "recorded_a": turned_q[columns[0]].item(),
        "recorded_b": turned_q[columns[1]].item(),
        "key_a": turned_k[columns[0]].item(),
        "key_b": turned_k[columns[1]].item(),
        "share": share,
    }
    return {
        **{name: f"{number:.4f}" for name, number in values.items()},
        **{f"signed_{name}": theme.signed(number) for name, number in values.items()},
        **score_by_hand(trace, layer, head, query, key),
        "pair": str(pair),
        "first": str(columns[0]),
        "second": str(columns[1]),
        "frequency": f"{frequency:.6g}",
        "angle": f"{angle:.4f}",
        "degrees": f"{math.degrees(angle) % 360:.0f}",
        "turns": f"{angle / (2 * math.pi):.2f}",
    }


def score_by_hand(trace: Trace, layer: int, head: int, query: int, key: int) -> dict[str, str]:
    """One score as the product of what a head reads of a query and of a key, for prose."""
    at = f"blocks.{layer}.attn."
    rotated = f"{at}q_rotated" in trace
    q, k = (at + f"{letter}_rotated" if rotated else numbers.unrotated_site(trace, layer, letter) for letter in "qk")
    return {
        "position": str(query),
        "key_position": str(key),
        "product": f"{(trace.head(q, head)[query] @ trace.head(k, head)[key]).item():.4f}",
        "scale": f"{trace.stack.block(layer).attn.scale:.4f}",
        "score": f"{trace.head(at + 'scores', head)[query, key].item():.4f}",
    }


def frequencies_in_words(trace: Trace, layer: int, pair: int) -> dict[str, str]:
    """The frequencies of a layer, for prose."""
    frequencies, config = numbers.frequencies(trace, layer), trace.config
    lengths = frequencies.wavelengths
    return {
        "base": f"{numbers.rotary(trace, layer).base:,g}",
        "pairs": str(len(lengths)),
        "rotated": str(2 * len(lengths)),
        "width": str(config.d_head),
        "kept": str(config.d_head - 2 * len(lengths)),
        "fastest": f"{lengths.min():,.1f}",
        "slowest": f"{lengths.max():,.0f}",
        "last_pair": str(len(lengths) - 1),
        "wavelength": f"{lengths[pair]:,.1f}",
        "turning": str(frequencies.turning(len(trace))),
        "turning_context": str(frequencies.turning(config.n_context)),
        "length": str(len(trace)),
        "context": f"{config.n_context:,}",
        "stretch": f"{numbers.rope(trace, layer).stretch:.4f}",
    }


def bias_by_hand(view: AddedView, key: int) -> dict[str, str]:
    """One cell: score + bias, and the factor e^bias before the softmax divides, for prose."""
    cell = (view.query, key)
    score, bias, masked, weight, without = (
        float(values[cell])
        for values in (*view.head_values[:3], view.head_values.pattern, view.head_values.pattern_without)
    )
    return {
        "position": str(view.query),
        "key_position": str(key),
        "distance": str(key - view.query),
        "back": str(abs(key - view.query)),
        "score": f"{score:.4f}",
        "bias": theme.signed(bias),
        "masked": f"{masked:.4f}",
        "factor": f"{math.exp(bias):.4g}",
        "weight": f"{weight:.2%}",
        "without": f"{without:.2%}",
    }


def bucket_by_hand(buckets: numbers.Buckets, distance: int) -> dict[str, str]:
    """Which bucket a distance falls into, for prose."""
    back = abs(distance) if buckets.two_way else max(0, -distance)
    first = buckets.per_side if buckets.two_way and distance > 0 else 0
    return {
        "buckets": str(buckets.total),
        "per_side": str(buckets.per_side),
        "exact": str(buckets.exact),
        "wide": str(buckets.per_side - buckets.exact),
        "max_distance": str(buckets.max_distance),
        "far": str(back),
        "first": str(first),
        "bucket": str(int(buckets.of(np.array([distance]))[0])),
        "grown": f"{math.log(max(back, 1) / buckets.exact) / math.log(buckets.max_distance / buckets.exact):.4f}",
    }


MAX_TERMS = 8


class Mixture(NamedTuple):
    """Value 0 of one z as a sum over keys: the heaviest ``terms``, written out, and the sum of all."""

    terms: tuple[tuple[int, str], ...]
    total: str
    recorded: str


def mixture_by_hand(trace: Trace, layer: int, head: int, query: int) -> Mixture:
    """Value 0 of what a head mixes for a query."""
    at = f"blocks.{layer}.attn."
    weights = trace.head(at + "pattern", head)[query].numpy()
    values = trace.head(at + "v", head)[:, 0].numpy()
    heaviest = [int(key) for key in np.argsort(-weights, kind="stable")[:MAX_TERMS] if weights[key] > 0]
    terms = [
        (key, f"{weights[key]:.4f} \\cdot {theme.signed(values[key])} = {weights[key] * values[key]:.4f}")
        for key in heaviest
    ]
    recorded = trace.head(at + "z", head)[query, 0].item()
    return Mixture(tuple(terms), f"{float(weights @ values):.4f}", f"{recorded:.4f}")
