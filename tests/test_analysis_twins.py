"""What the twins are compared by, against independent computations."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import viz_model as vm
from viz_model.analysis import gradients, twins

IDS = [3, 1, 4, 1, 5, 9]


def test_stream_norms_are_lengths_from_the_embedding_upwards(lm: vm.LanguageModel) -> None:
    trace = lm.trace(ids=IDS)
    sites = twins.stream_sites(lm.config)
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


def test_a_loss_curve_is_the_mean_of_its_windows() -> None:
    log = [{"step": n, "loss": float(n), "bits_per_byte": {"en": n / 10} if n % 4 == 3 else None} for n in range(11)]
    curve = twins.loss_curve(log, window=4)
    assert curve.steps.tolist() == [3, 7]
    assert curve.mean.tolist() == [1.5, 5.5] and curve.low.tolist() == [0, 4] and curve.high.tolist() == [3, 7]
    steps, bits = curve.held_out["en"]
    assert steps.tolist() == [3, 7] and bits.tolist() == [0.3, 0.7]


def loss_from(trace: vm.Trace, site: str, stream: torch.Tensor) -> torch.Tensor:
    """The sentence's loss as a function of the stream at one site, by another way than the module's.

    The blocks above the site are run one by one.
    """
    model = trace.model
    first = 0 if site == "embed.out" else int(site.split(".")[1]) + 1
    x = stream
    for block in list(model.stack("decoder").blocks)[first:]:
        x = block(x, model.stack("decoder").position, None, None)
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
