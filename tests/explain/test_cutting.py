"""A cut: what it predicts is what the edge carries, what it measures is what the model makes of the rest."""

from __future__ import annotations

import pytest
import torch
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
)

import viz_model as vm
from viz_model import explain
from viz_model.config import ModelConfig
from viz_model.explain import Node
from viz_model.explain.written import Part
from viz_model.model import ops
from viz_model.runs.trace import Trace

PREDICTING = [
    c for c in [*few(), *other_blocks(), *of_classes(), *of_pictures(), *of_strips()] if c.has_logits or c.classes
]


def traced(config: ModelConfig) -> Trace:
    return run_both(language_model(config))


def edges(found: explain.Routes) -> list[tuple[Node, Node | None]]:
    """The edges of the listed routes, each once."""
    return sorted({edge for route in found.listed for edge in route.edges}, key=str)


@pytest.mark.parametrize("config", PREDICTING, ids=describe)
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


def test_an_edge_carries_what_all_routes_through_it_carry() -> None:
    found = explain.routes(traced(tiny_config("pre", n_layers=1)), -1, 3, most=10_000)
    writer, reader = Node(Part("token"), 6, "decoder"), Node(Part("ffn", 0), 6, "decoder")
    direct = [r.value for r in found.listed if r.nodes == (writer, reader)]
    assert explain.cut(found, writer, reader).predicted == pytest.approx(-sum(direct), abs=1e-5)


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
    written = block.attn.o(ops.merge_heads(heads))
    x = trace["embed.out"] + written
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
