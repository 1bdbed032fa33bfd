"""viz_model.topics.architectures.numbers.compare_runs: against torch's own measures, and where two runs must part."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, tiny_config, variants, without_a_part
from torch.nn import functional as F

from viz_model import config as choices
from viz_model.config import ModelConfig
from viz_model.runs.edits import (
    AblateHead,
    FixPattern,
    FlipMask,
    NoNorm,
    NoPosition,
    NoScale,
    SetNeuron,
    ShuffleTokens,
    Skip,
)
from viz_model.topics.architectures.numbers import compare_runs

CONFIGS = [*variants()[::7], *without_a_part()]
every = pytest.mark.parametrize("config", CONFIGS, ids=describe)


@every
def test_predictions_are_measured_as_torch_measures_them(config: ModelConfig) -> None:
    lm = language_model(config)
    before, after = run_both(lm), run_both(lm, edits=[AblateHead(layer=0, head=0)])
    if not config.has_logits:
        with pytest.raises(ValueError, match=r"^runs: "):
            compare_runs.predictions(before, after)
        return
    found = compare_runs.predictions(before, after, k=4)
    logs = [run["logits"].double().log_softmax(-1) for run in (before, after)]
    divergence = F.kl_div(logs[1], logs[0], log_target=True, reduction="none").sum(-1) / math.log(2)
    np.testing.assert_allclose(found.divergence, divergence.numpy(), atol=1e-9)
    for n, log in enumerate(logs):
        entropy = torch.distributions.Categorical(logits=log).entropy() / math.log(2)
        np.testing.assert_allclose(found.entropies[:, n], entropy.numpy(), atol=1e-9)
    for t in range(len(logs[0])):
        for run, ids, shares, own in (
            (before, found.before, found.of_before, 0),
            (after, found.after, found.of_after, 1),
        ):
            top = run.next_tokens(t, 4)
            assert [token.id for token, _ in top] == ids[t].tolist()
            np.testing.assert_allclose(shares[t, :, own], [p for _, p in top], atol=1e-6)
            np.testing.assert_allclose(shares[t, :, 1 - own], logs[1 - own].exp()[t, ids[t]].numpy(), atol=1e-9)
    assert (found.flipped == (logs[0].argmax(-1) != logs[1].argmax(-1)).numpy()).all()


@every
def test_a_run_does_not_differ_from_itself(config: ModelConfig) -> None:
    lm = language_model(config)
    found = compare_runs.compare(run_both(lm), run_both(lm))
    assert found.first is None
    assert all(site.largest == site.relative == 0 and not site.positions for site in found.sites)
    if config.has_logits:
        assert found.vectors is None and found.predictions is not None
        assert not found.predictions.divergence.any() and not found.predictions.flipped.any()
    else:
        assert found.predictions is None and found.vectors is not None
        np.testing.assert_allclose(found.vectors.cosines, 1, atol=1e-9)


@every
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
        for before, after, name in (
            (plain, edited, at + site),
            (plain.at(side), edited.at(side), site),
        ):
            found = compare_runs.first(before, after)
            assert found is not None and found.site == name
            assert positions is None or found.positions == positions
            assert found.position in found.positions


@pytest.mark.parametrize("norm_at", ["pre", "post"])
def test_runs_of_other_configs_are_compared_where_both_have_a_value(norm_at: str) -> None:
    lm = language_model(tiny_config(norm_at))  # type: ignore[arg-type]
    plain = run_both(lm)
    for edit, site in (
        (NoScale(), "blocks.0.attn.scores"),
        (NoPosition(), "embed.out"),
        (NoNorm(), "blocks.0.attn.norm.scale"),
    ):
        after = run_both(lm, edits=[edit])
        found = compare_runs.compare(plain, after)
        assert found.first is not None and found.first.site == site
        names = [each.site for each in found.sites]
        assert "embed.token" in names and ("embed.position" in names) == (edit != NoPosition())
        assert found.predictions is not None and (found.predictions.divergence >= 0).all()


def test_the_largest_change_is_found_by_hand() -> None:
    lm = language_model(tiny_config())
    before, after = run_both(lm), run_both(lm, edits=[ShuffleTokens(order=(1, 0, 2, 3, 4, 5, 6))])
    found = {each.site: each for each in compare_runs.differences(before, after)}
    ids = found["tokens.ids"]
    assert ids.positions == (0, 1) and ids.largest == abs(before.ids[0] - before.ids[1])
    for name in ("embed.token", "blocks.0.attn.k", "blocks.1.ffn.act", "blocks.1.resid.out"):
        gap = (after[name] - before[name]).abs()
        assert found[name].largest == pytest.approx(gap.max().item())
        assert found[name].relative == pytest.approx((gap.norm() / before[name].norm()).item(), rel=1e-5)
    assert found["embed.token"].positions == (0, 1)
    k = (after["blocks.0.attn.k"] - before["blocks.0.attn.k"]).abs().amax((0, 2))
    assert found["blocks.0.attn.k"].position == int(k.argmax())
    comparison = compare_runs.compare(before, after)
    assert comparison.largest.relative == max(each.relative for each in comparison.sites)
    assert comparison.first is not None and comparison.first.site == "tokens.ids"


def test_vectors_stand_in_where_nothing_is_predicted() -> None:
    lm = language_model(tiny_config(kind="encoder", head=choices.NoHead()))
    before, after = run_both(lm), run_both(lm, edits=[Skip(layer=1, part="attn")])
    found = compare_runs.compare(before, after)
    assert found.predictions is None and found.vectors is not None
    cosines = F.cosine_similarity(before["final.norm.out"].double(), after["final.norm.out"].double(), dim=-1)
    np.testing.assert_allclose(found.vectors.cosines, cosines.numpy(), atol=1e-9)


def test_runs_of_other_lengths_are_refused() -> None:
    lm = language_model(tiny_config(kind="encoder_decoder", start_id=0))
    one, other = (lm.trace(ids=[1, 2], target_ids=[0, *more]) for more in ([3], [3, 4]))
    with pytest.raises(ValueError, match=r"^runs: expected as many target_ids in both, got 2 and 3"):
        compare_runs.compare(one, other)
    with pytest.raises(ValueError, match=r"^runs: one is seen from"):
        compare_runs.compare(one, one.at("encoder"))
