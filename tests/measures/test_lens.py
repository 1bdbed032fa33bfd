"""The logit lens ends in the model's own prediction, and begins before any block."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import close, describe, language_model, run_both, tiny_config, variants

from viz_model.config import ModelConfig
from viz_model.measures import lens
from viz_model.measures.output import read_site

WITH_LOGITS = [config for config in variants() if config.has_logits]


@pytest.mark.parametrize("config", WITH_LOGITS[::3], ids=describe)
def test_the_last_depth_is_the_model(config: ModelConfig) -> None:
    trace = run_both(language_model(config)).at(config.sides[-1])
    positions = range(len(trace))
    close(lens.logits(trace, lens.stream(trace, trace.n_layers, positions)), trace["logits"])
    seen = lens.look(trace, range(trace.n_layers + 1), positions)
    assert seen.ids.shape == seen.probs.shape == seen.own.shape == (trace.n_layers + 1, len(trace))
    assert (seen.ids[-1] == trace["logits"].argmax(-1).numpy()).all()
    probs = trace["probs"].numpy()
    np.testing.assert_allclose(seen.probs[-1], probs.max(-1), atol=1e-5)
    np.testing.assert_allclose(seen.own[-1], probs[np.arange(len(trace)), list(trace.own_ids)], atol=1e-5)


def test_the_first_depth_is_the_embedding_through_the_final_norm() -> None:
    trace = run_both(language_model(tiny_config("pre")))
    norm = trace.stack.final_norm
    assert norm is not None
    row = trace["embed.token"][2] + trace["embed.position"][2]
    expected = (trace.model.unembedding.weight @ norm(row)).softmax(-1)
    seen = lens.look(trace, [0], [2])
    assert seen.ids[0, 0] == expected.argmax() and seen.probs[0, 0] == pytest.approx(expected.max().item(), abs=1e-5)


def test_paths_follow_tokens_by_depth() -> None:
    trace = run_both(language_model(tiny_config("post")))
    top = int(trace["logits"][4].argmax())
    found = lens.paths(trace, 4, [top, 3])
    assert found.probs.shape == found.ranks.shape == (trace.n_layers + 1, 2)
    assert found.ranks[-1, 0] == 1
    middle = lens.logits(trace, trace["blocks.0.resid.out"][4][None])[0]
    assert found.ranks[1, 1] == 1 + int((middle > middle[3]).sum())
    torch.testing.assert_close(torch.tensor(found.probs[1, 1]), middle.softmax(-1)[3])


def test_when_a_token_is_settled() -> None:
    assert lens.settled(np.array([5, 1, 2, 1, 1])) == 3
    assert lens.settled(np.array([1, 1])) == 0
    assert lens.settled(np.array([1, 2])) is None


def test_a_large_vocabulary_affords_fewer_positions() -> None:
    small, large = (run_both(language_model(tiny_config(n_vocab=v))) for v in (101, 4000))
    assert lens.affordable(small, 3) > lens.affordable(large, 3) >= 1
    assert lens.affordable(large, 10**9) == 1


def test_without_logits_there_is_no_lens() -> None:
    config = next(config for config in variants() if not config.has_logits)
    trace = run_both(language_model(config))
    with pytest.raises(ValueError, match="no logits"):
        lens.look(trace, [0], [0])


@pytest.mark.parametrize("config_", [c for c in variants() if c.has_logits], ids=describe)
def test_what_is_read_makes_the_logits(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_)).at(config_.sides[-1])
    close(trace.model.unembedding(trace[read_site(trace)] * float(trace.model.head.scale)), trace["logits"])


@pytest.mark.parametrize("config_", [c for c in variants() if not c.has_logits], ids=describe)
def test_without_a_head_the_last_vectors_are_the_output(config_: ModelConfig) -> None:
    lm = language_model(config_)
    trace = run_both(lm)
    with torch.no_grad():
        close(trace[trace.leaving], lm.model(torch.tensor([trace.ids]))[0])
