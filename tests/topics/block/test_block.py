"""The block page's views: every strip, norm, neuron, expert weight is that of the trace and of the equations."""

from functools import partial
from typing import Any, cast

import islands
import numpy as np
import pytest
import torch
from tiny_models import EXPERTS, describe, few, language_model, run_both, tiny_config, variants
from torch import nn
from torch.nn import functional as F

import viz_model as vm
from viz_model import config
from viz_model.config import Dense, ModelConfig
from viz_model.drawing import by_depth
from viz_model.measures import neurons as hidden
from viz_model.measures.neurons import direct_path
from viz_model.model import norms
from viz_model.model.block import Block
from viz_model.model.transformer import Stack, Transformer
from viz_model.runs.trace import Trace
from viz_model.topics.block import PAGE, experts, lengths, memory, neurons, real_code, vectors
from viz_model.topics.block.lengths import TREND
from viz_model.topics.block.memory import FIRING
from viz_model.topics.block.real_code import INSIDE, PLACES, dropped, seed_of

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
some = pytest.mark.parametrize("config_", few(), ids=describe)


def views_of(config_: ModelConfig) -> list[Trace]:
    trace = run_both(language_model(config_))
    return [trace.at(side) for side in config_.sides]


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
        if config_.norm_at == "pre" and not has_cross:
            assert [step.name for step in view.steps] == ["x", "t¹", "t²", "t³", "t⁴", "t⁵", "h"]
            assert [step.equation for step in view.steps][-2:] == ["8.30", "8.31"]
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


def made(*rows: list[float]) -> lengths.LengthsView:
    sites = ("embed.out", *(f"blocks.{n}.resid.out" for n in range(len(rows) - 1)))
    return lengths.LengthsView(sites, ("0", "1", "2"), np.array(rows), 0, 0)


def test_one_giant_moves_neither_the_trend_nor_the_other_lines() -> None:
    view = made([1.0, 1.0, 1.0], [900.0, 1.0, 1.0], [800.0, 1.1, 1.0])
    assert TREND.of(view) is TREND.plain and view.facts["last"] == "1.1"
    assert view.outlier is not None and (view.outlier.token, view.outlier.site) == (0, "blocks.0.resid.out")
    assert by_depth.scale(view.lengths, "length", "log").is_log
    level = made([1.0, 1.2, 0.9], [2.0, 2.0, 2.4])
    assert level.outlier is None and not by_depth.scale(level.lengths, "length", "log").is_log


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
            written = written + (trace["blocks.0.ffn.out"][2] - down(act)).numpy()
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


def test_a_block_with_a_state_is_not_said_to_have_attention() -> None:
    trace = vm.load("story-next").trace("Once upon a time there was")
    for layer in range(trace.n_layers):
        attends = f"blocks.{layer}.attn.pattern" in trace
        look = islands.look(trace, PAGE, layer=layer, token=3)
        words = " ".join(islands.sentences(PAGE, look))
        assert ("Attention adds a vector" in words) == ("the mask hides the future" in words) == attends
        assert ("grouped-query attention" in words) == attends
        assert ("The state adds a vector" in words) == ("the state holds only what came before" in words) != attends


CONFIG = tiny_config(ffns=(Dense(), EXPERTS[0]))


def test_who_is_chosen_and_what_is_held_and_used() -> None:
    trace = run_both(language_model(CONFIG))
    assert experts.routing(trace, 0, 2) is None and experts.of_layer(trace, 0) is None
    view = experts.routing(trace, 1, 2)
    assert view is not None
    router = trace["blocks.1.ffn.router"]
    chosen, weights = view.chosen(0, 2), view.weights[0]
    assert set(chosen) == set(router[2].topk(2).indices.tolist())
    assert weights[2, chosen[0]] >= weights[2, chosen[1]] > 0
    assert (weights > 0).sum() == 2 * len(trace)
    size = experts.parameters(CONFIG, "decoder", 1)
    block = language_model(CONFIG).model.stack("decoder").block(1)
    assert size.held == sum(weight.numel() for weight in block.ffn.parameters())
    assert size.used == 24 * 4 + 2 * (2 * 24 * 10 + 10 + 24)


