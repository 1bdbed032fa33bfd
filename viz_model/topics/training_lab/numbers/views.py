"""What the curves are given."""

from __future__ import annotations

import numpy as np

from viz_model.topics.training_lab.pictures.run import RunView, ends, thin
from viz_model.training import lab

LATE = 20
"""Steps over which the last state of a run is taken."""


def run_view(run: lab.Experiment) -> RunView:
    """The curves of a run that may still be going."""
    recipe = run.plan.recipe
    # Both lists may grow while this is read.
    reports, held_out = tuple(run.reports), tuple(run.held_out)
    parts = tuple(reports[0].gradient_norms) if reports else ()
    norms = np.array([[report.gradient_norms[part] for report in reports] for part in parts])
    return RunView(
        steps=ends(len(reports)),
        loss=thin([report.loss for report in reports]),
        rate=thin([report.learning_rate for report in reports]),
        norms=np.array([thin(row) for row in norms]).reshape(len(parts), len(ends(len(reports)))),
        parts=parts,
        held_steps=np.array([found.steps for found in held_out]),
        held_loss=np.array([found.loss for found in held_out]),
        held_accuracy=np.array([found.accuracy for found in held_out]),
        planned=run.plan.rates,
        warmup=recipe.warmup,
        guessing=lab.guessing(recipe.config.n_vocab),
        stuck=run.stuck_at,
        n_clipped=sum(report.gradient_norm > recipe.clip for report in reports),
        late=np.median(norms[:, -LATE:], axis=1) if parts else np.zeros(0),
        late_loss=float(np.mean([report.loss for report in reports[-LATE:]])) if reports else np.nan,
    )
