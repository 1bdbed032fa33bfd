"""What the seeded monkey compares a tab by: any difference is named."""

from __future__ import annotations

import collections

import pytest
from browser import monkey


class _Screen:
    """What :func:`monkey.compared` asks of a tab."""

    def __init__(self, query: str, lines: list[str], words: list[str]) -> None:
        self.query, self.lines, self.words = query, lines, words

    def address(self) -> tuple[str, list[tuple[str, str]]]:
        return "/attention", [("head", self.query)]

    def read(self) -> tuple[list[str], collections.Counter[str]]:
        return self.lines, collections.Counter(self.words)


@pytest.mark.parametrize(
    ("query", "lines", "words", "wrong"),
    [
        ("1", ["a", "b"], ["x"], []),
        ("2", ["a", "b"], ["x"], ["address"]),
        ("1", ["a", "c"], ["x"], ["roles"]),
        ("1", ["a", "b"], ["x", "x"], ["words"]),
        ("1", ["b", "a"], ["x"], ["the same in another order"]),
    ],
)
def test_any_difference_is_named(query: str, lines: list[str], words: list[str], wrong: list[str]) -> None:
    found = monkey.compared(_Screen("1", ["a", "b"], ["x"]), _Screen(query, lines, words))
    assert len(found) == len(wrong) and all(one.startswith(other) for one, other in zip(found, wrong, strict=True))
