"""Why: a score, a logit and a loss as exact sums over what made them."""

from viz_model.explain.cutting import Cut, cut
from viz_model.explain.frozen import Stop
from viz_model.explain.routes import Route, Routes, routes
from viz_model.explain.scores import Score, score

__all__ = ["Cut", "Route", "Routes", "Score", "Stop", "cut", "routes", "score"]
