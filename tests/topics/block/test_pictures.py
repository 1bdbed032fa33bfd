"""The block page's views: every strip, norm, neuron and weight equal to the trace and to the block's equations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import islands
import numpy as np
import pytest
import torch
from identities import stream_length
from tiny_models import describe, few, language_model, random_model, run_both, tiny_config, variants
from torch.nn import functional as F

import viz_model as vm
from viz_model import config
from viz_model.config import ModelConfig
from viz_model.drawing import by_depth
from viz_model.drawing.scene import Cells, Items, Scene, seen
from viz_model.island.look import Look
from viz_model.measures import neurons as hidden
from viz_model.measures import passage
from viz_model.model import norms
from viz_model.model.block import Block
from viz_model.runs.trace import Trace
from viz_model.topics.block import PAGE, lengths, neurons, norm, tabs, vectors
from viz_model.topics.block.lengths import TREND

ACTIVATIONS: dict[str, Any] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "relu2": lambda x: F.relu(x) ** 2,
    "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x),
}

every = pytest.mark.parametrize("config_", variants(), ids=describe)
measured = pytest.mark.parametrize(
    "config_", [c for c in variants() if norms.kind(c.norm) in norms.COMPARED], ids=describe
)
of_one_network = pytest.mark.parametrize(
    "config_", [c for c in variants() if c.ffn.activation and not isinstance(c.ffn, config.Experts)], ids=describe
)
# Drawing is slow; every fifth still has each kind, norm and feed-forward.
some = pytest.mark.parametrize("config_", few(), ids=describe)


def views_of(config_: ModelConfig) -> list[Trace]:
    """A run of a tiny model, seen from each of its stacks."""
    trace = run_both(language_model(config_))
    return [trace.at(side) for side in config_.sides]


def of(**changes: Any) -> Trace:
    config_ = tiny_config(**changes)
    return run_both(language_model(config_)).at(config_.sides[-1])


def look_at(trace: Trace, lang: str = "en", **options: str) -> Look:
    """A look at block 1 and token 2 of a run."""
    look = islands.look(trace, PAGE, lang, layer=1, token=min(2, len(trace) - 1))
    return dataclasses.replace(look, options=options)


def drawn(look: Look, draw: Callable[[Look], Scene | None], **place: int) -> Scene:
    made = draw(look)
    assert made is not None
    return seen(made, {**look.place, **place})


def items(scene: Scene, name: str) -> Items:
    (found,) = [mark for panel in scene.panels for mark in panel.marks if isinstance(mark, Items) and mark.id == name]
    return found


def normalize(module: torch.nn.Module, x: np.ndarray, eps: float) -> np.ndarray:
    """A norm in numpy, by its definition."""
    shift = getattr(module, "bias", None)
    if shift is not None:
        x = x - x.mean()
    y: np.ndarray = module.weight.numpy() * x / np.sqrt(np.square(x).mean() + eps)  # type: ignore[operator]
    return y if shift is None else y + shift.numpy()


@measured
def test_steps_follow_the_equations(config_: ModelConfig) -> None:
    for trace in views_of(config_):
        part, eps = trace.stack.block(1), config_.norm.eps
        view = vectors.vectors(trace, 1, 2)
        value = {step.name: step.values for step in view.steps}
        has_cross = config_.kind == "encoder_decoder" and trace.side == "decoder"
        assert bool(view.crosses) == has_cross and len(view.steps) == (10 if has_cross else 7)
        assert [found.sublayer for found in view.sums] == (["attn", "cross", "ffn"] if has_cross else ["attn", "ffn"])
        stream = trace["blocks.1.resid.in"][2].numpy()
        for found in view.sums:
            module = getattr(part, f"{found.sublayer}_norm")
            np.testing.assert_array_equal(value[found.stream], stream)
            np.testing.assert_array_equal(value[found.written], trace[f"blocks.1.{found.sublayer}.out"][2].numpy())
            np.testing.assert_allclose(value[found.total], stream + value[found.written], atol=1e-5)
            if config_.norm_at == "pre":
                np.testing.assert_allclose(view.reads(found.sublayer), normalize(module, stream, eps), atol=1e-4)
                stream = value[found.total]
            else:
                np.testing.assert_array_equal(view.reads(found.sublayer), stream)
                after = {"attn": "mid", "cross": "cross", "ffn": "out"}[found.sublayer]
                np.testing.assert_allclose(value[after], normalize(module, value[found.total], eps), atol=1e-4)
                stream = value[after]
        np.testing.assert_array_equal(stream, trace["blocks.1.resid.out"][2].numpy())


def test_strips_share_one_scale_which_a_few_giants_do_not_set() -> None:
    view = vectors.vectors(of(), 0, 2)
    assert view.matrix.shape == (7, 24)
    assert view.limit == pytest.approx(view.largest) and view.n_clipped == 0
    trace = of()
    with torch.inference_mode():
        trace.values["blocks.0.resid.in"][2, 7] = 500.0
    view = vectors.vectors(trace, 0, 2)
    assert view.largest == 500.0 and view.limit < 50 and view.n_clipped == 1


def made(rows: list[list[float]], token: int = 0) -> lengths.LengthsView:
    """A view of made lengths [S, T]."""
    sites = ("embed.out", *(f"blocks.{n}.resid.out" for n in range(len(rows) - 1)))
    labels = tuple(str(n) for n in range(len(rows[0])))
    return lengths.LengthsView(sites, labels, np.array(rows), token, 0)


def test_one_giant_moves_neither_the_trend_nor_the_other_lines() -> None:
    view = made([[1.0, 1.0, 1.0], [900.0, 1.0, 1.0], [800.0, 1.1, 1.0]])
    assert TREND.of(view) is TREND.plain and view.facts["last"] == "1.1"
    assert view.outlier is not None and (view.outlier.token, view.outlier.site) == (0, "blocks.0.resid.out")
    assert by_depth.scale(view.lengths, "length", "log").is_log
    level = made([[1.0, 1.2, 0.9], [2.0, 2.0, 2.4]])
    assert level.outlier is None and not by_depth.scale(level.lengths, "length", "log").is_log


@measured
def test_norm_is_taken_apart_and_goes_together_again(config_: ModelConfig) -> None:
    for trace in views_of(config_):
        for sublayer in passage.sublayers(trace, 1):
            site = f"blocks.1.{sublayer}.norm"
            view = norm.norm_view(trace, 1, sublayer, 3)
            found = view.normed
            assert np.array_equal(found.before, trace.norm_input(site)[3].numpy())
            assert found.gain is not None and found.standard is not None
            shift = 0.0 if found.shift is None else found.shift
            np.testing.assert_allclose(found.gain * found.standard + shift, found.after, atol=1e-5)
            assert np.square(found.standard).mean() == pytest.approx(1, abs=1e-3)
            assert all(counts.sum() == len(found.before) for counts in view.counts)
            known = [name for name in (f"{site}.mean", f"{site}.scale", f"{site}.out") if name in trace]
            assert list(view.sites) == known


@every
def test_neurons_are_the_strongest_and_their_sum_is_the_output(config_: ModelConfig) -> None:
    for trace in views_of(config_):
        act = trace["blocks.0.ffn.act"][2]
        chosen = hidden.strongest(act.numpy(), 1000)
        assert len(chosen) == int((act != 0).sum())
        found = hidden.neurons(trace, 0, 2, chosen.tolist())
        sizes = [abs(neuron.act) for neuron in found]
        assert sizes == sorted(sizes, reverse=True)
        down = trace.stack.block(0).ffn.down
        written = sum(neuron.act * neuron.value for neuron in found)
        written = written if down.bias is None else written + down.bias.numpy()
        if isinstance(config_.ffn, config.Experts):
            others = trace["blocks.0.ffn.out"][2] - down(act)  # biases by weight, and a shared expert
            written = written + others.numpy()
        np.testing.assert_allclose(written, trace["blocks.0.ffn.out"][2].numpy(), atol=1e-4)


@of_one_network
def test_a_neuron_is_its_dot_products_and_its_activation(config_: ModelConfig) -> None:
    activate = ACTIVATIONS[config_.ffn.activation or ""]
    for trace in views_of(config_):
        way, view = vectors.vectors(trace, 1, 2), neurons.neurons_view(trace, 1, 2)
        reads = way.reads("ffn")
        for neuron in (*view.strongest, *view.closed):
            assert neuron.up is not None
            for dot in filter(None, (neuron.up, neuron.gate)):
                assert reads @ dot.key + (dot.bias or 0.0) == pytest.approx(dot.value, abs=1e-4)
                assert (dot.bias is not None) == config_.ffn.bias
            if isinstance(config_.ffn, config.Gated):
                assert neuron.gate is not None and neuron.gate_act is not None
                assert activate(torch.tensor(neuron.gate.value)).item() == pytest.approx(neuron.gate_act, abs=1e-5)
                assert neuron.gate_act * neuron.up.value == pytest.approx(neuron.act, abs=1e-5)
            else:
                assert neuron.gate is None
                assert activate(torch.tensor(neuron.up.value)).item() == pytest.approx(neuron.act, abs=1e-5)


def test_the_gate_holds_back_large_values_behind_small_gates() -> None:
    gate, up = np.array([0.9, -0.01, 0.02, 0.8, 0.7, 0.6, 0.5, 0.4]), np.array([9.0, 1.0, -3.0, 8, 7, 6, 5, 4])
    assert hidden.closed(gate, up, 4).tolist() == [2, 1]
    trace = of(ffn=config.Gated())
    view = neurons.neurons_view(trace, 0, 2)
    gates = np.sort(np.abs(trace["blocks.0.ffn.gate_act"][2].numpy()))
    assert view.closed and view.gated
    assert all(abs(neuron.gate_act or 0.0) <= gates[len(gates) // 4 - 1] for neuron in view.closed)
    assert not {neuron.number for neuron in view.closed} & {neuron.number for neuron in view.strongest}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({}, "logits"),
        ({"kind": "encoder", "head": config.MaskedHead()}, "masked_head"),
        ({"kind": "encoder", "head": config.NoHead()}, "no_head"),
    ],
)
def test_why_there_is_no_direct_path(changes: dict[str, Any], path: str) -> None:
    assert hidden.direct_path(of(**changes)) == path
    both = run_both(language_model(tiny_config(kind="encoder_decoder", start_id=0)))
    assert hidden.direct_path(both.at("encoder")) == "encoder" and hidden.direct_path(both.at("decoder")) == "logits"


@of_one_network
def test_the_curve_is_the_activation_with_this_tokens_values_on_it(config_: ModelConfig) -> None:
    activate = ACTIVATIONS[config_.ffn.activation or ""]
    trace = views_of(config_)[-1]
    view = neurons.curve_view(trace, 1, 3)
    assert view is not None
    source = "gate" if isinstance(config_.ffn, config.Gated) else "up"
    assert np.array_equal(view.curve.before, trace[f"blocks.1.ffn.{source}"][3].numpy())
    np.testing.assert_allclose(view.curve.after, activate(torch.from_numpy(view.curve.before)).numpy(), atol=1e-6)
    np.testing.assert_allclose(view.curve.y, activate(torch.from_numpy(view.curve.x)).numpy(), atol=1e-6)
    assert view.counts.sum() == config_.d_ffn == len(view.shown)
    assert view.curve.x[0] <= view.curve.before.min() and view.curve.before.max() <= view.curve.x[-1]


def test_a_token_on_which_nothing_fires() -> None:
    lm = dataclasses.replace(language_model(tiny_config()), model=random_model(tiny_config()))
    block = lm.model.stack("decoder").block(0)
    assert isinstance(block, Block)
    with torch.no_grad():
        block.ffn.up.bias.fill_(-1e3)
    trace = lm.trace(ids=[5, 9])
    view = neurons.neurons_view(trace, 0, 1)
    assert view.strongest == () and view.active.tolist() == [0, 0]
    look = islands.look(trace, PAGE, layer=0, token=1)
    assert len(items(drawn(look, neurons.draw), "bars").labels) == 0
    assert "every hidden value is exactly 0" in str(tabs.hand(look)[0].words)


@some
def test_the_strips_of_every_layer_and_token_are_the_run(config_: ModelConfig) -> None:
    for trace in views_of(config_):
        for layer, token in ((0, 0), (1, 2), (1, len(trace) - 1)):
            look = islands.look(trace, PAGE, layer=layer, token=0)
            scene = drawn(look, vectors.draw, token=token)
            rows = [mark for mark in scene.panels[0].marks if isinstance(mark, Cells) and mark.id.startswith("cells.")]
            way = vectors.vectors(trace, layer, token)
            assert len(rows) == len(way.steps)
            for row, step in zip(rows, way.steps, strict=True):
                np.testing.assert_array_equal(np.asarray(row.values).ravel(), step.values)
                assert row.top == pytest.approx(float(way.limit), rel=1e-5)
                if row.where is not None:
                    name = f"{trace.prefix}{step.site}"
                    assert row.where.at(0, 5) == (name, (token, 5))
            said = " ".join(islands.one(vectors.title(look), {**look.place, "token": token}))
            ends = ("embed.out" if layer == 0 else f"blocks.{layer - 1}.resid.out", f"blocks.{layer}.resid.out")
            first, last = (f"{stream_length(trace, site)[token]:.1f}" for site in ends)
            assert f"from length {first} to {last}" in said


def test_a_block_with_a_state_is_not_said_to_have_attention() -> None:
    trace = vm.load("story-next").trace("Once upon a time there was")
    for layer in range(trace.n_layers):
        attends = f"blocks.{layer}.attn.pattern" in trace
        look = islands.look(trace, PAGE, layer=layer, token=3)
        words = " ".join(islands.sentences(PAGE, look))
        assert ("Attention adds a vector" in words) == ("the mask hides the future" in words) == attends
        assert ("grouped-query attention" in words) == attends
        assert ("The state adds a vector" in words) == ("the state holds only what came before" in words) != attends
