"""Why: a score, a logit and a loss as exact sums over what made them."""

from viz_model.explain.scores import Score, score

__all__ = ["Score", "score"]
