"""What the page measures, against independent computations."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, mixed_norms, run_both, tiny_config, variants
from torch.nn import functional as F

import viz_model as vm
from viz_model import config
from viz_model.config import ModelConfig
from viz_model.measures import training_log
from viz_model.measures.stream import stream_sites
from viz_model.model.attention import Given
from viz_model.model.transformer import Transformer
from viz_model.topics.norm_placement import depth, last_norm, mixed, readings
from viz_model.topics.norm_placement import pull as gradients

IDS = [3, 1, 4, 1, 5, 9]
every = pytest.mark.parametrize("config_", [*variants(), *mixed_norms()], ids=describe)


def _centered(config_: ModelConfig, x: torch.Tensor) -> torch.Tensor:
    return x - x.mean(-1, keepdim=True) if isinstance(config_.norm, config.LayerNorm) else x


@every
def test_what_is_read_of_the_stream(config_: ModelConfig) -> None:
    """By the forward pass: what each sub-layer is given, and what is left of that when its addition is taken away."""
    trace = run_both(language_model(config_))
    for side in config_.sides:
        seen = trace.at(side)
        found, is_pre = readings.readings(seen), config_.norm_place(side) == "pre"
        assert found.sites == stream_sites(seen)
        parts = [
            (i, part)
            for i in range(seen.n_layers)
            for part in ("attn", "cross", "ffn")
            if f"blocks.{i}.{part}.out" in seen
        ]
        x = seen["embed.out"]
        for n, (i, part) in enumerate(parts, start=1):
            written, block = seen[f"blocks.{i}.{part}.out"], seen.stack.block(i)
            total = x + written
            if is_pre:
                after = None if (i, part) == parts[-1] else parts[n]
                norm = (
                    seen.stack.final_norm if after is None else getattr(seen.stack.block(after[0]), f"{after[1]}_norm")
                )
            else:
                norm = getattr(block, f"{part}_norm")
            assert norm is not None
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


def test_a_stream_times_any_number_is_read_the_same() -> None:
    """What the page says of the raw length of a Pre-LN stream."""
    lm = vm.load("story-pre-ln")
    block = lm.model.stack("decoder").block(2)
    x = lm.trace("The cat sat on the mat")["blocks.2.resid.in"]
    torch.testing.assert_close(block.attn_norm(7 * x), block.attn_norm(x), atol=1e-3, rtol=1e-3)


@every
def test_the_last_norm_in_parts(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    for side in config_.sides:
        seen, is_pre = trace.at(side), config_.norm_place(side) == "pre"
        found = last_norm.last_norm(seen)
        norm = seen.stack.final_norm if is_pre else seen.stack.block(seen.n_layers - 1).ffn_norm
        assert isinstance(norm, torch.nn.Module)
        x = (
            seen[f"blocks.{seen.n_layers - 1}.resid.out"]
            if is_pre
            else seen.norm_input(f"blocks.{seen.n_layers - 1}.ffn.norm")
        )
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


@pytest.mark.parametrize("kind", ["decoder", "encoder_decoder"])
def test_untrained_is_a_run_of_the_weights_that_training_starts_from(
    kind: Literal["decoder", "encoder_decoder"],
) -> None:
    trace = run_both(language_model(tiny_config(kind=kind, start_id=0)))
    torch.manual_seed(7)
    fresh = Transformer(trace.config).eval()
    torch.manual_seed(3)
    before = torch.get_rng_state()
    for side in trace.config.sides:
        found = readings.untrained(trace.at(side), seed=7)
        assert torch.equal(torch.get_rng_state(), before)
        again = vm.LanguageModel(
            name="fresh", model=fresh, tokenizer=trace.tokenizer, twin=None, folder=Path("nowhere")
        ).trace(ids=list(trace.ids), target_ids=trace.target_ids and list(trace.target_ids))
        np.testing.assert_allclose(found.alike, readings.readings(again.at(side)).alike, rtol=1e-6)
        assert not np.allclose(found.alike, readings.readings(trace.at(side)).alike, atol=1e-3)


@pytest.mark.parametrize("places", mixed.PLACES)
def test_the_stacks_of_a_pair_have_norms_of_their_own(places: str) -> None:
    found = mixed.mixed(vm.load("story-pre-ln").trace("the cat and the dog ran home"), places)
    assert tuple(found.places.values()) == mixed.PLACES[places]
    for side, place in found.places.items():
        assert ("final.norm" in found.readings[side].norms) == (place == "pre")
        if place == "post":  # γ is 1 and β is 0 before training
            np.testing.assert_allclose(found.readings[side].after[1:], mixed.WIDTH**0.5, rtol=1e-3)
        assert all(norm > 0 for norm in found.gradients[side].norms)
    assert found.again < 1e-3


def test_a_gradient_that_vanishes_on_its_way_is_told_so() -> None:
    """Norms of a Post-LN stack stand on the path of the gradient: small gains divide it block by block."""
    lm = language_model(tiny_config("post", n_layers=4))
    for block in lm.model.stack("decoder").blocks:
        for name in ("attn_norm", "ffn_norm"):
            block.get_submodule(name).get_parameter("weight").data *= 0.1
    pull = gradients.stream_gradients(lm.trace(ids=IDS))
    ends = gradients.Ends(pull.norms[-1], pull.norms[0])
    assert (ends.bottom < 0.1 * ends.top) == (gradients.GRADIENT.of(ends).name == "shrinks")
    assert gradients.GRADIENT.of(ends).name == "shrinks"


def test_before_training_either_may_end_more_alike() -> None:
    """Of random models with biases; of the bundled shapes Post-LN's tokens do on every text that was tried."""
    found = set()
    for seed in range(20):
        runs = {at: language_model(tiny_config(at), seed=seed).trace(ids=IDS) for at in ("pre", "post")}
        ends = {at: float(readings.readings(run).alike[-1]) for at, run in runs.items()}
        name = depth.ALIKE_FRESH.of(depth.Alike(**ends)).name
        assert name in ("plain", "pre" if ends["pre"] > ends["post"] else "post")
        found.add(name)
    assert {"pre", "post"} <= found


