"""The plan of a stack and its diagram: every declared value is a step of it, also of a variant without a text."""

from __future__ import annotations

import itertools
from typing import Any

import islands
import pytest
from tiny_models import describe, few, tiny_config, traced, variants, without_a_part

from viz_model import texts
from viz_model.config import Alibi, Dense, Gated, ModelConfig, NoPosition, T5Bias
from viz_model.drawing.scene import Rect, Scene, Text
from viz_model.island.look import Look
from viz_model.model import sites
from viz_model.model.feedforward import Experts
from viz_model.model.transformer import Transformer
from viz_model.topics.architectures import PAGE, diagram
from viz_model.topics.architectures import plan as plans

PER_LAYER = [
    tiny_config(ffns=(Dense(bias=False), Gated(bias=True)), windows=(3, 0)),
    tiny_config(position=NoPosition(), positions=(Alibi(), T5Bias(buckets=8, max_distance=12)), norm_at="post"),
]
CONFIGS = [*variants(), *without_a_part(), *PER_LAYER]
every = pytest.mark.parametrize("config", CONFIGS, ids=describe)
SPEAK = {language: texts.Texts(language) for language in texts.LANGUAGES}


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
def test_every_step_is_told_in_every_language(config: ModelConfig) -> None:
    for side in config.sides:
        for layer in range(config.depth(side)):
            for element in plans.plan(config, side, layer):
                if element.key == "ffn.act" and config.layer(side, layer).ffn.activation is None:
                    assert not element.text_key  # its formula stands there
                    continue
                for t in SPEAK.values():
                    own = t(f"architectures.{element.text_key}", **element.values)
                    assert own and own != element.text_key and "{{" not in own


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


@pytest.mark.parametrize("config", [*few(), *without_a_part(), *PER_LAYER], ids=describe)
def test_a_diagram_marks_what_differs_and_nothing_else(config: ModelConfig) -> None:
    for side in config.sides:
        own = diagram.Stack(config, side)
        same, _ = diagram.DiagramView.pair(own, own)
        assert not same.differing and not same.changed()
        other = diagram.Stack(tiny_config(), "decoder")
        left, right = diagram.DiagramView.pair(own, other)
        assert left.slots == right.slots and left.differing == right.differing
        for view in (left, right):
            own_order = [slot for slot in view.slots if slot in view.elements]
            groups = [slot.partition(".")[0] for slot in view.slots]
            assert set(own_order) == set(view.elements)
            assert len(list(itertools.groupby(groups))) == len(set(groups))
        heights = list(left.heights().values())
        assert all(low < high for low, high in heights)
        assert all(b[1] < a[0] for a, b in itertools.pairwise(heights))
        look = look_at(config)
        for which, view in enumerate((left, right)):
            scene = diagram.of_view(look, view, "a <b>model</b>", which)
            said = written(scene)
            missing = [sub for sub in ("cross",) if f"{sub}.add" in view.slots and f"{sub}.add" not in view.elements]
            whole = {slot for sub in missing for slot in view.slots if slot.startswith(f"{sub}.")}
            marked = {slot for slot in view.differing - whole if not slot.endswith(".add")}
            assert said.count("≠") == len(marked) + len(missing)
            assert f"{'●■'[which]} a <b>model</b>" in said
            squares = [m for m in scene.panels[0].marks if isinstance(m, Rect) and m.id.startswith("query.")]
            attentions = sum(key.endswith(".heads") for key in view.elements)
            assert len(squares) == attentions * view.n_heads
            assert len({mark.id for mark in scene.panels[0].marks}) == len(scene.panels[0].marks)
            for element in view.elements.values():
                if not element.key.endswith(".add"):
                    assert diagram.cut(diagram.name_of(look, element)) in said


def test_blocks_that_differ_say_which_they_are() -> None:
    config = tiny_config(n_layers=4, windows=(3, 3, 0, 3))
    assert [plans.alike(config, "decoder", layer) for layer in (0, 2)] == [(0, 1, 3), (2,)]
    drawn = []
    for layer in (0, 2):
        stack = diagram.Stack(config, "decoder", layer)
        view, _ = diagram.DiagramView.pair(stack, stack)
        drawn.append(" ".join(written(diagram.of_view(look_at(config), view, "m", 0))))
    assert "0–1, 3 of 4" in drawn[0] and "windows of the past" in drawn[0]
    assert "2 of 4" in drawn[1] and "windows" not in drawn[1]


def test_two_plans_of_other_orders_are_laid_side_by_side() -> None:
    pre, post = plans.plan(tiny_config("pre"), "decoder"), plans.plan(tiny_config("post"), "decoder")
    slots = [slot for slot in plans.slots(pre, post) if slot.startswith("ffn.")]
    assert slots == ["ffn.norm_pre", "ffn.up", "ffn.act", "ffn.out", "ffn.add", "ffn.norm_post"]


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
