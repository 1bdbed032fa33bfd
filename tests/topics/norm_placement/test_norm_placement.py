"""What the page on Pre-LN and Post-LN measures, draws and says, against independent computations and records."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, mixed_norms, random_model, run_both, tiny_config, variants
from torch.nn import functional as F

import viz_model as vm
from viz_model import config
from viz_model.config import ModelConfig
from viz_model.measures import training_log
from viz_model.measures.stream import stream_sites
from viz_model.model import norms
from viz_model.topics.norm_placement import depth, last_norm, readings
from viz_model.topics.norm_placement import fresh as starting
from viz_model.topics.norm_placement import pull as gradients
from viz_model.topics.norm_placement import start as start_picture
from viz_model.topics.norm_placement import training as twins_training
from viz_model.topics.norm_placement import warmup as warmup_picture
from viz_model.topics.norm_placement.fresh import PLACES, THEORY, DepthGradients, power_law
from viz_model.training import experiments
from viz_model.training.batches import Batch
from viz_model.training.sources import TEXTS

IDS = [3, 1, 4, 1, 5, 9]
CONFIGS = [*variants(), *mixed_norms()]
every = pytest.mark.parametrize("config_", CONFIGS, ids=describe)
to_a_length = pytest.mark.parametrize(
    "config_", [one for one in CONFIGS if norms.kind(one.norm) in norms.COMPARED], ids=describe
)


def _centered(config_: ModelConfig, x: torch.Tensor) -> torch.Tensor:
    return x - x.mean(-1, keepdim=True) if isinstance(config_.norm, config.LayerNorm) else x


@to_a_length
def test_what_is_read_of_the_stream(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    for side in config_.sides:
        seen = trace.at(side)
        found, is_pre = readings.readings(seen), config_.norm_place(side) == "pre"
        assert found.sites == stream_sites(seen)
        every = itertools.product(range(seen.n_layers), ("attn", "cross", "ffn"))
        parts = [(i, part) for i, part in every if f"blocks.{i}.{part}.out" in seen]
        norms = [getattr(seen.stack.block(i), f"{part}_norm") for i, part in parts]
        norms = [*norms[1:], seen.stack.final_norm] if is_pre else norms
        x = seen["embed.out"]
        for n, (i, part) in enumerate(parts, start=1):
            written, norm = seen[f"blocks.{i}.{part}.out"], norms[n - 1]
            total = x + written
            read = norm(total)
            np.testing.assert_allclose(found.before[n], total.norm(dim=-1), rtol=1e-4)
            np.testing.assert_allclose(found.after[n], read.norm(dim=-1), rtol=1e-4)
            # The norm with its σ held, as a function of two parts that it is linear in.
            sigma = _centered(config_, total).square().mean(-1, keepdim=True).add(config_.norm.eps).sqrt()
            added, there = (norm.get_parameter("weight") * _centered(config_, v) / sigma for v in (written, x))
            whole = added + there
            share = (added * whole).sum(-1) / (whole * whole).sum(-1)
            np.testing.assert_allclose(found.share[n], share, rtol=1e-3, atol=1e-4)
            pairs = [F.cosine_similarity(read[a], read[b], dim=0) for a in range(len(read)) for b in range(a)]
            assert found.alike[n] == pytest.approx(float(torch.stack(pairs).mean()), abs=1e-4)
            x = total if is_pre else read


@to_a_length
def test_the_last_norm_in_parts(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    for side in config_.sides:
        seen, is_pre = trace.at(side), config_.norm_place(side) == "pre"
        found = last_norm.last_norm(seen)
        norm = seen.stack.final_norm if is_pre else seen.stack.block(seen.n_layers - 1).ffn_norm
        assert isinstance(norm, torch.nn.Module)
        at = f"blocks.{seen.n_layers - 1}."
        x = seen[f"{at}resid.out"] if is_pre else seen.norm_input(f"{at}ffn.norm")
        gain = norm.get_parameter("weight")
        centered = _centered(config_, x)
        sigma = centered.square().mean(-1, keepdim=True).add(config_.norm.eps).sqrt()
        shift = norm.get_parameter("bias") if isinstance(config_.norm, config.LayerNorm) else 0
        each = [x, x / sigma, centered * gain + shift, norm(x)]
        np.testing.assert_allclose(found.lengths, torch.stack([v.norm(dim=-1) for v in each]), rtol=1e-3)
        assert (found.top is not None) == (config_.has_logits and side == config_.sides[-1])
        if found.top is None or found.p is None:
            continue
        with torch.inference_mode():
            probs = [trace.model.head(v[None])[0].softmax(-1) for v in each]
        np.testing.assert_allclose(found.p, torch.stack([p.amax(-1) for p in probs]), rtol=1e-3, atol=1e-5)
        assert found.changed("both") == int((probs[3].argmax(-1) != probs[0].argmax(-1)).sum())
        if found.keeps_order:
            assert found.changed("scale") == 0


def test_a_gradient_that_vanishes_on_its_way_is_told_so() -> None:
    lm = language_model(tiny_config("post", n_layers=4))
    for block in lm.model.stack("decoder").blocks:
        for name in ("attn_norm", "ffn_norm"):
            block.get_submodule(name).get_parameter("weight").data *= 0.1
    pull = gradients.stream_gradients(lm.trace(ids=IDS))
    ends = gradients.Ends(pull.norms[-1], pull.norms[0])
    assert ends.bottom < 0.1 * ends.top and gradients.GRADIENT.of(ends).name == "shrinks"


def test_before_training_either_may_end_more_alike() -> None:
    found = set()
    for seed in range(20):
        runs = {at: language_model(tiny_config(at), seed=seed).trace(ids=IDS) for at in ("pre", "post")}
        ends = {at: float(readings.readings(run).alike[-1]) for at, run in runs.items()}
        name = depth.ALIKE_FRESH.of(depth.Alike(**ends)).name
        assert name in ("plain", "pre" if ends["pre"] > ends["post"] else "post")
        found.add(name)
    assert {"pre", "post"} <= found


def report(n: int, bits: dict[str, float] | None = None) -> dict[str, Any]:
    """A line of a log that keeps means of 5 steps."""
    figures = {language: {"bits_per_byte": found, "accuracy": 0.5} for language, found in (bits or {}).items()}
    norms = {"embedding": 1.0, "decoder.blocks.0": float(n), "decoder.blocks.1": 2.0 * n}
    return {"step": 5 * n + 4, "loss": float(n), "gradient_norms": norms, "held_out": figures or None}


def test_a_loss_curve_is_the_mean_of_its_windows() -> None:
    log = [report(n, {"en": n / 10} if n % 4 == 3 else None) for n in range(11)]
    curve = training_log.loss_curve(log, lines=4)
    assert (curve.kept, curve.window) == (5, 20)
    assert curve.steps.tolist() == [19, 39]
    assert curve.mean.tolist() == [1.5, 5.5] and curve.low.tolist() == [0, 4] and curve.high.tolist() == [3, 7]
    steps, bits = curve.held_out["en"]
    assert steps.tolist() == [19, 39] and bits.tolist() == [0.3, 0.7]
    assert list(curve.gradients) == ["embedding", "decoder.blocks.0", "decoder.blocks.1"]
    assert curve.gradients["decoder.blocks.1"].tolist() == [3.0, 11.0]


def expected_loss(trace: vm.Trace) -> float:
    """The loss of a run by the definition of its kind, from the recorded logits."""
    ids = torch.tensor(trace.target_ids if trace.config.kind == "encoder_decoder" else trace.ids)
    logits = trace["logits"]
    if trace.config.kind == "encoder":
        return F.cross_entropy(logits, ids).item()
    return F.cross_entropy(logits[:-1], ids[1:]).item()


@every
def test_gradients_of_every_kind(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    if not config_.has_logits:
        assert gradients.no_loss(trace) == "no_head"
        with pytest.raises(ValueError, match="head"):
            gradients.stream_gradients(trace)
        return
    for side in config_.sides:
        seen = trace.at(side)
        found = gradients.stream_gradients(seen)
        kinds = {"decoder": "next", "encoder": "itself", "encoder_decoder": "target"}
        assert found.kind == kinds[config_.kind]
        assert found.loss == pytest.approx(expected_loss(trace), abs=1e-4)
        assert found.sites == ("embed.out", *(f"blocks.{i}.resid.out" for i in range(seen.n_layers)))
        assert all(gradient.shape == seen["embed.out"].shape for gradient in found.gradients)
        assert all(norm > 0 for norm in found.norms)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_gradient_is_the_slope_of_the_loss(side: config.Side) -> None:
    config_ = tiny_config(kind="encoder_decoder", start_id=0, norm=config.RMSNorm(), ffn=config.Gated())
    trace = run_both(language_model(config_)).at(side)
    found = gradients.stream_gradients(trace)
    step = 1e-2 * found.gradients[0] / found.gradients[0].norm()
    ids, target, losses = torch.tensor([trace.ids]), torch.tensor([trace.target_ids]), []
    for by in (step, -step):
        first = trace.stack.block(0)
        hook = first.register_forward_pre_hook(lambda block, given, by=by: (given[0] + by, *given[1:]))
        losses.append(F.cross_entropy(trace.model(ids, target)[0, :-1], target[0, 1:]).item())
        hook.remove()
    assert losses[0] - losses[1] == pytest.approx(2e-2 * found.norms[0], rel=2e-2)


def test_the_error_of_a_fit_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    x, noise = np.array([2.0, 4.0, 8.0, 16.0]), rng.normal(size=(4, 5))
    fit = starting.power_law(x, np.exp(0.3 * noise) * x[:, None] ** 0.7)
    (slope, offset), covariance = np.polyfit(
        np.log(np.repeat(x, 5)), (0.3 * noise + 0.7 * np.log(x)[:, None]).ravel(), 1, cov=True
    )
    assert fit.exponent == pytest.approx(slope) and fit.factor == pytest.approx(np.exp(offset))
    assert fit.error == pytest.approx(np.sqrt(covariance[0, 0]))


@pytest.mark.parametrize("all_blocks", [True, False])
def test_the_gradient_is_that_of_a_backward_pass(config: ModelConfig, all_blocks: bool) -> None:
    ids = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    batch = Batch(ids[:, :-1], ids[:, 1:])
    model = random_model(config)
    found = starting.at_start(model, batch, all_blocks=all_blocks)
    assert all(p.grad is None and not p.requires_grad for p in model.parameters())
    model.requires_grad_(True)
    F.cross_entropy(model(batch.ids).transpose(1, 2), batch.answers).backward()
    blocks = list(model.stack("decoder").blocks)
    expected = [block.get_parameter("ffn.down.weight").grad for block in (blocks if all_blocks else blocks[-1:])]
    assert found.gradients == pytest.approx([g.norm().item() for g in expected if g is not None], rel=1e-5)
    assert len(found.gradients) == len(expected)


def test_post_ln_keeps_its_last_gradient_and_pre_ln_does_not() -> None:
    found = starting.gradients_by_depth(depths=(2, 12), seeds=2)
    few, many = (found.last["pre"].mean(1)[n] for n in (0, 1))
    assert many < 0.65 * few  # one over the root of 6 is 0.41, in the limit of many blocks
    few, many = (found.last["post"].mean(1)[n] for n in (0, 1))
    assert 0.75 * few < many < 1.33 * few
    np.testing.assert_allclose(found.lengths["post"], 1.0, atol=1e-4)


def words(key: str, **values: object) -> str:
    return key


@pytest.fixture
def start() -> start_picture.StartView:
    """Laws that are known: Pre-LN falls like 2/√L with a stream of length √L, Post-LN stays at 1."""
    depths = np.array([2, 4, 8])
    spread = np.array([0.9, 1 / 0.9])
    falling = 2 * depths[:, None] ** -0.5 * spread
    blocks = np.array([4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])[:, None] * spread
    return start_picture.StartView.of(
        DepthGradients(
            depths=depths,
            last={"pre": falling, "post": np.ones((3, 1)) * spread},
            lengths={"pre": depths[:, None] ** 0.5 * np.ones(2), "post": np.ones((3, 2))},
            by_block={"pre": blocks, "post": 1 / blocks},
            n_tokens=128,
        )
    )


def test_known_laws_are_said(start: start_picture.StartView) -> None:
    facts, told = start.facts(), ("pre_exponent", "post_exponent", "expected", "length_exponent", "pre_blocks")
    assert [facts[name] for name in told] == ["−0.50", "0.00", "−0.50", "−1.00", "4.0"]
    for place, wrong in (("pre", "post"), ("post", "pre")):
        theory = THEORY[place]  # type: ignore[index]
        assert start_picture.EXPONENT.of(start_picture.Law(start.fits[place], theory)).name == "agrees"  # type: ignore[index]
        other = power_law(start.found.depths, start.found.last[wrong])  # type: ignore[index]
        assert start_picture.EXPONENT.of(start_picture.Law(other, theory)).name == "differs"
    ends = {place: start.blocks(place)[[0, -1]].tolist() for place in PLACES}
    assert [start_picture.BLOCKS.of(start_picture.Across(*each)).name for each in ends.values()] == ["falls", "rises"]


@pytest.fixture(scope="module")
def warmup() -> warmup_picture.WarmupView:
    return warmup_picture.WarmupView.of(experiments.recorded(), experiments.RATE)


def test_the_recorded_runs_reach_the_regime_of_the_paper(warmup: warmup_picture.WarmupView) -> None:
    learned = {key: warmup.learns(run) for key, run in warmup.runs.items()}
    assert learned == {("pre", False): True, ("pre", True): True, ("post", False): False, ("post", True): True}
    assert warmup_picture.WARMUP.of(warmup_picture.Warmup(*warmup.losses("post"))).name == "rescues"
    assert warmup_picture.WARMUP.of(warmup_picture.Warmup(*warmup.losses("pre"))).name != "rescues"


def test_curves_are_the_logs_of_the_training() -> None:
    bits = {"pre": 0.1, "post": 0.2}
    logs = {side: [report(n, {"en": one * n, "zh": 2.0}) for n in (1, 2, 3)] for side, one in bits.items()}
    view = twins_training.CurvesView.of(logs)
    assert view.languages == ("en", "zh") and view.blocks == ("decoder.blocks.0", "decoder.blocks.1")
    facts = view.facts()
    for side, lines in logs.items():
        assert view.curves[side].mean.tolist() == [line["loss"] for line in lines]
        assert view.curves[side].held_out["zh"][1].tolist() == [2.0] * 3 and float(facts[f"{side}_share"]) == 0.5
    assert view.last("en") == pytest.approx((0.3, 0.6)) and facts["pre_en"] == "0.300"
    assert twins_training.AHEAD.of(twins_training.Bits(*view.last("en"))).name == "pre"


def test_what_was_learned_by_heart_is_drawn_source_by_source() -> None:
    files = [source.file for source in TEXTS if not source.per_line]
    pre = {file: {"held_out": 1.0 + n / 10, "seen": 1.0 + n / 20} for n, file in enumerate(files, start=1)}
    post = {file: {"held_out": 2.0, "seen": 1.5} for file in files[:-1]}
    view = twins_training.SourcesView.of({"pre": pre, "post": post})
    assert view.sources == tuple(files[:-1]), "those that both were measured on"
    assert view.facts() == {"least": "0.05", "most": "0.50", "easiest": "1.05", "hardest": "1.50"}
    bars = {one.name: one.values for one in twins_training.draw_sources(view, words).series}
    assert twins_training.BY_HEART.of(view.more).name == "costs"
    np.testing.assert_array_equal(bars["Pre-LN, sources_held_out"], view.held_out["pre"])
