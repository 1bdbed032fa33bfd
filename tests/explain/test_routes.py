"""Routes add up to the logit, and a cut measures what an edge carries, on every variant."""

import pytest
import torch
from fresh_variants import fresh_configs, installed, looking_configs
from tiny_models import (
    describe,
    few,
    language_model,
    of_classes,
    of_pictures,
    of_strips,
    other_blocks,
    run_both,
    tiny_config,
    variants,
)

import viz_model as vm
from viz_model import config as choices
from viz_model import explain
from viz_model.config import ModelConfig
from viz_model.explain import Node
from viz_model.explain.written import Part
from viz_model.model import ops
from viz_model.runs.trace import Trace

PREDICTING = [c for c in [*variants(), *other_blocks(), *of_classes(), *of_pictures()] if c.has_logits or c.classes]


def traced(config: ModelConfig) -> Trace:
    return run_both(language_model(config))


def adds_up(found: explain.Routes) -> None:
    largest = max(abs(route.value) for route in found.terms)
    assert sum(route.value for route in found.terms) == pytest.approx(found.total, abs=1e-4 * max(1, largest))


@pytest.mark.parametrize("neurons", [False, True])
@pytest.mark.parametrize("config", PREDICTING, ids=describe)
def test_routes_add_up(config: ModelConfig, neurons: bool) -> None:
    trace = traced(config)
    for position, token, against in ((-1, None, None), (2, 1, 0), (-1, 0, "average")):
        adds_up(explain.routes(trace, position, token, against, neurons=neurons, most=30))  # type: ignore[arg-type]


def test_the_whole_of_a_source_is_its_gradient_with_what_was_chosen_held() -> None:
    trace = traced(tiny_config("pre", ffn=choices.Dense(activation="gelu")))
    token = 5
    row = (trace["embed.token"] + 0).requires_grad_()

    def norm(name: str, x: torch.Tensor) -> torch.Tensor:
        weights = trace.stack.get_submodule(name.replace(".norm", "_norm")).state_dict()
        return weights["weight"] * (x - x.mean(-1, keepdim=True)) / trace[f"{name}.scale"] + weights["bias"]

    x = row + trace["embed.position"]
    for layer in range(2):
        block = trace.stack.block(layer)
        v = ops.split_heads(block.attn.v(norm(f"blocks.{layer}.attn.norm", x)), 3)
        x = x + block.attn.o(ops.merge_heads(trace[f"blocks.{layer}.attn.pattern"] @ v))
        before, after = trace[f"blocks.{layer}.ffn.up"], trace[f"blocks.{layer}.ffn.act"]
        x = x + block.ffn.down(block.ffn.up(norm(f"blocks.{layer}.ffn.norm", x)) * (after / before))
    logit = norm("final.norm", x)[-1] @ trace.model.unembedding.weight[token]
    logit.backward()
    found = explain.routes(trace, -1, token)
    assert found.total == pytest.approx(logit.item(), abs=1e-4)
    assert row.grad is not None
    for position in range(len(trace)):
        routes = [route for route in found.terms if route.nodes[0] == Node(Part("token"), position, "decoder")]
        expected = (row.grad[position] * trace["embed.token"][position]).sum().item()
        assert sum(route.value for route in routes) == pytest.approx(expected, abs=1e-4)


def test_of_parts_that_the_package_does_not_have() -> None:
    with installed():
        for config in (*fresh_configs(), *looking_configs()):
            if config.has_logits:
                adds_up(explain.routes(traced(config), -1, 3, most=30))
        (shifted,) = [config for config in looking_configs() if config.norm_at == "branch"]
        found = explain.routes(traced(shifted), -1, 3)
        assert any(route.nodes[0].part == Part("projection", 1, None, "ffn") for route in found.listed)


def test_places_that_do_not_exist_are_refused() -> None:
    trace = traced(tiny_config("pre"))
    for said, asked in {"position 99": {"position": 99}, "token 999": {"token": 999}}.items():
        with pytest.raises(IndexError, match=said):
            explain.routes(trace, **asked)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no logits"):
        explain.routes(traced(tiny_config("pre", kind="encoder", head=choices.NoHead())))


CUT = [c for c in [*few(), *other_blocks(), *of_classes(), *of_pictures(), *of_strips()] if c.has_logits or c.classes]


def edges(found: explain.Routes) -> list[tuple[Node, Node | None]]:
    """The edges of the listed routes, each once."""
    return sorted({edge for route in found.listed for edge in route.edges}, key=str)


@pytest.mark.parametrize("config", CUT, ids=describe)
def test_what_flows_into_a_part_flows_out_of_it(config: ModelConfig) -> None:
    found = explain.routes(traced(config), 0, 1, most=40)
    frozen = found.frozen
    for (side, part), gradient in frozen.gradient.items():
        stream = frozen.stream(side)
        out = (gradient * stream.written[stream.row(part)]).sum(-1)
        for position in range(len(gradient)):
            pullback = frozen.pullback_of(Node(part, position, side))
            assert float(frozen.writers(pullback).sum()) + pullback.constant == pytest.approx(
                float(out[position]), abs=1e-4
            )
    for writer, reader in edges(found)[:6]:
        assert explain.cut(found, writer, reader).measured != 0


@pytest.mark.parametrize("place", ["pre", "post"])
def test_a_head_that_no_longer_reads_a_token_is_measured_by_hand(place: str) -> None:
    trace = traced(tiny_config(place))  # type: ignore[arg-type]
    found = explain.routes(trace, -1, 7)
    writer, reader = Node(Part("token"), 2, "decoder"), Node(Part("head", 0, 1, "attn"), 6, "decoder")
    stack, block = trace.stack, trace.stack.block(0)
    less = trace["embed.out"].clone()
    less[2] -= trace["embed.token"][2]

    def z(x: torch.Tensor) -> torch.Tensor:
        q, k, v = (ops.split_heads(layer(x), 3)[1] for layer in (block.attn.q, block.attn.k, block.attn.v))
        return ((q @ k.T / 8**0.5).masked_fill(torch.ones(7, 7).triu(1).bool(), -torch.inf)).softmax(-1) @ v

    heads = trace["blocks.0.attn.z"].clone()
    heads[1, 6] = z(block.attn_norm(less) if place == "pre" else less)[6]
    x = trace["embed.out"] + block.attn.o(ops.merge_heads(heads))
    if place == "pre":
        x = x + block.ffn(block.ffn_norm(x))
    else:
        x = block.attn_norm(x)
        x = block.ffn_norm(x + block.ffn(x))
    x = stack.run_block(1, x[None], visible=None, source=None, tap=vm.model.tap.NO_TAP)[0]
    x = x if stack.final_norm is None else stack.final_norm(x)
    expected = (x[-1] @ trace.model.unembedding.weight[7]).item() - found.total
    assert explain.cut(found, writer, reader).measured == pytest.approx(expected, abs=1e-4)


def test_edges_that_do_not_exist_are_refused() -> None:
    found = explain.routes(traced(tiny_config("pre")), -1, 7)
    late, early = Node(Part("ffn", 1), 6, "decoder"), Node(Part("head", 0, 1, "attn"), 6, "decoder")
    with pytest.raises(ValueError, match="is not read there"):
        explain.cut(found, late, early)
    with pytest.raises(ValueError, match="neuron"):
        explain.cut(found, early, late._replace(neuron=3))
    with pytest.raises(ValueError, match="reads no stream"):
        explain.cut(found, early, Node(Part("token"), 6, "decoder"))
