"""What real code does besides, against plain arithmetic, and what it is there for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import describe, few, language_model, run_both, variants

from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.topics.block import real_code
from viz_model.topics.block.real_code import CHUNKED, CLAMPED, INSIDE


@pytest.mark.parametrize("config_", few(), ids=describe)
def test_every_part_is_measured_on_every_kind(config_: ModelConfig) -> None:
    whole = run_both(language_model(config_))
    for trace in (whole.at(side) for side in config_.sides):
        measured = real_code.precision(trace, 1)
        reads = trace.norm_input("blocks.1.attn.norm")
        assert measured.squares == pytest.approx(reads.square().sum(-1).max().item(), rel=1e-4)
        assert 0 <= measured.softmax.mixed < 1e-3  # half a step of 16 bits at 1
        clamp = real_code.clamped(trace, 1, 2)
        assert CLAMPED.of(clamp).name == "saves" and clamp.infinite > 0 and clamp.cosine > 0.5
        chunks, neurons = real_code.chunks(trace, 1), sites.n_neurons(config_, trace.stack.side, 1)
        assert [chunk.nbytes for chunk in chunks] == [4 * neurons * chunk.size for chunk in chunks]
        assert chunks[0].apart == 0 and {CHUNKED.of(chunk.apart).name for chunk in chunks} <= {"equal", "rounding"}
        fresh = real_code.fresh(trace, 1)
        assert fresh is not None
        sizes = config_.d_model + neurons
        assert fresh["xavier"].std == pytest.approx((2 / sizes) ** 0.5, rel=0.1)
        assert fresh["normal"].std == pytest.approx(0.02, rel=0.1)
        assert fresh["normal"].lengths.shape == fresh["xavier"].lengths.shape
        assert (fresh["normal"].logits is None) == ("logits" not in trace)


def test_32_bits_inside_help_where_much_is_added_up() -> None:
    rng = np.random.default_rng(0)
    errors = real_code._errors(real_code._softmax, rng.normal(size=(4, 3000)))
    assert INSIDE.of(errors).name == "helps"
    errors = real_code._errors(real_code._normalised, 300 * np.ones((1, 8)))
    assert errors.half >= 1 > errors.mixed  # 300² is infinite in 16 bits, so that all becomes 0


def test_a_single_token_has_one_chunk() -> None:
    config_ = next(config_ for config_ in variants() if config_.kind == "decoder")
    chunks = real_code.chunks(language_model(config_).trace(ids=[5]), 0)
    assert len(chunks) == 1 and CHUNKED.of(chunks[0].apart).name == "equal"


def test_sums_of_16_bits_are_rounded_at_every_step() -> None:
    ones = np.ones(4000, np.float16)
    assert real_code._added_up(ones)[0] == 2048  # where one more is lost
    assert np.add.reduce(ones) == 4000


def test_a_model_too_large_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_code, "MOST_FRESH", 10)
    assert real_code.fresh(run_both(language_model(variants()[0])).at(variants()[0].sides[-1]), 0) is None


def test_drawing_fresh_models_disturbs_no_other_draws() -> None:
    trace = run_both(language_model(variants()[0])).at(variants()[0].sides[-1])
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    real_code.fresh(trace, 0)
    assert torch.equal(torch.rand(3), expected)
