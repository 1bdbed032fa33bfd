"""What each scheme adds to the scores of one query, against scores that are worked out from the weights."""

from __future__ import annotations

import math

import islands
import numpy as np
import torch
from tiny_models import tiny_config, traced

from viz_model import config
from viz_model.topics.position import PAGE, each

OWN = config.Alibi()


def row(found: each.Adds, kind: type) -> np.ndarray:
    return found.values[[isinstance(scheme, kind) for scheme in found.schemes].index(True)]


def test_what_is_added_to_scores_and_what_turns_them() -> None:
    trace = traced(tiny_config(position=OWN))
    found = each.adds(islands.look(trace, PAGE))
    assert found is not None and len(found.schemes) == len(config.variants("position"))
    seen = trace.mask(0).numpy()
    np.testing.assert_allclose(
        row(found, config.Alibi)[:, seen], trace["blocks.0.attn.bias"].numpy()[:, seen], atol=1e-5
    )
    assert not row(found, config.NoPosition)[:, seen].any() and np.isnan(row(found, config.Rope)[:, ~seen]).all()
    q, k = (trace[f"blocks.0.attn.{name}"].double() for name in ("q", "k"))
    heads, length, width = q.shape
    k = k.repeat_interleave(heads // len(k), 0)
    angles = torch.arange(length)[:, None] / 10_000 ** (torch.arange(0, width, 2) / width)

    def turned(x: torch.Tensor) -> torch.Tensor:
        a, b = x[..., : width // 2], x[..., width // 2 :]
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)

    change = (turned(q) @ turned(k).mT - q @ k.mT) / math.sqrt(width)
    np.testing.assert_allclose(row(found, config.Rope)[:, seen], change.numpy()[:, seen], atol=1e-4)
    untrained = {type(scheme) for scheme, is_one in zip(found.schemes, found.is_untrained, strict=True) if is_one}
    assert untrained == {config.Learned, config.T5Bias, config.RelativeKey}
