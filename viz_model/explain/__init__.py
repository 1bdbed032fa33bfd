"""Why: a score, a logit and a loss as exact sums over what made them."""

from viz_model.explain.cutting import Cut, cut
from viz_model.explain.fitted import FittedLens, fit_lens, lens
from viz_model.explain.frozen import Node
from viz_model.explain.routes import Route, Routes, routes
from viz_model.explain.scores import Score, score

__all__ = ["Cut", "FittedLens", "Node", "Route", "Routes", "Score", "cut", "fit_lens", "lens", "routes", "score"]
