"""viz_model.model.ops, against the definitions written out."""

from __future__ import annotations

import math

import pytest
import torch

from viz_model.model import masks, ops


@pytest.mark.parametrize("rows", [1, 2, 3, 128])
def test_a_causal_pattern_is_made_in_pieces(rows: int) -> None:
    q, k = torch.randn(2, 3, 7, 8).unbind()
    steps = ops.pattern(ops.hide(ops.scores(q, k, 0.3), masks.causal(7, 7)))
    torch.testing.assert_close(ops.causal_pattern(q, k, 0.3, rows), steps, rtol=1e-5, atol=1e-6)


def test_sinusoid_stays_exact_far_out() -> None:
    wave = ops.sinusoid(torch.tensor([1_000_003]), 4, 10_000.0)[0]
    assert wave[0].item() == pytest.approx(math.sin(1_000_003), abs=1e-6)
