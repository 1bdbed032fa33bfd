"""Multiplications against PyTorch's own counter on real models; the fit against numpy; what is measured."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, random_model, run_both, tiny_config, variants
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from viz_model import config as choices
from viz_model.config import ModelConfig
from viz_model.model import masks, ops
from viz_model.topics.cost import counted, fitted, measured, order

CONFIGS = variants()[::3]
every = pytest.mark.parametrize("config", CONFIGS, ids=list(map(describe, CONFIGS)))
IDS = torch.tensor([[5, 9, 12, 5, 30, 2, 7]])
TARGET = torch.tensor([[0, 4, 8, 2]])


@torch.inference_mode()
def multiplications(run: object) -> int:
    """PyTorch's count of a call, with attention's matrix products in the open; a product and its sum are 2."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        run()  # type: ignore[operator]
    flops = counter.get_total_flops()
    assert flops % 2 == 0
    return flops // 2


@every
def test_a_run_is_counted_as_pytorch_counts_it(config: ModelConfig) -> None:
    model = random_model(config)
    if config.kind == "encoder_decoder":
        n_source, n_target = IDS.shape[1], TARGET.shape[1]
        encoder = counted.count(config, "encoder", n_source, 0).total
        expected = encoder + counted.count(config, "decoder", n_target, n_source).total
        assert multiplications(lambda: model(IDS, TARGET)) == expected
        return
    (side,) = config.sides
    assert multiplications(lambda: model(IDS)) == counted.count(config, side, IDS.shape[1]).total


@every
def test_writing_token_by_token_is_counted_as_pytorch_counts_it(config: ModelConfig) -> None:
    if config.kind == "encoder":
        with pytest.raises(ValueError, match="generates nothing"):
            counted.generating(config, 3)
        return
    model = random_model(config)
    both = config.kind == "encoder_decoder"
    source = model.encode(TARGET) if both else None
    cache = model.new_cache()

    def step(ids: torch.Tensor, cached: bool) -> torch.Tensor:
        rows = model.embed(ids)
        vectors = model.stack("decoder")(rows, source=source, cache=cache if cached else None)
        return model.head(vectors[:, -1:])

    n = IDS.shape[1]
    expected = counted.generating(config, n, TARGET.shape[1] if both else 0)
    assert multiplications(lambda: [step(IDS[:, t : t + 1], True) for t in range(n)]) == expected.cached
    assert multiplications(lambda: [step(IDS[:, : t + 1], False) for t in range(n)]) == expected.uncached


@pytest.mark.parametrize("n_target", [1, 4])
def test_both_arrangements_are_counted_on_models(n_target: int) -> None:
    config = tiny_config(n_heads=4, n_kv_heads=2, d_head=5, head=choices.LanguageHead(bias=True))
    n, found = IDS.shape[1], counted.arrangements(config, IDS.shape[1], n_target)
    one, target = random_model(config), TARGET[:, :n_target]
    ids = torch.cat((IDS, target), dim=1)
    assert multiplications(lambda: one.vectors(ids)) == found["decoder"].total
    config = dataclasses.replace(config, kind="encoder_decoder", start_id=0)
    two = random_model(config)
    assert multiplications(lambda: two.vectors(IDS, target)) == found["encoder_decoder"].total
    seen = int(masks.causal(n_target, n_target).sum()) + n * n + n * n_target
    assert found["encoder_decoder"].seen == seen
    assert found["decoder"].seen == int(masks.causal(n + n_target, n + n_target).sum())
    for name, model in (("decoder", one), ("encoder_decoder", two)):
        weights = [
            p.numel() for key, p in model.named_parameters() if ".blocks." in key and p.dim() > 1 and "norm" not in key
        ]
        assert found[name].weights == sum(weights)


@pytest.mark.parametrize("window", [0, 1, 2, 3, 7, 20])
@pytest.mark.parametrize("length", [1, 2, 7, 12])
def test_pairs_are_those_of_the_mask(length: int, window: int) -> None:
    for two_way in (False, True):
        if window:
            mask = masks.window(length, length, window, two_way=two_way)
        else:
            mask = masks.everything(length, length) if two_way else masks.causal(length, length)
        assert counted.visible_pairs(length, window, two_way=two_way) == int(mask.sum())


