"""Waves from fast to slow, against sines taken one by one."""

from __future__ import annotations

import math

import islands
import pytest
from tiny_models import language_model, run_both, tiny_config

from viz_model.config import Sinusoidal
from viz_model.topics.position import PAGE, stacked


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_each_row_is_the_sine_of_its_pair(layout: str) -> None:
    config = tiny_config(position=Sinusoidal(layout=layout), d_model=48)  # type: ignore[arg-type]
    look = islands.look(run_both(language_model(config)), PAGE)
    found = stacked.view(look)
    assert found.pairs[0] == 0 and found.pairs[-1] == 23 and list(found.turns) == sorted(found.turns)
    for n, pair in enumerate(found.pairs):
        rate = 10000 ** (2 * pair / 48)
        assert found.turns[n] == pytest.approx(2 * math.pi * rate)
        for token in range(len(look)):
            assert found.recorded[token, n] == pytest.approx(math.sin(token / rate), abs=1e-5)
