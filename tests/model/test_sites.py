"""viz_model.model.sites: the registry describes what a run records, no more and no less."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from viz_model.config import ModelConfig
from viz_model.model import masks, ops, sites
from viz_model.model.transformer import Transformer


class Listener:
    """A tap that only notes names."""

    def __init__(self, names: list[str], prefix: str = "") -> None:
        self.names, self.prefix = names, prefix

    def __call__(self, name: str, value: Tensor) -> Tensor:
        self.names.append(self.prefix + name)
        return value

    def at(self, prefix: str) -> Listener:
        return Listener(self.names, f"{self.prefix}{prefix}.")

    def changes(self, name: str) -> bool:
        return False


def test_recorded_sites_stand_in_the_order_of_the_run(config: ModelConfig, model: Transformer) -> None:
    heard: list[str] = []
    model(torch.tensor([[1, 2, 3]]), tap=Listener(heard))
    assert heard == [name for name, site in sites.in_order(config) if not site.derived]


@pytest.mark.parametrize("rows", [1, 2, 3, 128])
def test_a_causal_pattern_is_made_in_pieces(rows: int) -> None:
    q, k = torch.randn(2, 3, 7, 8).unbind()
    steps = ops.pattern(ops.hide(ops.scores(q, k, 0.3), masks.causal(7, 7)))
    torch.testing.assert_close(ops.causal_pattern(q, k, 0.3, rows), steps, rtol=1e-5, atol=1e-6)


def test_sinusoid_stays_exact_far_out() -> None:
    wave = ops.sinusoid(torch.tensor([1_000_003]), 4, 10_000.0)[0]
    assert wave[0].item() == pytest.approx(math.sin(1_000_003), abs=1e-6)
