"""What the logits are made of: the unembedding of what the registry calls so is what the model recorded."""

from __future__ import annotations

import pytest
import torch
from tiny_models import close, describe, language_model, run_both, variants

from viz_model.config import ModelConfig
from viz_model.topics.next_token.numbers import output


@pytest.mark.parametrize("config_", [c for c in variants() if c.has_logits], ids=describe)
def test_what_is_read_makes_the_logits(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_)).at(config_.sides[-1])
    read = trace[output.read_site(trace)] * output.logit_scale(trace)
    close(trace.model.unembedding(read), trace["logits"])
    sites = output.read_sites(trace)
    assert all(name in trace for name in sites)
    assert not sites or sites[-1] == output.read_site(trace)


@pytest.mark.parametrize("config_", [c for c in variants() if not c.has_logits], ids=describe)
def test_without_a_head_the_last_vectors_are_the_output(config_: ModelConfig) -> None:
    lm = language_model(config_)
    trace = run_both(lm)
    with torch.no_grad():
        close(trace[trace.leaving], lm.model(torch.tensor([trace.ids]))[0])