def test_what_each_expert_gets_is_counted_by_language() -> None:
    traces = [run_both(language_model(CONFIG), length) for length in (7, 9, 5)]
    found = experts.load(zip(("en", "zh", "en"), traces, strict=True), 1)
    assert found.languages == ("en", "zh") and found.n_tokens == (12, 9)
    english = np.concatenate([traces[n]["blocks.1.ffn.chosen"].numpy() > 0 for n in (0, 2)])
    np.testing.assert_allclose(found.shares[0], english.mean(0))
    np.testing.assert_allclose(found.shares.sum(1), 2)
    with pytest.raises(ValueError, match="no text"):
        experts.load([], 1)


def test_a_neuron_stands_in_its_expert() -> None:
    trace = run_both(language_model(CONFIG))
    act = trace["blocks.1.ffn.act"][2]
    number = int(act.abs().argmax())
    inside, reads = experts.of_neuron(trace, 1, 2, number), vectors.vectors(trace, 1, 2).reads("ffn")
    found = memory.memory(trace, 1, number, reads)
    assert inside is not None and found is not None
    assert (inside.expert, inside.inside) == divmod(number, 10)
    ffn = language_model(CONFIG).model.stack("decoder").block(1).ffn
    before = float(found.key @ found.reads) + ffn.up.bias[number].item()
    assert max(before, 0) * inside.weight == pytest.approx(act[number].item(), abs=1e-5)
    assert inside.n_read == int((trace["blocks.1.ffn.chosen"][:, inside.expert] > 0).sum())
    assert experts.of_neuron(trace, 0, 2, 3) is None


def alone(trace: Trace, layer: int, id: int) -> torch.Tensor:
    """What the feed-forward would read of one token alone, with the model's own modules."""
    x = trace.model.embed(torch.tensor([id]))
    stack = trace.stack
    x = x if stack.embed_norm is None else stack.embed_norm(x)
    block = stack.block(layer)
    norm = block.ffn_norm if trace.norm_at == "pre" else block.attn_norm
    if trace.norm_at == "post" and block.cross is not None:
        norm = block.cross_norm
    return norm(x)[0]


@pytest.mark.parametrize("config_", [c for c in variants() if not isinstance(c.ffn, config.Experts)], ids=describe)
def test_matches_are_the_largest_products_over_the_vocabulary(config_: ModelConfig) -> None:
    whole = run_both(language_model(config_))
    for trace in (whole.at(side) for side in config_.sides):
        reads = vectors.vectors(trace, 1, 2).reads("ffn")
        view = memory.memory(trace, 1, 3, reads, most=5)
        name = "gate" if config_.ffn.gated else "up"
        assert (view is None) == (f"blocks.1.ffn.{name}" not in trace)  # a neuron that is no single product
        if view is None:
            continue
        ffn = trace.stack.block(1).ffn
        first = cast(nn.Linear, ffn.get_submodule(name))
        with torch.inference_mode():
            sums = [first(alone(trace, 1, id))[3].item() for id in range(config_.n_vocab)]
        assert [value for _, value in view.matched] == pytest.approx(sorted(sums, reverse=True)[:5], abs=1e-4)
        np.testing.assert_array_equal(view.value, ffn.down.weight[:, 3].numpy())
        # The key, and what is read, make the neuron of the run.
        made = float(view.key @ reads) + (0.0 if first.bias is None else first.bias[3].item())
        assert made == pytest.approx(trace[f"blocks.1.ffn.{name}"][2, 3].item(), abs=1e-4)
        assert bool(view.promoted) == (direct_path(trace) == "logits")
        if view.promoted:
            logits = (trace.model.unembedding.weight @ torch.from_numpy(view.value)) * trace.model.head.scale
            assert view.promoted[0][1] == pytest.approx(logits.max().item(), abs=1e-5)
            assert view.suppressed[0][1] == pytest.approx(logits.min().item(), abs=1e-5)


