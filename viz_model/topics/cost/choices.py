"""What a visitor chooses on this page."""

from __future__ import annotations

from viz_model.app.choices import Choice, maybe, switch

TARGETS = tuple(2**power for power in range(14))
"""Tokens that a target may have."""


def _target(text: str) -> int:
    by_text = {str(n): n for n in TARGETS}
    if text not in by_text:
        raise ValueError(text)
    return by_text[text]


ORDER = switch("order")
"""Whether words are shuffled though it takes long."""
N_TARGET = maybe(Choice("n_target", TARGETS[0], _target))

ALL = (ORDER, N_TARGET)
