"""Single numbers worked out, for prose."""

from __future__ import annotations

import math

import numpy as np

from viz_model.drawing import theme
from viz_model.runs.trace import Trace
from viz_model.topics.position import numbers
from viz_model.topics.position.numbers.views import PARTS, summed
from viz_model.topics.position.pictures.added import AddedView


def textbook() -> dict[str, str]:
    """The textbook case for prose: D = 4, position 1."""
    sin, cos, slow_sin, slow_cos = numbers.waves(np.array([1]), d_model=4, base=numbers.PAPER_BASE)[0]
    return {
        "textbook_0": f"{sin:.4f}",
        "textbook_1": f"{cos:.4f}",
        "textbook_2": f"{slow_sin:.7f}",
        "textbook_3": f"{slow_cos:.5f}",
    }


def wave_facts(trace: Trace, token: int, pair: int) -> dict[str, str]:
    """One pair of waves at a position, and the fastest and the slowest of all, for prose."""
    config, found, columns = trace.config, numbers.turns(trace.config), numbers.wave_columns(trace.config, pair)
    slowest = numbers.wavelength(config, found.pairs - 1)
    sine, cosine = (f"{trace['embed.position'][token, column].item():.4f}" for column in columns)
    angle = min((config.n_context - 1) / slowest, 0.25) * 2 * math.pi
    return {
        "position": str(token),
        "pair": str(pair),
        "sine_at": str(columns[0]),
        "cosine_at": str(columns[1]),
        "recorded_sine": sine,
        "recorded_cosine": cosine,
        "base": f"{numbers.scheme(config).base:g}",
        "d_model": str(config.d_model),
        "turning": str(found.turning),
        "pairs": str(found.pairs),
        "fastest": f"{numbers.wavelength(config, 0):.1f}",
        "slowest": f"{slowest:,.0f}",
        "last_pair": str(found.pairs - 1),
        "context": str(config.n_context),
        "last_position": str(config.n_context - 1),
        "turn": f"{found.slowest:.2%}",
        "sine": f"{math.sin(angle) + 5e-4:.3f}",
        "cosine": f"{math.cos(angle) - 5e-4:.3f}",
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
        "position": str(query),
        "key_position": str(key),
        "product": f"{(turned_q @ turned_k).item():.4f}",
        "scale": f"{trace.stack.block(layer).attn.scale:.4f}",
        "score": f"{trace.head(f'blocks.{layer}.attn.scores', head)[query, key].item():.4f}",
        "pair": str(pair),
        "first": str(columns[0]),
        "second": str(columns[1]),
        "frequency": f"{frequency:.6g}",
        "angle": f"{angle:.4f}",
        "degrees": f"{math.degrees(angle) % 360:.0f}",
        "turns": f"{angle / (2 * math.pi):.2f}",
    }


def frequencies_in_words(trace: Trace, layer: int, pair: int) -> dict[str, str]:
    """The frequencies of a layer, for prose."""
    frequencies, config = numbers.frequencies(trace, layer), trace.config
    lengths, degrees = frequencies.wavelengths, np.degrees(frequencies.used)
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
        "fastest_degrees": f"{degrees.max():,.3g}",
        "slowest_degrees": f"{degrees.min():,.3g}",
        "turning": str(frequencies.turning(len(trace))),
        "turning_context": str(frequencies.turning(config.n_context)),
        "unmet": str(len(lengths) - frequencies.turning(config.n_context)),
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
