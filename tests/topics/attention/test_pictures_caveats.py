"""Weights and what arrives, as they are drawn and said."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import language_model, run_both, tiny_config

from viz_model.drawing.writing import share
from viz_model.topics.attention.numbers import caveats as care
from viz_model.topics.attention.numbers.caveats import Arriving, Taken
from viz_model.topics.attention.pictures.every_head import HeadsView, draw_heads
from viz_model.topics.attention.pictures.pairs import PairsView, draw_pairs
from viz_model.topics.attention.pictures.row import RowView, draw_row

SEEN = np.tril(np.ones((4, 4), dtype=bool))
WORDS = {
    name: name
    for name in ("weight", "share", "axis", "key", "query", "first", "others", "equal", "layer", "head", "value")
}


def arriving() -> Arriving:
    """One head whose first token takes half of the weight and gives a tenth of what arrives."""
    weights = np.where(SEEN, 1.0, 0.0) / SEEN.sum(-1)[:, None]
    lengths = weights * np.array([0.1, 1.0, 1.0, 1.0])
    return Arriving(weights[None], lengths[None], SEEN)


def test_a_row_has_the_largest_keys_in_the_order_of_the_text() -> None:
    found = arriving()
    row = RowView.of(found, tuple("abcd"), 0, 3, most=3)
    assert row.keys == (1, 2, 3) and row.labels == ("b", "c", "d") and row.n_seen == 4
    whole = RowView.of(found, tuple("abcd"), 0, 3)
    assert whole.furthest == 0 and whole.weights.sum() == pytest.approx(1) == whole.shares.sum()
    weight, share = draw_row(whole, WORDS).drawn().data
    np.testing.assert_allclose(weight.x, 0.25)
    assert share.x[0] == pytest.approx(0.1 / 3.1)


def test_pairs_leave_out_a_query_without_a_choice() -> None:
    pairs = PairsView.of(arriving(), tuple("abcd"), 0)
    assert pairs.n_pairs == 9 and 0 not in pairs.queries
    assert (pairs.weights > 0).all()
    _, others, first = draw_pairs(pairs, WORDS, 2).drawn().data
    assert len(first.x) == 3 and len(others.x) == 6
    assert PairsView.of(arriving(), tuple("abcd"), 0, most=2).n_pairs == 9


def test_every_head_is_a_cell_that_a_click_finds() -> None:
    values = np.array([[0.5, -0.25, np.nan], [1.0, 0.0, 0.75]])
    heat, points = draw_heads(HeadsView(values, (1, 2)), WORDS, "rank").drawn().data
    np.testing.assert_array_equal(np.asarray(heat.z), values.astype(np.float32))
    at = [list(found) for found in points.customdata]
    assert at == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert list(points.text)[:3] == ["0.50", "−0.25", "–"]


def test_sinks_take_much_and_give_little() -> None:
    taken = Taken((0,), np.array([[0.6, 0.1], [0.5, 0.3]]), np.array([[0.2, 0.01], [0.4, 0.1]]), 0.25)
    assert taken.is_sink.tolist() == [[True, False], [False, True]]
    facts = taken.facts()
    assert (facts["n_sinks"], facts["n_heads"], facts["layer"], facts["head"]) == ("2", "4", "0", "0")
    assert (facts["weight"], facts["even"], facts["head_share"]) == ("38%", "25%", "20%")


def test_weight_and_share_lie_furthest_apart_also_where_more_arrives_than_the_weight_says() -> None:
    taken = Taken((0,), np.array([[0.3, 0.1]]), np.array([[0.2, 0.6]]), 0.25)
    assert (taken.facts()["head"], taken.facts()["head_weight"], taken.facts()["head_share"]) == ("1", "10%", "60%")


def test_the_lowest_correlation_is_named() -> None:
    found = care.care(run_both(language_model(tiny_config())))
    facts = found.rank_facts()
    assert float(facts["low"].replace("−", "-")) == pytest.approx(found.ranks.min(), abs=0.006)
    assert found.ranks[int(facts["layer"]), int(facts["head"])] == found.ranks.min()
    short = care.care(language_model(tiny_config()).trace(ids=[1, 2]))
    assert short.rank_facts() == {}


SHARES = {0.0: "0%", 0.004: "0.4%", 0.0996: "10%", 0.46: "46%", 0.996: "99.6%", 0.9999: ">99.9%", 1.0: "100%"}


@pytest.mark.parametrize(("value", "said"), SHARES.items())
def test_shares_near_nothing_and_all_keep_a_digit(value: float, said: str) -> None:
    assert share(value) == said
