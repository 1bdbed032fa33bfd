"""A neuron as key and value: what its key matches and its value promotes by plain sums, and what fires it."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, variants
from torch import nn

import viz_model as vm
from viz_model import config
from viz_model.config import ModelConfig
from viz_model.measures.neurons import direct_path
from viz_model.runs.trace import Trace
from viz_model.topics.block import memory, vectors
from viz_model.topics.block.memory import FIRING


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
        first = cast(nn.Linear, ffn.get_submodule("gate" if isinstance(config_.ffn, config.Gated) else "up"))
        with torch.inference_mode():
            sums = [first(alone(trace, 1, id))[3].item() for id in range(config_.n_vocab)]
        assert [value for _, value in view.matched] == pytest.approx(sorted(sums, reverse=True)[:5], abs=1e-4)
        np.testing.assert_array_equal(view.value, ffn.down.weight[:, 3].numpy())
        # The key, and what is read, make the neuron of the run.
        made = float(view.key @ reads) + (0.0 if first.bias is None else first.bias[3].item())
        name = "gate" if isinstance(config_.ffn, config.Gated) else "up"
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
