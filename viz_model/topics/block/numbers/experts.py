"""Which tokens go to which expert: in a run, over texts that are read for it, and as measured beforehand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from viz_model.config import Experts, ModelConfig, Side
from viz_model.model import sites
from viz_model.runs.trace import Trace
from viz_model.topics.block.pictures.experts import RoutingView
from viz_model.topics.block.pictures.routes import RoutesView
from viz_model.training.routing import FILE
from viz_model.values import counts


def of_layer(trace: Trace, layer: int) -> Experts | None:
    """The experts of a layer; None where it has one network for all tokens."""
    return trace.config.layer(trace.stack.side, layer).experts


def routes(trace: Trace, layer: int, token: int) -> RoutesView | None:
    """Who is chosen for every token in every layer; None where no layer has experts, or not as many as the others."""
    found = trace.config.layers_with_experts(trace.stack.side)
    sites_ = tuple(f"blocks.{n}.ffn.chosen" for n in found)
    weights = [trace[site].numpy() for site in sites_]
    if not weights or len({rows.shape for rows in weights}) > 1:
        return None
    return RoutesView(tuple(t.label for t in trace.tokens), found, sites_, np.stack(weights), layer, token)


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
    found = [of for name, of in counts.weights(site for _, site in sites.in_order(config)).items() if inside in name]
    return Parameters(sum(counts.entries(weight) for weight, _ in found), sum(counts.used(*of) for of in found))


def of_model(config: ModelConfig) -> Parameters:
    """Of a whole model."""
    found = counts.weights(site for _, site in sites.in_order(config)).values()
    return Parameters(sum(counts.entries(weight) for weight, _ in found), sum(counts.used(*of) for of in found))


class Inside(NamedTuple):
    """Where a neuron stands among experts: number ``inside`` of ``expert``, which ``n_read`` tokens of the run chose.

    ``weight`` is that of the expert for one token, 0 where it was not chosen.
    """

    expert: int
    inside: int
    n_read: int
    weight: float


def of_neuron(trace: Trace, layer: int, token: int, neuron: int) -> Inside | None:
    """Of one of all experts' neurons; None in a layer without experts."""
    ffn = of_layer(trace, layer)
    if ffn is None:
        return None
    expert, inside = divmod(neuron, ffn.width(trace.config.d_ffn))
    weights = trace[f"blocks.{layer}.ffn.chosen"][:, expert]
    return Inside(expert, inside, int((weights > 0).sum()), float(weights[token]))


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


class Measured(NamedTuple):
    """What :mod:`viz_model.training.routing` measured of one layer, when the model was published.

    Attributes:
        kinds: of text, K of them; ``n_tokens`` [K] were read of each.
        shares: of the tokens of a kind those that chose each expert, [K, E].
        balance: E · Σ f·P by kind, and over all of them under ``all``.
        tokens: for each expert the tokens of which it reads most beyond its share, each with its own share.
        trained_on: the kinds that the model was trained on.
    """

    kinds: tuple[str, ...]
    n_tokens: tuple[int, ...]
    shares: np.ndarray
    balance: dict[str, float]
    tokens: tuple[tuple[tuple[str, float], ...], ...]
    trained_on: tuple[str, ...]

    @property
    def most(self) -> tuple[str, int, float]:
        """The kind and the expert whose share is the largest of all, and that share."""
        kind, expert = np.unravel_index(self.shares.argmax(), self.shares.shape)
        return self.kinds[int(kind)], int(expert), float(self.shares[kind, expert])

    @property
    def even(self) -> float:
        """The share of each expert, were all chosen alike."""
        return float(self.shares.sum(1).mean() / self.shares.shape[1])


def measured(folder: Path, layer: int) -> Measured | None:
    """The measures that lie beside a bundled model's weights; None where there are none of this layer."""
    path = folder / FILE
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    if (of := found["layers"].get(str(layer))) is None:
        return None
    return Measured(
        tuple(found["n_tokens"]),
        tuple(found["n_tokens"].values()),
        np.array([of["shares"][kind] for kind in found["n_tokens"]]),
        of["balance"],
        tuple(tuple((label, share) for label, share, _ in row) for row in of["tokens"]),
        tuple(found["trained_on"]),
    )


class Beside(NamedTuple):
    """A sentence as two models read it: the mean loss of its tokens in nats, and what each expects next."""

    losses: tuple[float, float]
    n_asked: int
    expected: tuple[tuple[tuple[str, float], ...], tuple[tuple[str, float], ...]]


def beside(routed: Trace, dense: Trace, most: int = 5) -> Beside | None:
    """A decoder's run beside that of its dense sibling over the same tokens; None where nothing is predicted."""
    if len(routed) < 2 or routed.ids != dense.ids or not routed.config.has_logits:
        return None
    losses = []
    for run in (routed, dense):
        logs = run["logits"][:-1].double().log_softmax(-1)
        losses.append(-logs.gather(1, logs.new_tensor(run.ids[1:]).long()[:, None]).mean().item())
    told = [tuple((token.label, share) for token, share in run.next_tokens(-1, most)) for run in (routed, dense)]
    return Beside((losses[0], losses[1]), len(routed) - 1, (told[0], told[1]))
