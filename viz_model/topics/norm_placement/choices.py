"""What a visitor chooses on this page: what takes seconds of a large model, and where two stacks have their norms."""

from __future__ import annotations

from viz_model.app.choices import one_of, switch
from viz_model.topics.norm_placement.numbers.mixed import PLACES

UNTRAINED = switch("untrained")
GRADIENT = switch("gradient")
MIXED = one_of("mixed", tuple(PLACES))

ALL = (UNTRAINED, GRADIENT, MIXED)
