"""What a visitor chooses on this page: how tokens are drawn, and which sentences are compared."""

from __future__ import annotations

from typing import Any

from viz_model.app.choices import Choice, maybe, number, switch, whole, words

MAX_TEMPERATURE, MAX_TOP_K, MIN_TOP_P, MAX_SEED = 2.0, 100, 0.05, 9999
MOST_DRAWN = 100
"""Tokens that are drawn on a page at the most."""

TEMPERATURE = number("temperature", 1.0, 0.0, MAX_TEMPERATURE)
TOP_K = maybe(whole("top_k", 1, 1, MAX_TOP_K))
TOP_P = number("top_p", 0.9, MIN_TOP_P, 1.0)
SEED = whole("seed", 0, 0, MAX_SEED)
DRAWN = whole("drawn", 0, 0, MOST_DRAWN)
"""How many tokens are drawn after the text."""
PICKED = maybe(whole("picked", 0, 0, MOST_DRAWN - 1))
"""The draw that is told of; None is the last one."""
GREEDY = switch("greedy")

SENTENCES = tuple(maybe(words(f"sentence_{n}", r"[\s\S]{0,400}")) for n in range(3))
"""What stands in the boxes for other sentences; None is what the page proposes."""

ALL: tuple[Choice[Any], ...] = (TEMPERATURE, TOP_K, TOP_P, SEED, DRAWN, PICKED, GREEDY, *SENTENCES)
