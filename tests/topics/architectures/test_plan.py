"""The plan of a stack and its diagram: every declared value is a step of it, also of a variant without a text."""

from __future__ import annotations

from typing import Any

import islands
import pytest
from tiny_models import describe, tiny_config, traced, variants, without_a_part

from viz_model.config import Alibi, Dense, Gated, ModelConfig, NoPosition, T5Bias
from viz_model.drawing.scene import Scene, Text
from viz_model.island.look import Look
from viz_model.model import sites
from viz_model.model.feedforward import Experts
from viz_model.model.transformer import Transformer
from viz_model.topics.architectures import PAGE
from viz_model.topics.architectures import plan as plans

PER_LAYER = [
    tiny_config(ffns=(Dense(bias=False), Gated(bias=True)), windows=(3, 0)),
    tiny_config(position=NoPosition(), positions=(Alibi(), T5Bias(buckets=8, max_distance=12)), norm_at="post"),
]
CONFIGS = [*variants(), *without_a_part(), *PER_LAYER]
every = pytest.mark.parametrize("config", CONFIGS, ids=describe)


def look_at(config: ModelConfig, lang: str = "en") -> Look:
    return islands.look(traced(config), PAGE, lang)


def written(scene: Scene) -> list[str]:
    return [str(mark.text) for mark in scene.panels[0].marks if isinstance(mark, Text)]


@every
def test_every_declared_value_is_in_the_plan_once(config: ModelConfig) -> None:
    for side in config.sides:
        for layer in range(config.depth(side)):
            declared = []
            for full, _ in sites.in_order(config):
                own, name = sites.split_side(full)
                if (own or config.sides[-1]) == side and sites.split_name(name)[0] in (None, layer):
                    declared.append(full)
            found = [site.full for element in plans.plan(config, side, layer) for site in element.sites]
            assert sorted(found) == sorted(declared)


@every
def test_a_plan_has_the_sub_layers_that_the_stack_has(config: ModelConfig) -> None:
    model = Transformer(config)
    for side in config.sides:
        plan = {element.key: element for element in plans.plan(config, side)}
        block, stack = model.stack(side).block(0), model.stack(side)
        norms = [key for key in plan if "norm_p" in key]
        assert len(norms) == sum(name.endswith("_norm") for name, _ in block.named_children())
        assert {key.rpartition("_")[2] for key in norms} == {config.norm_at}
        assert ("cross.add" in plan) == (block.cross is not None)
        assert ("end.norm" in plan) == (stack.final_norm is not None)
        assert ("embed.norm" in plan) == (stack.embed_norm is not None)
        assert ("embed.segment" in plan) == (stack.segment is not None)
        assert ("attn.qk_norm" in plan) == config.qk_norm
        assert ("attn.bias" in plan) == (config.layer(side, 0).position.acts_on == "scores")
        assert ("attn.rotate" in plan) == (config.layer(side, 0).position.acts_on == "queries")
        is_routed = isinstance(block.ffn, Experts)
        assert ("ffn.router" in plan) == is_routed and ("expert" in plan["ffn.up"].text_key) == is_routed
        if not is_routed:
            assert ("gate" in plan["ffn.up"].text_key) == hasattr(block.ffn, "gate")
        assert (" + b" in plan["ffn.up"].values["bias"]) == (block.ffn.up.bias is not None)
        assert (" + b" in plan["attn.out"].values["bias"]) == (block.attn.o.bias is not None)
        assert ("unscaled" in plan["attn.scores"].text_key) == (block.attn.scale == 1)
        assert (plan["attn.add"].text_key == "plan_add") == config.residual
        steps = [key for key in plan if key.startswith("attn.")]
        assert steps.index("attn.add") == len(steps) - (2 if config.norm_at == "post" else 1)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"norm_at": "branch"}, ["attn.out", "attn.out_norm", "attn.add"]),
        ({"norm_at": "both"}, ["attn.norm_pre", "attn.heads", "attn.out", "attn.out_norm", "attn.add"]),
        ({"parallel": True}, ["attn.norm_pre", "attn.add", "ffn.norm_pre", "ffn.out", "ffn.add"]),
    ],
)
def test_norms_stand_where_they_do_on_other_blocks(changes: dict[str, Any], expected: list[str]) -> None:
    steps = {element.key: element for element in plans.plan(tiny_config(**changes), "decoder")}
    assert [key for key in steps if key in expected] == expected
    assert ("attn.norm_pre" in steps) == (changes.get("norm_at") != "branch")
    assert (
        ("parallel" in steps["ffn.norm_pre"].text_key) == ("parallel" in changes) if "ffn.norm_pre" in steps else True
    )
