"""What may come of each experiment: what a visitor guesses among, and what is then measured."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, NamedTuple

from viz_model.claims import Claim, Verdict
from viz_model.topics.ablations.left_out import MASK, NORM, POSITION, RESIDUAL, SCALE
from viz_model.topics.ablations.numbers.breaking import ALIKE
from viz_model.topics.ablations.pictures.guesses import GuessesView


class Reach(NamedTuple):
    """How deep a word's own vector decides: the first depth that moves the answer by less than half, if any does."""

    leaves: int | None
    n_layers: int


def _another(name: str) -> Verdict[bool]:
    """Of whether the answer is another one."""
    return Verdict(f"ablations.{name}", Claim("stays", operator.not_), Claim("changes", bool))


def _one_of(*names: str) -> list[Claim[str]]:
    """A claim for each name, that it is the one."""
    return [Claim(name, partial(operator.eq, name)) for name in names]


SHUFFLE: Verdict[float] = Verdict(
    "ablations.shuffle",
    Claim("same", lambda distance: distance < ALIKE),
    Claim("other", lambda distance: distance >= ALIKE),
)
"""Of the relative distance of shuffled outputs from reordered ones."""

HEAD: Verdict[int] = Verdict(
    "ablations.head",
    Claim("survives", lambda n_changed: n_changed == 0),
    Claim("falls", lambda n_changed: n_changed > 0),
)
"""Of how many heads change the answer, each switched off alone."""

PATTERN: Verdict[str] = Verdict("ablations.pattern", *_one_of("uniform", "previous", "first"))
"""Of the pattern that changes the answer least."""

LAYER: Verdict[str] = Verdict("ablations.layer", *_one_of("attn", "cross", "ffn"))
"""Of the kind of the sub-layer that changes the answer most."""

NEURON = _another("neuron")

EXPERT = _another("expert")


class Without(NamedTuple):
    """What it costs to take an expert out, and to send all tokens to it alone, by expert; bits or 1 − cosine."""

    out: tuple[float, ...]
    alone: tuple[float, ...]


EACH_EXPERT: Verdict[Without] = Verdict(
    "ablations.each_expert",
    Claim("spared", lambda costs: max(costs.out) < min(costs.alone)),
    Claim("enough", lambda costs: max(costs.out) >= min(costs.alone)),
)
"""Of all experts of a layer, each without and each alone."""

FLIP = _another("flip")

PATCH: Verdict[Reach] = Verdict(
    "ablations.patch",
    Claim("never", lambda reach: reach.leaves == 0),
    Claim("early", lambda reach: reach.leaves is not None and 0 < reach.leaves <= reach.n_layers / 2),
    Claim("late", lambda reach: reach.leaves is not None and reach.leaves > reach.n_layers / 2),
    Claim("end", lambda reach: reach.leaves is None),
)
"""Of how deep a word's own vector decides over the answer."""


GUESSES: Verdict[GuessesView] = Verdict(
    "ablations.guesses",
    Claim("same", lambda view: view.outcome == "same"),
    Claim("stays", lambda view: view.outcome == "stays"),
    Claim("changes", lambda view: view.outcome == "changes"),
)
"""Of what both runs expect."""

OUTCOMES: dict[str, Verdict[Any]] = {
    verdict.name.removeprefix("ablations."): verdict
    for verdict in (SCALE, POSITION, SHUFFLE, MASK, RESIDUAL, NORM, HEAD, PATTERN, LAYER, NEURON, EXPERT, FLIP, PATCH)
}
"""The experiments in the order in which the page offers them, and what may come of each."""
