"""What is drawn of a changed run: both runs' own numbers, and the right finding."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import describe, few, language_model, run_both

from viz_model.app import interventions as views
from viz_model.app.interventions import draw_guesses, draw_places, draw_written
from viz_model.config import ModelConfig
from viz_model.measures import change as analysis
from viz_model.measures.change import UNCHANGED
from viz_model.runs.edits import AblateHead


@pytest.mark.parametrize("config", few(), ids=describe)
def test_both_runs_are_drawn_and_every_position_has_its_own_change(config: ModelConfig) -> None:
    lm, side = language_model(config), config.sides[-1]
    off = [AblateHead(layer=0, head=head, side=side) for head in range(2)]
    before, after = run_both(lm).at(side), run_both(lm, edits=off).at(side)
    if "logits" in before:
        one = analysis.firsts(before, after, [1])
        bars = {each.name: each.values for each in draw_guesses(one, before, str, "x.guesses").series}
        np.testing.assert_array_equal(bars["before"], one.before[0])
        np.testing.assert_array_equal(bars["after"], one.after[0])
    view, vectors = views.places_view(before, after, 1), analysis.vectors(before, after)
    assert view.measure == ("divergence" if "probs" in before else "turn")
    expected = analysis.divergences(before, after) if "probs" in before else 1 - vectors.cosines
    (drawn,) = draw_places(view, "title", "what it shows", "x.places").series
    np.testing.assert_allclose(drawn.values, expected, rtol=1e-6)
    np.testing.assert_array_equal(view.lengths, [vectors.before, vectors.after])
    assert view.facts()["n_changed"] == str(int((expected > UNCHANGED).sum()))
    assert views.places_view(before, before, 1).facts()["n_changed"] == "0"
    was, now = (analysis.written(run, 0, 1) for run in (before, after))
    assert (now[:2] == 0).all() and (was > 0).all()
    bars = {each.name: each.values for each in draw_written(was, now, str, "head", 0).series}
    np.testing.assert_array_equal(bars["after"], now)
