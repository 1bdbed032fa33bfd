"""viz_model.measures.states: what queries read of a state, by token, is what they read."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import mixed, traced

from viz_model.config import DeltaNet, ModelConfig
from viz_model.measures import states

STATES = [config for config in mixed() if config.has_states]


@pytest.mark.parametrize("config", STATES, ids=str)
def test_shares_of_values_add_up_to_what_is_read(config: ModelConfig) -> None:
    trace = traced(config)
    (layer,) = (n for n, mixer in enumerate(config.mixers) if isinstance(mixer, DeltaNet))
    shares = states.shares(trace, layer)
    torch.testing.assert_close(
        shares @ trace[f"blocks.{layer}.attn.value_conv"], trace[f"blocks.{layer}.attn.read"], atol=1e-5, rtol=1e-5
    )
    assert not shares.triu(1).any()


@pytest.mark.parametrize("pool", [1, 2, 4])
def test_the_head_that_reads_least_of_its_own_token_is_pooled_by_size(pool: int) -> None:
    trace = traced(STATES[0])
    shares = states.shares(trace, 0).numpy()
    rows = shares / np.abs(shares).sum(-1, keepdims=True)
    head, does, found = states.farthest(trace, 0, pool)
    assert does is None and head == np.abs(rows.diagonal(0, 1, 2)).sum(-1).argmin()
    seen = np.where(np.tril(np.ones(rows.shape[1:])) > 0, rows[head], np.nan)
    for row, column in np.ndindex(found.shape):
        cells = seen[row * pool : (row + 1) * pool, column * pool : (column + 1) * pool]
        if np.isnan(cells).all():
            assert np.isnan(found[row, column])
        else:
            assert abs(found[row, column]) == pytest.approx(np.nanmax(np.abs(cells)))
