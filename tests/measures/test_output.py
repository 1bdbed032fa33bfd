"""What the logits are made of: the unembedding of what the registry calls so is what the model recorded."""

from __future__ import annotations

import pytest
import torch
from tiny_models import close, describe, language_model, run_both, variants

from viz_model.config import ModelConfig
from viz_model.measures.output import read_site


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
