"""Why: a score, a logit and a loss as exact sums over what made them; what is known at each depth, and by each unit;
and the gradient of a loss.
"""

from viz_model.explain.backward import Gradients, Step, gradients
from viz_model.explain.cutting import Cut, cut
from viz_model.explain.fitted import FittedLens, fit_lens, lens
from viz_model.explain.frozen import Node
from viz_model.explain.routes import Route, Routes, routes
from viz_model.explain.sample import UnitSample, sample_units
from viz_model.explain.scores import Score, score
from viz_model.explain.units import Unit, unit

__all__ = [
    "Cut",
    "FittedLens",
    "Gradients",
    "Node",
    "Route",
    "Routes",
    "Score",
    "Step",
    "Unit",
    "UnitSample",
    "cut",
    "fit_lens",
    "gradients",
    "lens",
    "routes",
    "sample_units",
    "score",
    "unit",
]
