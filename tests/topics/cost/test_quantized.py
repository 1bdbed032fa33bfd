"""Rounded weights against arithmetic number by number, and the run with them against PyTorch's own call."""

from __future__ import annotations

import islands
import numpy as np
import pytest
import torch

import viz_model as vm
from viz_model.topics.cost import PAGE, quantized
from viz_model.topics.cost.quantized import KINDS, Kind

TEXT = "Tom had a cat and a dog."


def by_hand(row: list[float], bits: int) -> list[float]:
    """Numbers that share a scale, one by one."""
    scale = max(map(abs, row)) / (2 ** (bits - 1) - 1)
    return [scale * round(number / scale) if scale else 0.0 for number in row]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("columns", [64, 40])
def test_a_matrix_is_rounded_number_by_number(kind: Kind, columns: int) -> None:
    weight = torch.randn(5, columns, generator=torch.Generator().manual_seed(1))
    weight[2] = 0
    found, n_bytes = quantized.rounded(weight, kind)
    rows = [weight.flatten().tolist()] if kind.group == -1 else weight.tolist()
    width = kind.group if kind.group > 0 else len(rows[0])
    groups = [row[n : n + width] for row in rows for n in range(0, len(row), width)]
    expected = [number for group in groups for number in by_hand(group, kind.bits)]
    np.testing.assert_allclose(found.flatten().numpy(), expected, atol=1e-6)
    assert n_bytes == weight.numel() * kind.bits // 8 + 2 * len(groups)


def test_the_run_is_that_of_a_model_with_these_matrices() -> None:
    trace = vm.load("story-pre-ln").trace(TEXT)
    view = quantized.view(islands.look(trace, PAGE))
    kind = next(one for one in KINDS if one.name == "int4_row")
    made = {name: quantized.rounded(one, kind)[0] for name, one in quantized.matrices(trace.model).items()}
    with torch.inference_mode():
        ids = torch.tensor([list(trace.ids)])
        logits = torch.func.functional_call(trace.model, made, (ids,), tie_weights=True)[0]
    found = view.kinds[kind.name]
    assert found.logits == pytest.approx((logits - trace["logits"]).abs().max().item(), rel=1e-3)
    assert found.firsts == int((logits.argmax(-1) != trace["logits"].argmax(-1)).sum())
    p, q = (torch.distributions.Categorical(logits=one) for one in (trace["logits"], logits))
    bits = torch.distributions.kl_divergence(p, q).mean().item() / np.log(2)
    assert found.bits == pytest.approx(bits, rel=1e-2, abs=1e-5)


def test_finer_scales_and_more_bits_are_nearer() -> None:
    view = quantized.view(islands.look(vm.load("story-modern").trace(TEXT), PAGE))
    off = {name: one.weights for name, one in view.kinds.items()}
    assert off["int8_row"] < off["int8_matrix"] < off["int4_group"] < off["int4_row"] < 1
    assert view.kinds["int4_row"].n_bytes < view.kinds["int4_group"].n_bytes < view.kinds["int8_row"].n_bytes
