"""Two runs compared: divergence and entropy against PyTorch's own, vectors, and heads that are off."""

import math

import numpy as np
import pytest
import torch
from tiny_models import describe, few, language_model, of_pictures, run_both, tiny_config, without_a_part
from torch.nn import functional as F

from viz_model.config import ModelConfig
from viz_model.measures import change
from viz_model.runs.edits import AblateHead, FixPattern, FlipMask, NoNorm, NoPosition, NoScale, SetNeuron, Skip
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


def test_vectors_are_compared_by_cosine_and_length(pair: tuple[Trace, Trace]) -> None:
    before, after = pair
    name = before.leaving
    found = change.vectors(before, after)
    expected = F.cosine_similarity(before[name].double(), after[name].double(), dim=-1)
    np.testing.assert_allclose(found.cosines, expected.numpy(), atol=1e-6)
    np.testing.assert_allclose(found.after, after[name].norm(dim=-1).numpy(), rtol=1e-5)
    assert (found.cosines < 1).any()


@pytest.mark.parametrize("config", [*few(), *without_a_part(), *of_pictures()], ids=describe)
def test_runs_part_where_the_edit_is_made(config: ModelConfig) -> None:
    lm, side = language_model(config), config.sides[-1]
    at = f"{side}." if len(config.sides) > 1 else ""
    plain = run_both(lm)
    for edit, site, positions in (
        (AblateHead(layer=1, head=0), "blocks.1.attn.z", None),
        (SetNeuron(layer=0, neuron=2, value=50.0, position=1), "blocks.0.ffn.act", (1,)),
        (Skip(layer=0, part="ffn"), "blocks.0.ffn.out", None),
        (FlipMask(query=2, key=1, layer=1), "blocks.1.attn.mask", (2,)),
        (FixPattern(layer=0, head=1, pattern="uniform"), "blocks.0.attn.pattern", None),
    ):
        if isinstance(edit, FlipMask) and not config.residual:
            continue  # without additions all positions become alike, and it makes no difference who is seen
        edited = run_both(lm, edits=[edit])
        for before, after, name in ((plain, edited, at + site), (plain.at(side), edited.at(side), site)):
            found = change.first(before, after)
            assert found is not None and found.site == name
            assert positions is None or found.positions == positions
            assert found.positions


@pytest.mark.parametrize("norm_at", ["pre", "post"])
def test_runs_of_other_configs_are_compared_where_both_have_a_value(norm_at: str) -> None:
    lm = language_model(tiny_config(norm_at))  # type: ignore[arg-type]
    plain = run_both(lm)
    assert change.first(plain, run_both(lm)) is None
    sites = {NoScale(): "blocks.0.attn.scores", NoPosition(): "embed.out", NoNorm(): "blocks.0.attn.norm.scale"}
    for edit, site in sites.items():
        found = change.first(plain, run_both(lm, edits=[edit]))
        assert found is not None and found.site == site


def test_runs_of_other_lengths_are_refused() -> None:
    lm = language_model(tiny_config(kind="encoder_decoder", start_id=0))
    one, other = (lm.trace(ids=[1, 2], target_ids=[0, *more]) for more in ([3], [3, 4]))
    with pytest.raises(ValueError, match=r"^runs: expected as many target_ids in both, got 2 and 3"):
        change.first(one, other)
    with pytest.raises(ValueError, match=r"^runs: one is seen from"):
        change.first(one, one.at("encoder"))
