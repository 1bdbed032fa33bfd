"""A seeded monkey finds nothing; of what it is made, that it does find what is wrong."""

from __future__ import annotations

import collections
import os
import time
from pathlib import Path
from typing import Any

import pytest
from browser import monkey
from shared_fixtures import running_app

ACTIONS, SEED = "VIZ_MODEL_MONKEY_ACTIONS", "VIZ_MODEL_MONKEY_SEED"
"""How many actions are made, and from which seed on: 60 from the time by themselves."""
MOST_SECONDS = 12 * 60


@pytest.mark.browser
def test_what_a_monkey_leaves_is_what_its_address_shows(chromium: Any, tmp_path: Path) -> None:
    seed, actions = int(os.environ.get(SEED, time.time())), int(os.environ.get(ACTIONS, 60))
    print(f"{SEED}={seed}")
    log = tmp_path / "log.txt"
    with running_app(log) as url:
        done, failures = monkey.visits(chromium, url, seed, actions, MOST_SECONDS, log)
    assert not failures, "\n\n".join(map(str, failures))
    assert done


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