def test_the_base_model_of_the_paper_crosses_at_four_times_its_width() -> None:
    config = tiny_config(d_model=512, n_heads=8, d_ffn=2048)
    found = counted.crossings(config, "decoder")
    assert found == (4 * 512, 6 * 512)
    assert counted.of_block(config, "decoder", 0).projections == 4 * 512**2


@every
def test_without_positions_a_set_is_a_set(config: ModelConfig) -> None:
    trace = run_both(language_model(config))
    for side in config.sides:
        found = order.shuffled(trace.at(side))
        assert found is not None and sorted(found.order) == list(range(len(found.order)))
        assert found.bare < order.SAME
        assert found.bare_masked > order.SAME
        tells = not isinstance(config.position, choices.NoPosition)
        assert (found.own > order.SAME) == tells


@every
def test_what_is_timed_is_what_the_model_computes(config: ModelConfig) -> None:
    trace = run_both(language_model(config))
    side = config.sides[-1]
    run = trace.at(side)
    stack, block = run.stack, run.stack.block(1)
    x = run["blocks.1.attn.norm.out"][None] if config.norm_at == "pre" else run["blocks.1.resid.in"][None]
    parts = measured._parts(stack, block, 1, torch.nn.GRU(config.d_model, config.d_model), x)
    with torch.inference_mode():
        textbook, fused = parts["textbook"](), parts["fused"]()
    expected = run["blocks.1.attn.z"][None]
    torch.testing.assert_close(textbook, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(fused, expected, atol=1e-5, rtol=1e-5)


def test_readings_come_one_by_one_and_count_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "LONGEST", 32)
    config = tiny_config()
    trace = language_model(config).trace(ids=[3, 1, 4])
    found = list(measured.measure(trace, 0, budget=1e9))
    assert [(r.length, r.part) for r in found] == [(n, part) for n in (16, 32) for part in measured.PARTS]
    assert all(r.seconds > 0 and r.runs >= 3 for r in found)
    for reading in found:
        out = 4 * reading.length * config.d_model
        if reading.part == "textbook":
            assert reading.created == measured.MATRICES * measured.matrix_bytes(config, reading.length) + out
        if reading.part == "fused":
            assert out <= reading.created < 2 * out


def test_a_view_is_not_counted_as_created() -> None:
    x = torch.ones(4, 6)
    with measured.Created() as created:
        x.t().reshape(4, 6).view(3, 8)
        assert created.bytes == 4 * 24  # reshape of a transpose copies, once
        ops.split_heads(x, 2)
        assert created.bytes == 4 * 24
        x @ x.t()
    assert created.bytes == 4 * 24 + 4 * 16


N = 2.0 ** np.arange(4, 12)


@pytest.mark.parametrize("true", [(3e-9, 2e-6, 1e-4), (5e-9, 0.0, 0.0), (0.0, 2e-6, 0.0), (0.0, 2e-6, 1e-3)])
def test_a_fit_finds_what_made_the_times(true: tuple[float, float, float]) -> None:
    found = fitted.fit(N, fitted.Fit(*true).at(N))
    assert found is not None
    np.testing.assert_allclose(found, true, rtol=1e-6, atol=1e-15)


def test_a_fit_is_the_least_squares_of_numpy_where_that_is_positive() -> None:
    seconds = fitted.Fit(3e-9, 2e-6, 1e-4).at(N) * (1 + 0.05 * np.sin(np.arange(len(N))))
    terms = np.stack([N**2, N, np.ones_like(N)], axis=1)
    scale = terms.max(0)
    expected = np.linalg.lstsq(terms / scale / seconds[:, None], np.ones(len(N)), rcond=None)[0] / scale
    assert (expected > 0).all()
    found = fitted.fit(N, seconds)
    assert found is not None
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_two_powers_cross_where_they_are_equal() -> None:
    assert fitted.crossing(N, N**2, 100 * N) == pytest.approx(100)
    assert fitted.crossing(N, N, 1e6 * N) is None
    assert fitted.crossing(N, 2 * N, N) == N[0]
