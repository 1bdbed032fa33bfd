"""What a visitor chooses on this page: of a large model, what takes seconds to compute."""

from __future__ import annotations

from viz_model.app.choices import switch

UNTRAINED = switch("untrained")
GRADIENT = switch("gradient")

ALL = (UNTRAINED, GRADIENT)
