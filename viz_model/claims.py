"""Sentences that could be false, each with what makes it true.

A :class:`Claim` says more of a run than its plain numbers: "mostly", "grows", "late", what a head does, how a
training run ended. It is a name and a predicate over values; the sentence that it permits stands in the texts of every
language under its name, so that languages cannot differ in what they say. A :class:`Verdict` holds the claims that may
be made of one thing. General statements, true of any run, are no claims: they stand in the texts of their topic.

Of the verdict ``topic.thing``, the claim ``name`` has

- its sentence in ``<language>/topic.md`` under ``## thing.name``, or else is said as ``## thing.plain`` is: the plain
  statement of the numbers, which also stands where no claim holds;
- where it needs one, its label in ``<language>/topic.toml`` as ``"thing.name.label"``: the same in a word or two, for
  a headline or a mark in a picture.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from viz_model.texts import Texts

V = TypeVar("V")


@dataclass(frozen=True)
class Claim(Generic[V]):
    """A sentence and when it may be said.

    Attributes:
        name: within its verdict.
        holds: whether the values permit it. It asks absolute quantities, and no more than the sentence says:
            "mostly" is more than half, "grows" is a last value above the first one. Of arrays it is asked element by
            element (:meth:`Verdict.table`).
        verdict: the name of its verdict, which sets it.
    """

    name: str
    holds: Callable[[V], Any]
    verdict: str = ""

    def says(self, language: str, /, **filled: object) -> str:
        """The sentence; ``filled`` are its placeholders' values, already written out. "" where there is none."""
        words = Texts(language)
        for key in (f"{self.verdict}.{self.name}", f"{self.verdict}.plain"):
            if words.knows(key):
                return words.prose(key, **filled)
        return ""

    def label(self, language: str, /, **filled: object) -> str:
        """The label, "" where it has none."""
        key, words = f"{self.verdict}.{self.name}.label", Texts(language)
        return words(key, **filled) if words.has_label(key) else ""


class Verdict(Generic[V]):
    """What may be said of some values: the first claim that holds, or else plainly the numbers.

    Args:
        name: ``topic.thing``, unique in the app.
        claims: in the order in which they are asked.
    """

    def __init__(self, name: str, *claims: Claim[V]) -> None:
        self.name = name
        self.claims = tuple(replace(claim, verdict=name) for claim in claims)
        self.plain: Claim[V] = Claim("plain", lambda values: True, name)

    def of(self, values: V) -> Claim[V]:
        """The claim that is made of these values."""
        return next((claim for claim in self.claims if claim.holds(values)), self.plain)

    def says(self, language: str, values: V, /, **filled: object) -> str:
        """The sentence on these values; ``filled`` are its placeholders' values, already written out."""
        return self.of(values).says(language, **filled)

    def label(self, language: str, values: V, /, **filled: object) -> str:
        """The label of these values, "" where it has none."""
        return self.of(values).label(language, **filled)

    @property
    def every(self) -> tuple[Claim[V], ...]:
        """All claims, and the plain statement last."""
        return (*self.claims, self.plain)

    def table(self, values: V) -> np.ndarray:
        """Which of :attr:`every` is made where ``values`` are arrays, which the predicates take element by element."""
        held = [np.asarray(claim.holds(values)) for claim in self.claims]
        return np.select(held, range(len(held)), len(held)) if held else np.zeros((), int)

    def labels(self, language: str, /, **filled: object) -> dict[str, str]:
        """All labels, by the names of their claims: for a legend."""
        found = {claim.name: claim.label(language, **filled) for claim in self.every}
        return {name: label for name, label in found.items() if label}


def exceeds(larger: float, smaller: float, decimals: int) -> bool:
    """Whether one number is above another as both are written on a page, with so many decimals."""
    return round(larger, decimals) > round(smaller, decimals)
