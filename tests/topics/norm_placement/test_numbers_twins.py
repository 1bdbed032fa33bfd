"""What the twins are compared by, against independent computations."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, tiny_config, variants
from torch.nn import functional as F

import viz_model as vm
from viz_model import config
from viz_model.config import ModelConfig
from viz_model.model.attention import Given
from viz_model.model.transformer import Transformer
from viz_model.topics.norm_placement.numbers import gradients, twins

IDS = [3, 1, 4, 1, 5, 9]


def test_stream_norms_are_lengths_from_the_embedding_upwards(lm: vm.LanguageModel) -> None:
    trace = lm.trace(ids=IDS)
    sites = twins.stream_sites(trace)
    assert sites[0] == "embed.out" and sites[-1] == f"blocks.{lm.config.n_layers - 1}.resid.out"
    expected = np.stack([np.linalg.norm(trace[site].numpy(), axis=-1) for site in sites])
    np.testing.assert_allclose(twins.stream_norms(trace), expected, rtol=1e-5)


def test_similarity_is_the_mean_cosine_of_all_pairs(lm: vm.LanguageModel) -> None:
    vectors = lm.trace(ids=IDS)["blocks.1.resid.out"]
    pairs = [
        F.cosine_similarity(vectors[i], vectors[j], dim=0).item()
        for i in range(len(vectors))
        for j in range(len(vectors))
        if i != j
    ]
    assert twins.mean_similarity(vectors) == pytest.approx(np.mean(pairs), abs=1e-6)


def test_similarity_of_equal_and_of_single_vectors() -> None:
    assert twins.mean_similarity(torch.ones(4, 3) * torch.arange(1, 5)[:, None]) == pytest.approx(1.0)
    assert twins.mean_similarity(torch.eye(3)) == pytest.approx(0.0)
    assert np.isnan(twins.mean_similarity(torch.ones(1, 3)))


def test_logits_without_the_final_norm(lm: vm.LanguageModel) -> None:
    trace = lm.trace(ids=IDS)
    bare = trace[f"blocks.{lm.config.n_layers - 1}.resid.out"] @ lm.model.unembedding.weight.T
    torch.testing.assert_close(twins.logits_without_final_norm(trace), bare)
    same = torch.allclose(twins.logits_without_final_norm(trace), trace["logits"], atol=1e-5)
    assert same == (lm.config.norm_at == "post")


def report(n: int, bits: dict[str, float] | None = None) -> dict[str, Any]:
    """A line of a log that keeps means of 5 steps."""
    figures = {language: {"bits_per_byte": found, "accuracy": 0.5} for language, found in (bits or {}).items()}
    norms = {"embedding": 1.0, "decoder.blocks.0": float(n), "decoder.blocks.1": 2.0 * n}
    return {"step": 5 * n + 4, "loss": float(n), "gradient_norms": norms, "held_out": figures or None}


def test_a_loss_curve_is_the_mean_of_its_windows() -> None:
    log = [report(n, {"en": n / 10} if n % 4 == 3 else None) for n in range(11)]
    curve = twins.loss_curve(log, lines=4)
    assert (curve.kept, curve.window) == (5, 20)
    assert curve.steps.tolist() == [19, 39]
    assert curve.mean.tolist() == [1.5, 5.5] and curve.low.tolist() == [0, 4] and curve.high.tolist() == [3, 7]
    steps, bits = curve.held_out["en"]
    assert steps.tolist() == [19, 39] and bits.tolist() == [0.3, 0.7]
    assert list(curve.gradients) == ["embedding", "decoder.blocks.0", "decoder.blocks.1"]
    assert curve.gradients["decoder.blocks.1"].tolist() == [3.0, 11.0]


def test_a_log_shorter_than_a_point_has_no_curve() -> None:
    with pytest.raises(ValueError, match="2 lines"):
        twins.loss_curve([report(0), report(1)], lines=3)


@pytest.mark.parametrize("kind", ["decoder", "encoder_decoder"])
def test_untrained_similarity_is_that_of_the_weights_that_training_starts_from(
    kind: Literal["decoder", "encoder_decoder"],
) -> None:
    trace = run_both(language_model(tiny_config(kind=kind, start_id=0)))
    torch.manual_seed(7)
    fresh = Transformer(trace.config).eval()
    torch.manual_seed(3)
    before = torch.get_rng_state()
    for side in trace.config.sides:
        found = twins.untrained_similarity(trace.at(side), seed=7)
        assert torch.equal(torch.get_rng_state(), before)
        again = vm.LanguageModel(
            name="fresh", model=fresh, tokenizer=trace.tokenizer, twin=None, folder=Path("nowhere")
        ).trace(ids=list(trace.ids), target_ids=trace.target_ids and list(trace.target_ids))
        np.testing.assert_allclose(found, twins.stream_similarity(again.at(side)), rtol=1e-6)
        assert not np.allclose(found, twins.stream_similarity(trace.at(side)), atol=1e-3)


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


every = pytest.mark.parametrize("config_", variants(), ids=describe)


@every
def test_stream_sites_are_those_after_each_addition(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    for side in config_.sides:
        seen = trace.at(side)
        expected = [name for name in seen.sites if name == "embed.out" or name.split(".")[-2:-1] == ["resid"]]
        assert list(twins.stream_sites(seen)) == [name for name in expected if not name.endswith(".in")]


@every
def test_the_final_norm_of_every_kind(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    for side in config_.sides:
        seen = trace.at(side)
        before, after = twins.final_lengths(seen)
        assert before.tolist() == seen[f"blocks.{seen.n_layers - 1}.resid.out"].norm(dim=-1).tolist()
        assert (before.tolist() == after.tolist()) == (config_.norm_at == "post")
        if not twins.ends_in_logits(seen):
            with pytest.raises(ValueError, match="no logits"):
                twins.logits_without_final_norm(seen)
            continue
        bare = twins.logits_without_final_norm(seen)
        assert torch.allclose(bare, trace["logits"], atol=1e-5) == (config_.norm_at == "post")
        torch.testing.assert_close(twins.logits_without_final_norm(seen, 2), bare[2])


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
