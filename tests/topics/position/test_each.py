"""What each scheme adds to the scores of one query, against scores that are worked out from the weights."""

from __future__ import annotations

import math

import islands
import numpy as np
import pytest
import torch
from tiny_models import tiny_config, traced

from viz_model import config, texts
from viz_model.drawing.scene import Cells
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


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_the_picture_has_a_row_a_scheme_for_every_head_and_query(lang: str) -> None:
    trace = traced(tiny_config(position=OWN))
    look = islands.look(trace, PAGE, lang, head=1, token=2)
    found = each.adds(look)
    assert found is not None
    (cells,) = (
        mark
        for panel in islands.pictures(PAGE, look)["position.each"].panels
        for mark in panel.marks
        if isinstance(mark, Cells) and mark.id == "cells"
    )
    np.testing.assert_array_equal(cells.values, found.values[:, 1, 2])
    assert len(cells.rows) == len(found.schemes) and sum("*" in name for name in cells.rows) == 3
    most = np.nanmax(np.abs(found.values[:, 1, 2]))
    assert any(f"{most:.2f}" in said for said in islands.one(each.tell(look), look.place))
