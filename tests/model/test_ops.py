"""viz_model.model.ops, against the definitions written out."""

from __future__ import annotations

import math

import pytest
import torch

from viz_model.model import masks, ops


@pytest.fixture
def qkv() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q, k, v = torch.randn(3, 4, 7, 5, generator=torch.Generator().manual_seed(0))
    return q, k, v


def test_heads_are_runs_of_neighbouring_columns() -> None:
    x = torch.arange(2 * 3 * 8).view(2, 3, 8).float()
    heads = ops.split_heads(x, 4)
    assert heads.shape == (2, 4, 3, 2)
    assert torch.equal(heads[1, 2, 0], x[1, 0, 4:6])
    assert torch.equal(ops.merge_heads(heads), x)


def test_scores_are_scaled_dot_products(qkv: tuple[torch.Tensor, ...]) -> None:
    q, k, _ = qkv
    expected = sum(q[1, 2, c] * k[1, 4, c] for c in range(5)) / math.sqrt(5)
    torch.testing.assert_close(ops.scores(q, k, 5**-0.5)[1, 2, 4], expected)


@pytest.mark.parametrize("n_queries", [7, 3, 1])
def test_steps_agree_with_fused_attention(n_queries: int, qkv: tuple[torch.Tensor, ...]) -> None:
    q, k, v = qkv
    queries, mask = q[:, 7 - n_queries :], ops.additive(masks.causal(n_queries, 7))
    pattern = ops.pattern(ops.scores(queries, k, 0.3) + mask)
    fused = torch.nn.functional.scaled_dot_product_attention(queries, k, v, attn_mask=mask, scale=0.3)
    torch.testing.assert_close(ops.mix(pattern, v), fused, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("rows", [1, 2, 3, 128])
def test_a_causal_pattern_is_made_in_pieces(rows: int) -> None:
    q, k = torch.randn(2, 3, 7, 8).unbind()
    steps = ops.pattern(ops.hide(ops.scores(q, k, 0.3), masks.causal(7, 7)))
    torch.testing.assert_close(ops.causal_pattern(q, k, 0.3, rows), steps, rtol=1e-5, atol=1e-6)


def test_head_out_sums_to_the_projection() -> None:
    numbers = torch.Generator().manual_seed(1)
    z, w_o = torch.randn(3, 5, 4, generator=numbers), torch.randn(12, 8, generator=numbers)
    out = ops.head_out(z, w_o)
    assert out.shape == (3, 5, 8)
    torch.testing.assert_close(out[1], z[1] @ w_o[4:8])
    torch.testing.assert_close(out.sum(0), ops.merge_heads(z) @ w_o)


@pytest.mark.parametrize(("d_model", "base"), [(2, 10_000.0), (8, 10_000.0), (6, 50.0)])
def test_sinusoid_by_its_formula(d_model: int, base: float) -> None:
    waves = ops.sinusoid(torch.arange(40), d_model, base)
    assert waves.shape == (40, d_model)
    for position in (0, 1, 7, 39):
        for i in range(d_model // 2):
            angle = position / base ** (2 * i / d_model)
            assert waves[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
            assert waves[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


def test_sinusoid_stays_exact_far_out() -> None:
    wave = ops.sinusoid(torch.tensor([1_000_003]), 4, 10_000.0)[0]
    assert wave[0].item() == pytest.approx(math.sin(1_000_003), abs=1e-6)
