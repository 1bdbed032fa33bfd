"""Multiplications and parameters against PyTorch's own counter, the model itself and a count by sizes."""

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import replace

import fresh_variants
import numpy as np
import pytest
import torch
from fresh_positions import LinkedConfig
from tiny_models import describe, language_model, random_model, run_both, tiny_config, variants
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import viz_model as vm
from viz_model import config as choices
from viz_model.config import Alibi, Dense, Gated, Latent, ModelConfig, NoPosition, RMSNorm, Rope, T5Bias
from viz_model.measures import kv_cache
from viz_model.model import masks
from viz_model.model.transformer import Transformer
from viz_model.topics.architectures import parameters, plan
from viz_model.topics.cost import counted, fitted, kept, measured, order
from viz_model.topics.cost.counted import of_block
from viz_model.topics.cost.lengths import GeneratedView
from viz_model.topics.cost.order import MASK, ORDER, shuffled
from viz_model.topics.cost.shares import SHARE, SharesView
from viz_model.topics.cost.times import BYTES, POWER, Bytes

PER_LAYER = [
    tiny_config(ffns=(Dense(bias=False), Gated(bias=True)), windows=(3, 0)),
    tiny_config(position=T5Bias(buckets=8, max_distance=12), positions=(T5Bias(buckets=8, max_distance=12), Rope())),
    tiny_config(position=NoPosition(), positions=(Alibi(), T5Bias(buckets=8, max_distance=12)), norm_at="post"),
]
every = pytest.mark.parametrize("config", [*variants()[::2], *PER_LAYER], ids=describe)
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
    for side in config.sides:
        total = counted.count(config, side, 7, 4)
        blocks = [counted.of_block(config, side, layer, 7, 4).total for layer in range(config.depth(side))]
        assert total.total - total.head == sum(blocks)
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
    assert multiplications(lambda: one.vectors(torch.cat((IDS, target), dim=1))) == found["decoder"].total
    config = dataclasses.replace(config, kind="encoder_decoder", start_id=0)
    two = random_model(config)
    assert multiplications(lambda: two.vectors(IDS, target)) == found["encoder_decoder"].total
    seen = int(masks.causal(n_target, n_target).sum()) + n * n + n * n_target
    assert found["encoder_decoder"].seen == seen
    assert found["decoder"].seen == int(masks.causal(n + n_target, n + n_target).sum())
    for name, model in (("decoder", one), ("encoder_decoder", two)):
        weights = [p for key, p in model.named_parameters() if ".blocks." in key and "norm" not in key]
        assert found[name].weights == sum(p.numel() for p in weights if p.dim() > 1)


@pytest.mark.parametrize("window", [0, 1, 2, 3, 7, 20])
@pytest.mark.parametrize("length", [1, 2, 7, 12])
def test_pairs_are_those_of_the_mask(length: int, window: int) -> None:
    for two_way in (False, True):
        if window:
            mask = masks.window(length, length, window, two_way=two_way)
        else:
            mask = masks.everything(length, length) if two_way else masks.causal(length, length)
        assert counted.visible_pairs(length, window, two_way=two_way) == int(mask.sum())


@every
def test_without_positions_a_set_is_a_set(config: ModelConfig) -> None:
    trace = run_both(language_model(config))
    for side in config.sides:
        found = order.shuffled(trace.at(side))
        assert found is not None and sorted(found.order) == list(range(len(found.order)))
        assert found.bare < order.SAME
        assert found.bare_masked > order.SAME
        layers = [config.layer(side, n).position for n in range(config.depth(side))]
        tells = not all(isinstance(position, NoPosition) for position in layers)
        assert (found.own > order.SAME) == tells


@every
def test_what_is_timed_is_what_the_model_computes(config: ModelConfig) -> None:
    trace = run_both(language_model(config))
    run = trace.at(config.sides[-1])
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


def test_a_fit_is_the_least_squares_of_numpy_where_that_is_positive() -> None:
    n = 2.0 ** np.arange(4, 12)
    seconds = fitted.Fit(3e-9, 2e-6, 1e-4).at(n) * (1 + 0.05 * np.sin(np.arange(len(n))))
    terms = np.stack([n**2, n, np.ones_like(n)], axis=1)
    scale = terms.max(0)
    expected = np.linalg.lstsq(terms / scale / seconds[:, None], np.ones(len(n)), rcond=None)[0] / scale
    assert (expected > 0).all()
    found = fitted.fit(n, seconds)
    assert found is not None
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_variants_that_the_package_does_not_have_are_counted_and_planned() -> None:
    with fresh_variants.installed():
        for config in fresh_variants.fresh_configs():
            model = Transformer(config)
            assert parameters.of_config(config) == parameters.count(model)
            total = sum(row.copies * row.value for row in parameters.formulas(config))
            assert total == sum(parameter.numel() for parameter in model.parameters())
            for side in config.sides:
                ffns = [model.stack(side).block(layer).ffn for layer in range(config.depth(side))]
                tables = sum(weight.numel() for ffn in ffns for weight in ffn.parameters() if weight.dim() > 1)
                if not config.has_experts:  # of whose tables a token meets some
                    assert counted.count(config, side, 7, 4).ffn == 7 * tables
                declared = {site.name for element in plan.plan(config, side) for site in element.sites}
                assert {"attn.q", "attn.norm.out", "ffn.out"} <= declared