def test_the_texts_that_fire_a_neuron_are_found_again(lm: vm.LanguageModel) -> None:
    runs = [lm.trace(text) for text in ("the cat sat", "a dog", "once upon a time there was a bird")]
    found = memory.firings(runs, 1)
    acts = [run["blocks.1.ffn.act"] for run in runs]
    for neuron in (0, 5):
        best = max(range(3), key=lambda n: acts[n][:, neuron].max().item())
        place = int(acts[best][:, neuron].argmax())
        assert (found.text[0, neuron], found.position[0, neuron]) == (best, place)
        assert found.value[0, neuron] == acts[best][place, neuron]
        assert found.context(0, neuron)[1] == runs[best].tokens[place].label
        above = sum(int((act[:, neuron] > 0).sum()) for act in acts)
        assert found.share[neuron] == pytest.approx(above / sum(map(len, runs)))
    assert (np.diff(found.value, axis=0) <= 0).all()
    with pytest.raises(ValueError, match="no text"):
        memory.firings([], 0)


def test_neurons_of_a_trained_model_fire_on_few_and_on_most_tokens() -> None:
    lm = vm.load("story-pre-ln")
    texts = memory.sample(3_352_704)[:6]
    assert len({*texts}) == 6 and len(memory.sample(10**9)) == 4
    shares = {float(share) for n in range(4) for share in memory.firings(map(lm.trace, texts), n).share}
    assert {FIRING.of(share).name for share in shares} == {"few", "most", "plain"}


@some
def test_fresh_weights_are_as_wide_as_their_rule_says(config_: ModelConfig) -> None:
    for trace in views_of(config_):
        fresh, sizes = real_code.fresh(trace, 1), trace.model.get_parameter(real_code.drawn(trace, 1).name).shape
        assert fresh is not None
        assert fresh["xavier"].std == pytest.approx((2 / sum(sizes)) ** 0.5, rel=0.1)
        assert fresh["normal"].std == pytest.approx(0.02, rel=0.1)


def test_32_bits_inside_help_where_much_is_added_up() -> None:
    rng = np.random.default_rng(0)
    errors = real_code._errors(real_code._softmax, rng.normal(size=(4, 3000)))
    assert INSIDE.of(errors).name == "helps"
    errors = real_code._errors(real_code._normalized, 300 * np.ones((1, 8)))
    assert errors.half >= 1 > errors.mixed  # 300² is infinite in 16 bits, so that all becomes 0


@some
def test_a_run_with_dropout_is_that_of_a_model_in_training(config_: ModelConfig) -> None:
    plain = run_both(language_model(config_))
    run, kept = dropped(plain, ["sum", "sublayer"], 0.2, 3)
    model = Transformer(config_, dropout=0.2)
    model.load_state_dict(plain.model.state_dict())
    model.train()

    def seeded(names: list[str], module: nn.Module, given: Any) -> None:
        torch.manual_seed(seed_of(names[0], 3))
        names.append(names.pop(0))

    for name, part in model.named_modules():
        at = f"{name.split('.')[0]}." if len(config_.sides) > 1 else ""
        if isinstance(part, Stack):
            part.dropout.register_forward_pre_hook(partial(seeded, [f"{at}embed.out"]))
        if isinstance(part, Block):
            layer = name.rpartition(".")[2]
            ends = [end for end in PLACES["sublayer"] if f"{at}blocks.{layer}.{end}" in kept]
            part.dropout.register_forward_pre_hook(partial(seeded, [f"{at}blocks.{layer}.{end}" for end in ends]))
            for attention in (part.attn, part.cross):
                if attention is not None:
                    attention.dropout.p = 0.0
    with torch.inference_mode():
        ids, target = torch.tensor([plain.ids]), plain.target_ids
        found = model.vectors(ids, None if target is None else torch.tensor([target]))
    leaving = run.whole[run.at(config_.sides[-1]).full_name(run.at(config_.sides[-1]).leaving)]
    torch.testing.assert_close(found[0], leaving, atol=1e-4, rtol=1e-4)
