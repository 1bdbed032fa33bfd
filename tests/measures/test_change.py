"""Two runs compared: divergence and entropy against PyTorch's own, vectors, and heads that are off."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tiny_models import describe, few, language_model, run_both, variants
from torch.nn import functional as F

from viz_model.config import ModelConfig
from viz_model.measures import change
from viz_model.model.masks import everything
from viz_model.runs.edits import AblateHead
from viz_model.runs.trace import Trace


@pytest.fixture(params=few(), ids=describe)
def pair(request: pytest.FixtureRequest) -> tuple[Trace, Trace]:
    """A run, and the same with a head of the first layer switched off."""
    config: ModelConfig = request.param
    lm, side = language_model(config), config.sides[-1]
    off = run_both(lm, edits=[AblateHead(layer=0, head=1, side=side)])
    return run_both(lm).at(side), off.at(side)


def test_divergence_and_entropy_are_those_of_torch(pair: tuple[Trace, Trace]) -> None:
    before, after = pair
    if "logits" not in before:
        pytest.skip("a model without a head predicts nothing")
    p, q = (torch.distributions.Categorical(logits=run["logits"].double()) for run in pair)
    expected = torch.distributions.kl_divergence(p, q) / math.log(2)
    np.testing.assert_allclose(change.divergences(before, after), expected.numpy(), atol=1e-5)
    found = change.guesses(before, after, 2)
    assert found.divergence == pytest.approx(expected[2].item(), abs=1e-5) and found.divergence > 0
    assert found.entropies == pytest.approx([p.entropy()[2].item() / math.log(2), q.entropy()[2].item() / math.log(2)])
    np.testing.assert_allclose(found.before, before["probs"][2].numpy(), atol=1e-6)
    np.testing.assert_allclose(found.after, after["probs"][2].numpy(), atol=1e-6)


def test_a_run_does_not_differ_from_itself(pair: tuple[Trace, Trace]) -> None:
    before, _ = pair
    found = change.vectors(before, before)
    np.testing.assert_allclose(found.cosines, 1, atol=1e-6)
    np.testing.assert_array_equal(found.before, found.after)
    if "logits" in before:
        assert change.guesses(before, before, 0).divergence == 0
        assert (change.divergences(before, before) == 0).all()


def test_vectors_are_compared_by_cosine_and_length(pair: tuple[Trace, Trace]) -> None:
    before, after = pair
    name = before.leaving
    found = change.vectors(before, after)
    expected = F.cosine_similarity(before[name].double(), after[name].double(), dim=-1)
    np.testing.assert_allclose(found.cosines, expected.numpy(), atol=1e-6)
    np.testing.assert_allclose(found.after, after[name].norm(dim=-1).numpy(), rtol=1e-5)
    assert (found.cosines < 1).any()


def test_what_nobody_looked_at_changes_nothing() -> None:
    """Under a causal mask, hiding the last token from all changes no earlier position."""
    lm = language_model(next(c for c in variants() if c.kind == "decoder" and not c.windows))
    before = run_both(lm)
    visible = everything(len(before), len(before)).tril()
    visible[:, -1] = False
    found = change.divergences(before, run_both(lm, mask=visible))
    assert (found[:-1] < 1e-5).all() and found[-1] > 1e-5