def test_both_halves_of_a_stack_are_of_as_many_sub_layers() -> None:
    shares = np.array([np.nan, 0.1, 0.3, 9.0, 0.5, 0.7])[:, None]
    found = readings.Readings((), (), shares, shares, shares, shares[:, 0], shares[:, 0])
    assert found.halves() == pytest.approx((0.2, 0.6))


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


def test_a_log_shorter_than_a_point_has_no_curve() -> None:
    with pytest.raises(ValueError, match="2 lines"):
        training_log.loss_curve([report(0), report(1)], lines=3)


def loss_from(trace: vm.Trace, site: str, stream: torch.Tensor) -> torch.Tensor:
    """The sentence's loss as a function of the stream at one site, by another way than the module's.

    The blocks above the site are run one by one.
    """
    model = trace.model
    first = 0 if site == "embed.out" else int(site.split(".")[1]) + 1
    x = stream
    for block in list(model.stack("decoder").blocks)[first:]:
        x = block(x, Given(model.stack("decoder").position))
    final = model.stack("decoder").final_norm
    if final is not None:
        x = final(x)
    logits = model.unembedding(x)[0]
    return -logits[:-1].log_softmax(-1)[torch.arange(len(trace) - 1), torch.tensor(trace.ids[1:])].mean()


def test_gradients_of_the_stream(lm: vm.LanguageModel) -> None:
    trace = lm.trace(ids=IDS)
    found = gradients.stream_gradients(trace)
    assert found.sites == ("embed.out", *(f"blocks.{i}.resid.out" for i in range(lm.config.n_layers)))
    for site, gradient in zip(found.sites, found.gradients, strict=True):
        stream = trace[site][None].clone().requires_grad_()
        loss = loss_from(trace, site, stream)
        loss.backward()
        assert stream.grad is not None
        assert found.loss == pytest.approx(loss.item(), abs=1e-5)
        torch.testing.assert_close(gradient, stream.grad[0], atol=1e-6, rtol=1e-4)
        assert not gradient[-1].any()
    assert found.norms == pytest.approx([gradient.norm().item() for gradient in found.gradients])


