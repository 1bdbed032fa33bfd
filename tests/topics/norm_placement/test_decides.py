"""What the page opens on: the recorded ends of trainings, and lengths before every norm, by other arithmetic."""

from __future__ import annotations

import json
from dataclasses import replace

import islands
import numpy as np
import pytest

import viz_model as vm
from viz_model.island.look import Look
from viz_model.topics.norm_placement import PAGE, decides
from viz_model.training import experiments

TEXT = "Tom had a cat and a dog."


def twins(lang: str = "en") -> Look:
    pre, post = (vm.load(f"story-{at}-ln").trace(TEXT) for at in ("pre", "post"))
    return replace(islands.look(pre, PAGE, lang), twin=post)


def test_lengths_are_of_the_sums_before_any_norm() -> None:
    look = twins()
    found = decides.lengths(look)
    pre, post = look.trace, look.twin
    assert post is not None
    for n in range(pre.n_layers):
        at = f"blocks.{n}."
        np.testing.assert_allclose(found["pre"][1 + 2 * n], pre[f"{at}resid.mid"].norm(dim=-1), rtol=1e-5)
        added = post[f"{at}resid.in"] + post[f"{at}attn.out"], post[f"{at}resid.mid"] + post[f"{at}ffn.out"]
        for k, one in enumerate(added):
            np.testing.assert_allclose(found["post"][1 + 2 * n + k], one.norm(dim=-1), rtol=1e-4)


def test_outcomes_are_those_recorded() -> None:
    record = json.loads(experiments.RECORD.read_text(encoding="utf-8"))
    look = twins()
    scene = decides.outcome(look)
    ends = {}
    for one in record["runs"]:
        recipe, steps = one["recipe"], np.array(one["step"])
        if recipe["peak_rate"] == experiments.RATE:
            late = np.array(one["loss"])[steps >= 0.9 * steps[-1]]
            ends[recipe["config"]["norm_at"], recipe["warmup"] > 0] = late.mean()
    shown = dict(zip(decides.trained(look).runs, scene.series[0].values, strict=True))
    assert shown == pytest.approx(ends, rel=0.02)
