"""A neuron as key and value: what its key matches and its value promotes by plain sums, and what fires it."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
import pytest
import torch
from tiny_models import describe, few, language_model, run_both, variants
from torch import nn

import viz_model as vm
from viz_model import config
from viz_model.config import ModelConfig
from viz_model.measures.neurons import direct_path
from viz_model.model import sites
from viz_model.model.block import Block
from viz_model.model.transformer import Stack, Transformer
from viz_model.runs.trace import Trace
from viz_model.topics.block import memory, real_code, vectors
from viz_model.topics.block.memory import FIRING
from viz_model.topics.block.real_code import CHUNKED, CLAMPED, INSIDE, PLACES, dropped, seed_of


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
        assert view is not None
        ffn = trace.stack.block(1).ffn
        first = cast(nn.Linear, ffn.get_submodule("gate" if config_.ffn.gated else "up"))
        with torch.inference_mode():
            sums = [first(alone(trace, 1, id))[3].item() for id in range(config_.n_vocab)]
        assert [value for _, value in view.matched] == pytest.approx(sorted(sums, reverse=True)[:5], abs=1e-4)
        np.testing.assert_array_equal(view.value, ffn.down.weight[:, 3].numpy())
        # The key, and what is read, make the neuron of the run.
        made = float(view.key @ reads) + (0.0 if first.bias is None else first.bias[3].item())
        name = "gate" if config_.ffn.gated else "up"
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


@pytest.mark.parametrize("config_", few(), ids=describe)
def test_every_part_is_measured_on_every_kind(config_: ModelConfig) -> None:
    whole = run_both(language_model(config_))
    for trace in (whole.at(side) for side in config_.sides):
        measured = real_code.precision(trace, 1)
        reads = trace.norm_input("blocks.1.attn.norm")
        assert measured.squares == pytest.approx(reads.square().sum(-1).max().item(), rel=1e-4)
        assert 0 <= measured.softmax.mixed < 1e-3  # half a step of 16 bits at 1
        clamp = real_code.clamped(trace, 1, 2)
        assert CLAMPED.of(clamp).name == "saves" and clamp.infinite > 0 and clamp.cosine > 0.5
        chunks, neurons = real_code.chunks(trace, 1), sites.n_neurons(config_, trace.stack.side, 1)
        assert [chunk.nbytes for chunk in chunks] == [4 * neurons * chunk.size for chunk in chunks]
        assert chunks[0].apart == 0 and {CHUNKED.of(chunk.apart).name for chunk in chunks} <= {"equal", "rounding"}
        fresh = real_code.fresh(trace, 1)
        assert fresh is not None
        sizes = config_.d_model + neurons
        assert fresh["xavier"].std == pytest.approx((2 / sizes) ** 0.5, rel=0.1)
        assert fresh["normal"].std == pytest.approx(0.02, rel=0.1)
        assert fresh["normal"].lengths.shape == fresh["xavier"].lengths.shape
        assert (fresh["normal"].logits is None) == ("logits" not in trace)


def test_32_bits_inside_help_where_much_is_added_up() -> None:
    rng = np.random.default_rng(0)
    errors = real_code._errors(real_code._softmax, rng.normal(size=(4, 3000)))
    assert INSIDE.of(errors).name == "helps"
    errors = real_code._errors(real_code._normalized, 300 * np.ones((1, 8)))
    assert errors.half >= 1 > errors.mixed  # 300² is infinite in 16 bits, so that all becomes 0


@pytest.mark.parametrize("config_", few(), ids=describe)
def test_every_place_is_dropped_as_by_the_module(config_: ModelConfig) -> None:
    plain = run_both(language_model(config_))
    run, kept = dropped(plain, list(PLACES), 0.3, 7)
    for place, ends in PLACES.items():
        names = [name for name in kept if name.endswith(ends)]
        assert names, place
        for name in names:
            torch.manual_seed(seed_of(name, 7))
            module = nn.Dropout(0.3).train()
            after = module(torch.from_numpy(kept[name].before)[None])[0].numpy()
            np.testing.assert_allclose(kept[name].after, after, rtol=1e-6)
            assert {round(float(each), 5) for each in np.unique(kept[name].mask)} <= {0.0, round(1 / 0.7, 5)}
            np.testing.assert_array_equal(run.whole[name].numpy(), kept[name].after)
    assert not any(torch.equal(run.whole[name], plain.whole[name]) for name in kept if name.endswith("ffn.out"))


@pytest.mark.parametrize("config_", few(), ids=describe)
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
