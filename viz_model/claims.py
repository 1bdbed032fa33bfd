"""Sentences that could be false, each with what makes it true.

A :class:`Claim` says more of a run than its plain numbers: "mostly", "grows", "late", what a head does, how a
training run ended. It is a predicate over values with the text it permits, in every language side by side, so
that languages cannot differ in what they say. A :class:`Verdict` holds the claims that may be made of one thing and
the plain statement of the numbers that stands where none of them holds. General statements, true of any run, are no
claims: they stand in the texts of their topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from viz_model.texts import said

V = TypeVar("V")


class Text(NamedTuple):
    """One text in every language. ``{{name}}`` is a placeholder; braces of LaTeX are left alone."""

    en: str
    zh: str

    def fill(self, language: str, values: Mapping[str, object]) -> str:
        """Raises KeyError: a placeholder without a value, or no such language."""
        return said(self._asdict()[language], values)


@dataclass(frozen=True)
class Claim(Generic[V]):
    """A sentence and when it may be said.

    Attributes:
        name: within its verdict.
        holds: whether the values permit it. It asks absolute quantities, and no more than the sentence says:
            "mostly" is more than half, "grows" is a last value above the first one.
        says: the sentence.
        label: the same in a word or two, for a headline or a mark in a picture, where one is needed.
    """

    name: str
    holds: Callable[[V], bool]
    says: Text
    label: Text | None = None


class Verdict(Generic[V]):
    """What may be said of some values: the first claim that holds, or else plainly the numbers.

    Args:
        name: ``topic.thing``, unique in the app.
        claims: in the order in which they are asked.
        plain: what is said where none of them holds; true of any values. None says nothing.
        label: its label.
    """

    def __init__(self, name: str, *claims: Claim[V], plain: Text | None = None, label: Text | None = None) -> None:
        self.name = name
        self.claims = claims
        self.plain: Claim[V] = Claim("plain", lambda values: True, plain or Text("", ""), label)

    def of(self, values: V) -> Claim[V]:
        """The claim that is made of these values."""
        return next((claim for claim in self.claims if claim.holds(values)), self.plain)

    def says(self, language: str, values: V, /, **filled: object) -> str:
        """The sentence on these values; ``filled`` are its placeholders' values, already written out."""
        return self.of(values).says.fill(language, filled)

    def label(self, language: str, values: V, /, **filled: object) -> str:
        """The label of these values, "" where it has none."""
        label = self.of(values).label
        return label.fill(language, filled) if label else ""

    def labels(self, language: str, /, **filled: object) -> dict[str, str]:
        """All labels, by the names of their claims: for a legend."""
        every = (*self.claims, self.plain)
        return {claim.name: claim.label.fill(language, filled) for claim in every if claim.label}


def exceeds(larger: float, smaller: float, decimals: int) -> bool:
    """Whether one number is above another as both are written on a page, with so many decimals."""
    return round(larger, decimals) > round(smaller, decimals)