def test_gradients_leave_nothing_behind(lm: vm.LanguageModel) -> None:
    trace = lm.trace(ids=IDS)
    expected = gradients.stream_gradients(trace).norms
    results: list[tuple[float, ...]] = []
    threads = [
        threading.Thread(target=lambda: results.append(gradients.stream_gradients(trace).norms)) for _ in range(4)
    ]
    with torch.inference_mode():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert torch.is_inference_mode_enabled()
        assert gradients.stream_gradients(trace).norms == pytest.approx(expected)
    assert len(results) == 4 and all(norms == pytest.approx(expected) for norms in results)
    assert all(p.grad is None and not p.requires_grad for p in lm.model.parameters())


def test_one_token_has_no_loss(lm: vm.LanguageModel) -> None:
    with pytest.raises(ValueError, match="at least 2 tokens"):
        gradients.stream_gradients(lm.trace(ids=[3]))


@every
def test_stream_sites_are_those_after_each_addition(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    for side in config_.sides:
        seen = trace.at(side)
        expected = [name for name in seen.sites if name == "embed.out" or name.split(".")[-2:-1] == ["resid"]]
        assert list(stream_sites(seen)) == [name for name in expected if not name.endswith(".in")]


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

    class Push:
        """A tap that moves the embedding of one side."""

        def __init__(self, by: torch.Tensor, prefix: str = "") -> None:
            self.by, self.prefix = by, prefix

        def __call__(self, name: str, value: torch.Tensor) -> torch.Tensor:
            return value + self.by if self.prefix + name == f"{side}.embed.out" else value

        def at(self, prefix: str) -> Push:
            return Push(self.by, f"{self.prefix}{prefix}.")

        def changes(self, name: str) -> bool:
            return False

    ids, target = torch.tensor([trace.ids]), torch.tensor([trace.target_ids])
    losses = [
        F.cross_entropy(trace.model(ids, target, tap=Push(by))[0, :-1], target[0, 1:]).item() for by in (step, -step)
    ]
    assert losses[0] - losses[1] == pytest.approx(2e-2 * found.norms[0], rel=2e-2)


def test_masks_and_edits_of_the_run_hold_in_its_gradient() -> None:
    lm = language_model(tiny_config())
    blind = torch.eye(6, dtype=torch.bool)
    trace = lm.trace(ids=IDS, mask=blind, edits=[vm.edits.AblateHead(layer=1, head=0)])
    assert gradients.stream_gradients(trace).loss == pytest.approx(expected_loss(trace), abs=1e-5)
    assert gradients.stream_gradients(lm.trace(ids=IDS)).loss != pytest.approx(expected_loss(trace), abs=1e-3)


def test_a_masked_place_is_not_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(tiny_config(kind="encoder", head=config.MaskedHead()))
    trace = lm.trace(ids=[3, 7, 9])
    monkeypatch.setattr(type(trace.tokenizer), "mask_id", 7, raising=False)
    assert gradients.predicted(trace) == ("itself", [0, 2], [3, 9])
    assert gradients.no_loss(lm.trace(ids=[7])) == "all_masked"
    assert gradients.no_loss(lm.trace(ids=[3])) is None


def test_one_token_of_a_target_has_no_loss() -> None:
    lm = language_model(tiny_config(kind="encoder_decoder", start_id=0))
    assert gradients.no_loss(lm.trace(ids=[3, 4], target_ids=[0])) == "one_token"
