"""What is drawn of a changed run: both runs' own numbers, and the right finding."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import describe, language_model, run_both, variants

from viz_model.app import interventions as views
from viz_model.app.interventions import draw_guesses, draw_places, draw_written
from viz_model.config import ModelConfig
from viz_model.measures import change as analysis
from viz_model.measures.change import GUESSES, UNCHANGED
from viz_model.runs.edits import AblateHead
from viz_model.runs.trace import Trace


def words(key: str) -> str:
    return key


@pytest.fixture(params=variants(), ids=describe)
def pair(request: pytest.FixtureRequest) -> tuple[Trace, Trace]:
    config: ModelConfig = request.param
    lm, side = language_model(config), config.sides[-1]
    off = [AblateHead(layer=0, head=head, side=side) for head in range(2)]
    return run_both(lm).at(side), run_both(lm, edits=off).at(side)


def test_guesses_hold_the_first_of_both_runs(pair: tuple[Trace, Trace]) -> None:
    before, after = pair
    if "logits" not in before:
        with pytest.raises(KeyError):
            analysis.firsts(before, after, [1])
        return
    found = analysis.firsts(before, after, [1, 2])
    for run, probs, tops in zip(pair, (found.before, found.after), found.tops, strict=True):
        for n, position in enumerate((1, 2)):
            top = run.next_tokens(position, analysis.SHOWN)
            assert {token.id for token, _ in top} <= set(found.ids[n]) and tops[n] == top[0][0].id
            assert np.nanmax(probs[n]) == pytest.approx(top[0][1], abs=1e-6)
        assert all((np.diff(row[~np.isnan(row)]) <= 0).all() for row in found.before)
    one = analysis.firsts(before, after, [1])
    assert GUESSES.of(one).name == ("stays" if one.best[0] == one.best[1] else "changes")
    bars = {each.name: each.values for each in draw_guesses(one, before, words, "x.guesses").series}
    np.testing.assert_array_equal(bars["before"], one.before[0])
    np.testing.assert_array_equal(bars["after"], one.after[0])
    assert GUESSES.of(analysis.firsts(before, before, [1])).name == "same"


def test_every_position_has_its_own_change(pair: tuple[Trace, Trace]) -> None:
    before, after = pair
    view = views.places_view(before, after, 1)
    vectors = analysis.vectors(before, after)
    assert view.measure == ("divergence" if "probs" in before else "turn")
    expected = analysis.divergences(before, after) if "probs" in before else 1 - vectors.cosines
    np.testing.assert_array_equal(view.values, expected)
    np.testing.assert_array_equal(view.lengths, [vectors.before, vectors.after])
    (bars,) = draw_places(view, "title", "what it shows", "x.places").series
    np.testing.assert_allclose(bars.values, expected, rtol=1e-6)
    assert view.facts()["n_changed"] == str(int((expected > UNCHANGED).sum()))
    assert views.places_view(before, before, 1).facts()["n_changed"] == "0"


def test_an_encoder_that_feeds_a_decoder_is_compared_by_its_vectors() -> None:
    lm = language_model(next(c for c in variants() if c.kind == "encoder_decoder"))
    before = run_both(lm).at("encoder")
    after = run_both(lm, edits=[AblateHead(layer=0, head=0, side="encoder")]).at("encoder")
    view = views.places_view(before, after, 0)
    assert view.measure == "turn" and len(view.values) == len(before) and (view.values > 0).all()


def test_heads_that_are_off_have_no_bar(pair: tuple[Trace, Trace]) -> None:
    before, after = (analysis.written(run, 0, 1) for run in pair)
    assert (after[:2] == 0).all() and (before > 0).all()
    bars = {one.name: one.values for one in draw_written(before, after, words, "head", 0).series}
    np.testing.assert_array_equal(bars["after"], after)
