"""Names of heads, and the strongest look back, on patterns whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

import viz_model as vm
from viz_model.analysis import heads, story


def causal(rows: list[list[float]]) -> np.ndarray:
    return np.array([row + [0.0] * (len(rows) - len(row)) for row in rows])


EVEN = causal([[1], [1 / 2] * 2, [1 / 3] * 3, [1 / 4] * 4])
PREVIOUS = causal([[1], [0.9, 0.1], [0, 1, 0], [0, 0, 0.8, 0.2]])


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        (PREVIOUS, "previous"),
        (np.eye(4), "itself"),
        (np.eye(4)[[0, 0, 0, 0]], "first"),
        (EVEN, "broad"),
        (causal([[1], [0.5, 0.5], [0.02, 0.49, 0.49], [0.04, 0.48, 0.0, 0.48]]), "content"),
        (np.ones((1, 1)), "itself"),
    ],
)
def test_a_head_is_named_after_where_its_weight_goes(pattern: np.ndarray, kind: str) -> None:
    np.testing.assert_allclose(pattern.sum(-1), 1)
    assert heads.summarise(pattern).kind == kind


def test_entropy_runs_from_one_key_to_all_alike() -> None:
    assert heads.summarise(np.eye(4)).entropy == pytest.approx(0.0)
    assert heads.summarise(EVEN).entropy == pytest.approx(1.0)


def test_sharpness_is_the_mean_of_the_largest_weights_on_the_past() -> None:
    assert heads.sharpness(PREVIOUS) == pytest.approx((0.9 + 1 + 0.8) / 3)
    assert heads.sharpness(np.eye(4)) == 0.0
    assert heads.sharpness(np.ones((1, 1))) == 0.0


def test_the_strongest_look_is_the_largest_weight_on_an_earlier_position(lm: vm.LanguageModel) -> None:
    trace = lm.trace(ids=[3, 1, 4, 1, 5])
    look = story.strongest_look(trace, 3)
    assert look is not None
    past = np.stack([trace[f"blocks.{i}.attn.pattern"][:, 3, :3].numpy() for i in range(lm.config.n_layers)])
    assert look.weight == pytest.approx(past.max())
    assert past[look.layer, look.head, look.position] == past.max()
    assert story.strongest_look(trace, 0) is None
