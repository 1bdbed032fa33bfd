"""Claims that no bundled model gives cause for, of runs that do."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import language_model, run_both, tiny_config

from viz_model.config import Alibi, NoPosition
from viz_model.topics.cost import fitted, measured
from viz_model.topics.cost.order import MASK, ORDER, shuffled
from viz_model.topics.cost.shares import SHARE, SharesView
from viz_model.topics.cost.times import BYTES, POWER, Bytes


@pytest.mark.parametrize(("position", "claim"), [(NoPosition(), "same"), (Alibi(), "differs")])
def test_without_positions_nothing_but_the_mask_tells_order(position: NoPosition | Alibi, claim: str) -> None:
    found = shuffled(run_both(language_model(tiny_config(position=position)), 9))
    assert found is not None
    assert ORDER.of(found).name == claim and MASK.of(found).name == "tells"


def test_a_text_of_one_token_over_is_told_without_a_claim() -> None:
    found = shuffled(run_both(language_model(tiny_config(position=NoPosition())), 9))
    assert found is not None
    assert MASK.of(found._replace(bare_masked=1e-6)).name == "plain"
    assert "1e-06" in MASK.says("en", found._replace(bare_masked=1e-6), bare_masked="1e-06")


def test_a_long_text_is_mostly_pairs() -> None:
    config = tiny_config(n_vocab=7, n_context=4096)
    short, long = (SharesView.of(config, "decoder", n).share("pairs", 0) for n in (2, 4000))
    assert SHARE.of(short).name == "few" and SHARE.of(long).name == "most"


def test_measured_bytes_are_told_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "LONGEST", 256)
    trace = language_model(tiny_config(n_vocab=101)).trace(ids=[3, 1, 4])
    last = {r.part: r for r in measured.measure(trace, 0, budget=1e9) if r.length == 256}
    created = Bytes(last["textbook"].created, last["fused"].created)
    assert BYTES.of(created).name == "fewer"
    said = BYTES.says("en", created, n="256", fused="1 KiB", textbook="9 KiB", times="9")
    assert "1 KiB" in said and "9 KiB" in said


@pytest.mark.parametrize(("grows", "claim"), [(2.5, "above"), (2.0, "plain")])
def test_a_power_is_that_of_the_fitted_times(grows: float, claim: str) -> None:
    n = 2.0 ** np.arange(4, 12)
    assert POWER.of(fitted.exponent(n, 1e-9 * n**grows)).name == claim
    assert POWER.of(None).name == "plain"
    assert not POWER.says("en", 2.0) and "may be why" in POWER.says("en", 2.5)
