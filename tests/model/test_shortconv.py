"""viz_model.model.shortconv: what a cache keeps is enough, padding is not read, and nothing further back is."""

from __future__ import annotations

import pytest
import torch
from tiny_models import language_model, mixed

from viz_model.config import ModelConfig, ShortConv
from viz_model.model.tap import NO_TAP

CONVOLVING = [config for config in mixed() if any(isinstance(mixer, ShortConv) for mixer in config.mixers)]


@pytest.mark.parametrize("config", CONVOLVING, ids=str)
def test_a_token_reads_its_last_ones_and_none_further_back(config: ModelConfig) -> None:
    model = language_model(config).model
    stack, mixer = model.stack("decoder"), config.mixers[0]
    assert isinstance(mixer, ShortConv)
    x = torch.randn(1, 7, config.d_model, generator=torch.Generator().manual_seed(0))
    other = x.clone()
    other[:, 1] += 1
    with torch.no_grad():
        one, two = (stack.run_block(0, given, visible=None, source=None, tap=NO_TAP) for given in (x, other))
    assert (one != two).any(-1)[0].tolist() == [1 <= t < 1 + mixer.kernel for t in range(7)]
