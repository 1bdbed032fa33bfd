"""What the attention page draws is the trace, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest

import viz_model as vm
from viz_model.figures import attention, heatmap

LAYER, HEAD = 1, 2
AT = f"blocks.{LAYER}.attn."


@pytest.fixture
def trace(lm: vm.LanguageModel) -> vm.Trace:
    return lm.trace("the cat sat on the mat")


def test_the_grid_holds_every_head(trace: vm.Trace) -> None:
    view = attention.GridView.of(trace, LAYER)
    np.testing.assert_array_equal(view.patterns, trace[AT + "pattern"].numpy())
    assert view.pool == 1 and view.labels == tuple(token.label for token in trace.tokens)


def test_pooling_keeps_the_largest_weight_and_bounds_the_payload() -> None:
    values = np.arange(49.0).reshape(7, 7)
    pooled = attention.pool_max(values, 3)
    assert pooled.shape == (3, 3)
    assert pooled[0, 0] == values[:3, :3].max() and pooled[2, 2] == 48 and pooled[2, 0] == values[6, :3].max()


def test_a_long_text_is_pooled(bundled: vm.LanguageModel) -> None:
    trace = bundled.trace("once upon a time " * 60)
    view = attention.GridView.of(trace, 0)
    assert view.patterns.shape[-1] <= attention.GRID_SIZE < len(trace)
    assert len(view.labels) == view.patterns.shape[-1]
    assert view.patterns.max() == pytest.approx(trace["blocks.0.attn.pattern"].max().item())


@pytest.mark.parametrize("matrix", attention.MATRICES)
def test_the_large_head_is_one_of_the_four_matrices(matrix: str, trace: vm.Trace) -> None:
    view = attention.head_view(trace, LAYER, HEAD, 3, ("from", "to"), matrix)
    recorded = trace[AT + matrix][HEAD].numpy()
    future = np.triu(np.ones_like(recorded, dtype=bool), k=1)
    np.testing.assert_array_equal(view.values[~future], recorded[~future])
    if matrix == "pattern":
        assert np.isnan(view.values[future]).all()
    else:
        np.testing.assert_array_equal(view.values[future], recorded[future])


def test_masked_cells_are_drawn_as_masked_not_as_zero(trace: vm.Trace) -> None:
    view = attention.head_view(trace, LAYER, HEAD, 3, ("from", "to"), "masked")
    values, mask = heatmap.draw(view).data
    future = np.triu(np.ones_like(view.values, dtype=bool), k=1)
    assert np.isnan(values.z[future]).all() and np.isfinite(values.z[~future]).all()
    assert (mask.z[future] == 1).all() and np.isnan(mask.z[~future]).all()


@pytest.mark.parametrize("query", [0, 3, -1])
def test_the_steps_are_the_rows_of_the_trace(query: int, trace: vm.Trace) -> None:
    query %= len(trace)
    view = attention.StepsView.of(trace, LAYER, HEAD, query)
    q, k, v = (trace[AT + name][HEAD].numpy() for name in "qkv")
    np.testing.assert_allclose(view.products, k @ q[query], atol=1e-6)
    np.testing.assert_allclose(view.scores * np.sqrt(view.d_head), view.products, atol=1e-5)
    np.testing.assert_array_equal(view.pattern, trace[AT + "pattern"][HEAD, query].numpy())
    np.testing.assert_allclose(view.pattern @ v, view.z, atol=1e-6)
    assert np.isneginf(view.masked[query + 1 :]).all()


def test_the_bars_are_the_lengths_of_the_weighted_values(trace: vm.Trace) -> None:
    view = attention.StepsView.of(trace, LAYER, HEAD, len(trace) - 1)
    bars = attention.draw_steps(view, ("a", "b", "c", "d", "e")).data[-1]
    expected = np.linalg.norm(view.pattern[:, None] * view.values, axis=-1)
    np.testing.assert_allclose(bars.y, expected, rtol=1e-5)


def test_by_hand_comes_out_at_what_was_recorded(trace: vm.Trace) -> None:
    view = attention.StepsView.of(trace, LAYER, HEAD, 3)
    said = attention.by_hand(view, 1) | attention.heads_by_hand(trace, LAYER, 3)
    assert float(said["z0"]) == pytest.approx(float(said["recorded"]), abs=2e-4)
    assert float(said["written"]) == pytest.approx(float(said["out"]), abs=2e-4)
    assert float(said["exponential"]) / float(said["total"]) == pytest.approx(float(said["weight"]), abs=2e-4)


@pytest.mark.parametrize("token", [0, 7, 15])
def test_lines_show_a_window_of_the_pattern(token: int, lm: vm.LanguageModel) -> None:
    trace = lm.trace(ids=list(range(16)))
    view = attention.LinesView.of(trace, LAYER, HEAD, token, around=8)
    assert len(view.labels) == 8 and 0 <= view.query < 8
    window = slice(view.first, view.first + 8)
    np.testing.assert_array_equal(view.weights, trace[AT + "pattern"][HEAD].numpy()[window, window])
    assert view.first + view.query == token
