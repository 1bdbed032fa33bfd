"""Which tokens go to which expert: in a run, and over texts of two languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from viz_model.config import Experts, ModelConfig, Side
from viz_model.model import sites
from viz_model.runs.trace import Trace
from viz_model.topics.block.pictures.experts import RoutingView
from viz_model.values import counts


def of_layer(trace: Trace, layer: int) -> Experts | None:
    """The experts of a layer; None where it has one network for all tokens."""
    ffn = trace.config.layer(trace.stack.side, layer).ffn
    return ffn if isinstance(ffn, Experts) else None


def routing(trace: Trace, layer: int, token: int) -> RoutingView | None:
    """Who is chosen for every token of a run; None in a layer without experts."""
    if of_layer(trace, layer) is None:
        return None
    site = f"blocks.{layer}.ffn.chosen"
    return RoutingView(tuple(t.label for t in trace.tokens), trace[site].numpy(), site, token)


class Parameters(NamedTuple):
    """Numbers that a model holds, and those of them that one token meets."""

    held: int
    used: int


def parameters(config: ModelConfig, side: Side, layer: int) -> Parameters:
    """Of the feed-forward of one layer."""
    inside = f"{side}.blocks.{layer}.ffn."
    found = [of for name, of in counts.weights(site for _, site in sites.rows(config)).items() if inside in name]
    return Parameters(sum(counts.entries(weight) for weight, _ in found), sum(counts.used(*of) for of in found))


class Load(NamedTuple):
    """What the experts of a layer got over texts: of the tokens of each language the share that chose each, [N, E].

    ``n_tokens`` [N] were read, and ``words`` are the commonest tokens of each expert.
    """

    languages: tuple[str, ...]
    shares: np.ndarray
    n_tokens: tuple[int, ...]
    words: tuple[tuple[str, ...], ...]


def load(runs: Iterable[tuple[str, Trace]], layer: int, most: int = 6) -> Load:
    """Over runs, each with the name of its language.

    Raises:
        ValueError: there are none.
    """
    chosen: dict[str, list[np.ndarray]] = {}
    words: list[Counter[str]] = []
    for language, trace in runs:
        weights = trace[f"blocks.{layer}.ffn.chosen"].numpy() > 0  # [T, E]
        chosen.setdefault(language, []).append(weights)
        words = words or [Counter() for _ in range(weights.shape[1])]
        for expert, counted in enumerate(words):
            counted.update(trace.tokens[n].label for n in np.flatnonzero(weights[:, expert]))
    if not chosen:
        raise ValueError("no text that the model can read")
    joined = {language: np.concatenate(rows) for language, rows in chosen.items()}
    return Load(
        tuple(joined),
        np.stack([rows.mean(0) for rows in joined.values()]),
        tuple(map(len, joined.values())),
        tuple(tuple(word for word, _ in counted.most_common(most)) for counted in words),
    )
