"""The block page's views: every strip, norm and neuron equal to the trace and to the block's equations."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
import torch

import viz_model as vm
from viz_model.analysis import block as analysis
from viz_model.figures import block
from viz_model.model import Block, Transformer
from viz_model.tokenizer import story_tokenizer
from viz_model.trace import Trace, record
from viz_model.ui import texts

NORM_WORDS = {key: "<i>w</i>" for key in ("1", "2", "3", "near", "values", "axis")}
NEURON_WORDS = {key: "<i>w</i>" for key in ("neuron", "writes", "promotes", "activation")}
LENGTH_WORDS = {"step": "<i>w</i>", "length": "<i>w</i>"}


@pytest.fixture
def trace(model: Transformer) -> Trace:
    return record(model, story_tokenizer(), [5, 9, 3, 7, 11, 2])


def part_of(model: Transformer, layer: int) -> Block:
    found = model.stack("decoder").blocks[layer]
    assert isinstance(found, Block)
    return found


def layer_norm(x: np.ndarray, gain: np.ndarray, shift: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    return gain * (x - x.mean()) / np.sqrt(x.var() + eps) + shift


def test_steps_follow_the_equations(trace: Trace) -> None:
    part = part_of(trace.model, 1)
    view = block.StripsView.of(trace, 1, 4)
    first, second = ((norm.weight.numpy(), norm.bias.numpy()) for norm in (part.attn_norm, part.ffn_norm))
    value = {step.name: step.values for step in view.steps}
    if view.norm_at == "pre":
        assert list(value) == ["x", "t¹", "t²", "t³", "t⁴", "t⁵", "h"]
        assert [step.equation for step in view.steps] == ["", "8.26", "8.27", "8.28", "8.29", "8.30", "8.31"]
        expected = {
            "t¹": layer_norm(value["x"], *first),
            "t³": value["t²"] + value["x"],
            "t⁴": layer_norm(value["t³"], *second),
            "h": value["t⁵"] + value["t³"],
        }
    else:
        assert list(value) == ["x", "a", "x + a", "mid", "f", "mid + f", "out"]
        assert not any(step.equation for step in view.steps)
        expected = {
            "x + a": value["x"] + value["a"],
            "mid": layer_norm(value["x + a"], *first),
            "mid + f": value["mid"] + value["f"],
            "out": layer_norm(value["mid + f"], *second),
        }
    for name, values in expected.items():
        assert np.allclose(value[name], values, atol=1e-5), name


def test_steps_hold_the_sites_they_name(trace: Trace) -> None:
    for step in block.StripsView.of(trace, 0, 3).steps:
        if step.site in trace:
            assert np.array_equal(step.values, trace[step.site][3].numpy())
        else:
            norm = step.site.removeprefix('norm_input("').removesuffix('")')
            assert np.array_equal(step.values, trace.norm_input(norm)[3].numpy())


def test_strips_share_one_scale(trace: Trace) -> None:
    view = block.StripsView.of(trace, 0, 2)
    assert view.limit == np.abs(view.matrix).max()
    assert view.matrix.shape == (7, 24) and len(view.names) == 7
    assert view.length("x") == pytest.approx(trace["blocks.0.resid.in"][2].norm().item(), abs=1e-4)


def test_lengths_are_those_of_every_step_and_token(trace: Trace) -> None:
    view = block.NormsView.of(trace, 1, 0)
    assert view.lengths.shape == (5, 6)
    for site, lengths in zip(view.sites, view.lengths, strict=True):
        assert np.allclose(lengths, np.linalg.norm(trace[site].numpy(), axis=-1), atol=1e-5)


@pytest.mark.parametrize(("last", "trend"), [(2.0, "grow"), (1.1, "level"), (0.5, "shrink")])
def test_trend_compares_the_ends(last: float, trend: str) -> None:
    lengths = np.array([[1.0, 1.0], [9.0, 9.0], [last, last]])
    assert block.NormsView(("a", "b", "c"), ("x", "y"), lengths, 0, 0, "pre").trend == trend
    assert block.NormsView(("a", "b", "c"), ("x", "y"), lengths, 0, 0, "post").trend == "reset"


@pytest.mark.parametrize("sublayer", ["attn", "ffn"])
def test_norm_is_taken_apart_and_goes_together_again(trace: Trace, sublayer: str) -> None:
    site = f"blocks.1.{sublayer}.norm"
    view = block.NormView.of(trace, site, 3)
    norm = view.normed
    assert np.array_equal(norm.before, trace.norm_input(site)[3].numpy())
    assert norm.standard.mean() == pytest.approx(0, abs=1e-6)
    assert norm.standard.std() == pytest.approx(1, abs=1e-3)
    assert np.allclose(norm.gain * norm.standard + norm.shift, norm.after, atol=1e-5)
    assert all(counts.sum() == len(norm.before) for counts in view.counts)


def test_neurons_are_the_strongest_and_their_sum_is_the_output(trace: Trace) -> None:
    found = analysis.neurons(trace, 0, 2, most=1000)
    act = trace["blocks.0.ffn.act"][2]
    assert len(found) == int((act > 0).sum())
    assert [n.act for n in found] == sorted((n.act for n in found), reverse=True)
    bias = part_of(trace.model, 0).ffn.down.bias.numpy()
    written = sum(n.act * n.value for n in found) + bias
    assert np.allclose(written, trace["blocks.0.ffn.out"][2].numpy(), atol=1e-5)


def test_neuron_by_hand(trace: Trace) -> None:
    strips, view = block.StripsView.of(trace, 0, 2), block.NeuronsView.of(trace, 0, 2)
    neuron = view.strongest[0]
    reads = strips.values("t⁴" if strips.norm_at == "pre" else "mid")
    assert reads @ neuron.key + neuron.bias == pytest.approx(neuron.up, abs=1e-5)
    hand = block.by_hand_neuron(view, strips, 7)
    assert float(hand["product"]) + neuron.bias == pytest.approx(float(hand["up"]), abs=2e-4)
    assert float(hand["written"]) == pytest.approx(neuron.act * neuron.value[7], abs=1e-4)
    assert np.array_equal(view.active, (trace["blocks.0.ffn.act"] > 0).sum(-1).numpy())


def test_promoted_tokens_are_those_of_the_direct_path(bundled: vm.LanguageModel) -> None:
    trace = bundled.trace("The cat sat")
    neuron = analysis.neurons(trace, 1, 2)[0]
    logits = bundled.model.unembedding.weight @ torch.from_numpy(neuron.value)
    best = int(logits.argmax())
    label, logit = neuron.promoted[0]
    assert label == bundled.tokenizer.token(best).label
    assert logit == pytest.approx(logits[best].item(), abs=1e-5)


def test_a_token_on_which_nothing_fires(model: Transformer) -> None:
    with torch.no_grad():
        part_of(model, 0).ffn.up.bias.fill_(-1e3)
    trace = record(model, story_tokenizer(), [5, 9])
    view, strips = block.NeuronsView.of(trace, 0, 1), block.StripsView.of(trace, 0, 1)
    assert view.strongest == () and view.active.tolist() == [0, 0]
    assert block.by_hand_neuron(view, strips, 0) == {}
    block.draw_neurons(view, NEURON_WORDS)
    block.draw_active(view, ("token", "active"))


def test_sums_by_hand(trace: Trace) -> None:
    strips = block.StripsView.of(trace, 1, 5)
    hand = {key: float(value.strip("()")) for key, value in block.by_hand_sums(strips, 9).items()}
    assert hand["stream"] + hand["attention"] == pytest.approx(hand["first"], abs=2e-4)
    assert hand["before"] + hand["ffn"] == pytest.approx(hand["second"], abs=2e-4)


def test_norm_by_hand(trace: Trace) -> None:
    hand = block.by_hand_norm(block.NormView.of(trace, "blocks.0.ffn.norm", 1), 4)
    x, mean, scale, gain, shift = (float(hand[key].strip("()")) for key in ("value", "mean", "scale", "gain", "shift"))
    assert gain * (x - mean) / scale + shift == pytest.approx(float(hand["after"]), abs=1e-3)


@pytest.mark.parametrize("text", ["a", "<b>a</b> $x$", "hello " * 400])
def test_everything_is_drawn_and_labels_are_escaped(text: str, bundled: vm.LanguageModel) -> None:
    trace = bundled.trace(text)
    token = len(trace) - 1
    norm = block.NormView.of(trace, "blocks.1.attn.norm", token)
    neurons = block.NeuronsView.of(trace, 1, token)
    figures = [
        block.draw_strips(block.StripsView.of(trace, 1, token), 191, "<i>w</i>", "<i>w</i>"),
        block.draw_norms(block.NormsView.of(trace, 1, token), LENGTH_WORDS),
        block.draw_norm(norm, NORM_WORDS),
        block.draw_parameters(norm, 191, "<i>w</i>"),
        block.draw_active(neurons, ("<i>w</i>", "<i>w</i>")),
        block.draw_neurons(neurons, NEURON_WORDS),
    ]
    for figure in figures:
        drawn = figure.to_json()
        assert "<i>w" not in drawn and "<b>a" not in drawn


def test_promoted_text_fits_and_is_escaped() -> None:
    labels = ("<b>bold</b>", "·" + "x" * 60, "short", "another", "and·more")
    zeros = np.zeros(3)
    said = block.promoted_text(analysis.Neuron(0, 1.0, 1.0, zeros, 0.0, zeros, tuple((label, 1.0) for label in labels)))
    assert said.startswith("&lt;b&gt;") and "<" not in said
    assert "another" not in said


def test_snippet_runs_and_agrees(bundled: vm.LanguageModel) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), torch.inference_mode():
        exec(texts.snippet("block", model=bundled.name, text="The cat's “hat”\n", layer=2), {})
    assert said.getvalue().split() == ["True", "True"]
