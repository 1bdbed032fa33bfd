"""Where a text that is drawn token by token goes round in circles, and how sure the model is of what it repeats.

What stands in the text already tends to be more probable the second time, and often more so with every time: decoding
that always takes the most probable token seldom leaves such a circle (Holtzman et al. 2020, "The Curious Case of
Neural Text Degeneration", figure 4).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from viz_model.runs.generation import Step

RUN = 4
"""Tokens that have to come again, one after the other, to be called a repetition."""


class Repetition(NamedTuple):
    """Of N drawn tokens: ``times`` [N], how often the :data:`RUN` tokens that end with each have stood in the text,
    this time included (the text before the first draw counts), and ``probs`` [N], what the model gave it.
    """

    times: np.ndarray
    probs: np.ndarray

    @classmethod
    def of(cls, before: Sequence[int], steps: Sequence[Step]) -> Repetition:
        """Of tokens drawn after the ids ``before``."""
        ids = [*before, *(step.token.id for step in steps)]
        return cls(
            times=np.array(times(ids)[len(before) :], dtype=int),
            probs=np.array([step.probability for step in steps], dtype=float),
        )

    @property
    def n_repeated(self) -> int:
        return int((self.times > 1).sum())

    def among(self, least: int, most: float = math.inf) -> np.ndarray:
        """[N], bool: the tokens that ended their run for the ``least``-th to ``most``-th time."""
        return (self.times >= least) & (self.times <= most)

    def mean(self, least: int, most: float = math.inf) -> float | None:
        """The mean probability of the tokens :meth:`among` these, if there are any."""
        found = self.probs[self.among(least, most)]
        return float(found.mean()) if len(found) else None


def times(ids: Sequence[int], run: int = RUN) -> list[int]:
    """For each token how often the ``run`` tokens that end with it have stood up to there; 1 where there are fewer."""
    seen: Counter[tuple[int, ...]] = Counter()
    found = []
    for end in range(1, len(ids) + 1):
        if end < run:
            found.append(1)
            continue
        ending = tuple(ids[end - run : end])
        seen[ending] += 1
        found.append(seen[ending])
    return found
