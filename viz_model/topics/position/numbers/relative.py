"""Relative keys in place of a model's own positions: its weights, and vectors as they are before any training."""

from __future__ import annotations

from dataclasses import replace

import torch

from viz_model.config import RelativeKey
from viz_model.model.transformer import Transformer
from viz_model.runs.record import record
from viz_model.runs.trace import Trace


def with_relative_keys(trace: Trace) -> Trace:
    """The same tokens, read by the same weights, with relative keys (Shaw et al. 2018) in every layer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Transformer(replace(trace.config, position=RelativeKey(), positions=()))
    own = {name: weight for name, weight in trace.model.state_dict().items() if "position" not in name}
    model.load_state_dict(own, strict=False)
    return record(model.eval().requires_grad_(False), trace.tokenizer, trace.ids, trace.target_ids).at(trace.stack.side)
