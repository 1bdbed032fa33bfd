"""What a visitor chooses on this page."""

from __future__ import annotations

from viz_model.app.choices import one_of

SHOWN = one_of("shown", ("head", "average"))
"""Whose weights: one head's, or the average over those of its layer."""
MASK = one_of("mask", ("none", "padding"))
"""Whether the steps are shown as if the end of the source were filling."""

ALL = (SHOWN, MASK)