PARTS = ("projections", "pairs", "ffn", "position", "total")


@pytest.fixture
def linked() -> Iterator[ModelConfig]:
    with fresh_variants.installed():
        yield tiny_config(position=LinkedConfig())


def check(config: ModelConfig) -> None:
    for side in config.sides:
        for part in PARTS:
            grown = counted.growth(config, side, part, n_source=3)
            for n in (0, 1, 5, 13):
                assert grown(n) == getattr(counted.count(config, side, n, 3), part)
        passes = counted.crossings(config, side).ffn
        for n, is_more in ((math.ceil(passes) + 1, True), (math.floor(passes) - 1, False)):
            if n > 0:
                made = counted.count(config, side, n)
                assert (made.pairs > made.ffn) == is_more
        assert counted.visible(config, side, 9) <= counted.count(config, side, 9).pairs


def test_what_grows_is_what_is_counted_also_of_what_the_package_does_not_have(linked: ModelConfig) -> None:
    for config in (*variants()[::4], linked, *fresh_variants.fresh_configs()[::3]):
        check(config)


def test_a_sum_within_each_pair_grows_with_the_third_power(linked: ModelConfig) -> None:
    found, h, k = counted.growth(linked, "decoder", "pairs"), linked.n_heads, linked.d_head
    assert [int(power) for power in found.powers] == [0, 0, 2 * h * k * 2, h * (2 * k + 1) * 2, 0]
    assert found.latex().startswith(f"{h * (2 * k + 1) * 2:,}".replace(",", "{,}") + r"\,T^3 + ")
    # Each step of saying a text, one by one: with a cache a query alone.
    generated, steps = counted.generating(linked, 9), range(1, 10)
    block = [counted.count(linked, "decoder", t) for t in steps]
    assert generated.uncached == sum(made.total - made.head for made in block) + 9 * block[0].head
    token = block[0].projections + block[0].ffn
    asked = sum(token + made.pairs // t for t, made in zip(steps, block, strict=True))
    assert generated.cached == asked + 9 * block[0].head
    assert GeneratedView.of(linked, 7).cached[0] == GeneratedView.of(linked, 7).uncached[0]


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_a_step_at_the_first_token_is_what_a_block_counts(groups: int) -> None:
    config = replace(vm.load("story-modern").config, n_kv_heads=groups)
    counted, way = of_block(config, "decoder", 0, 1), kept.grouped(config, 1, groups)
    assert way.step == counted.projections + counted.scores + counted.mixing
    assert way.kept * config.n_layers * 4 == kv_cache.cache(config, 1, groups, 4).total


@pytest.mark.parametrize("query_rank", [0, 9])
def test_so_is_one_of_latent_attention_that_rebuilds(query_rank: int) -> None:
    mixer = Latent(rank=7, query_rank=query_rank, d_rotated=4, d_value=6)
    config = tiny_config(mixers=(mixer,) * 2, norm=RMSNorm(), d_head=10, attention_bias=False)
    counted, way = of_block(config, "decoder", 0, 1), kept.ways(config, 1).ways["mla"]
    assert way.step == counted.projections + counted.scores + counted.mixing
    assert way.rebuilt == 7 * config.n_heads * (6 + 6)
    assert way.kept * config.n_layers * 4 == kv_cache.cache(config, 1, None, 4).total


@pytest.mark.parametrize(("position", "claim"), [(NoPosition(), "same"), (Alibi(), "differs")])
def test_without_positions_nothing_but_the_mask_tells_order(position: NoPosition | Alibi, claim: str) -> None:
    found = shuffled(run_both(language_model(tiny_config(position=position)), 9))
    assert found is not None
    assert ORDER.of(found).name == claim and MASK.of(found).name == "tells"


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


@pytest.mark.parametrize(("grows", "claim"), [(2.5, "above"), (2.0, "plain")])
def test_a_power_is_that_of_the_fitted_times(grows: float, claim: str) -> None:
    n = 2.0 ** np.arange(4, 12)
    assert POWER.of(fitted.exponent(n, 1e-9 * n**grows)).name == claim
    assert POWER.of(None).name == "plain"
    assert not POWER.says("en", 2.0) and "may be why" in POWER.says("en", 2.5)
