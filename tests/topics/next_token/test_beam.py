"""Beam search against all continuations, made one by one."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from tiny_models import language_model, run_both, tiny_config

import viz_model as vm
from viz_model.topics.next_token import beam


def total(trace: vm.Trace, more: tuple[int, ...]) -> float:
    """Σ log p of tokens after a text, of one run over all of it."""
    ids = [*trace.own_ids, *more]
    with torch.inference_mode():
        if trace.target_ids is None:
            logits = trace.model(torch.tensor([ids]))[0]
        else:
            logits = trace.model.decode(torch.tensor([ids]), trace.model.encode(torch.tensor([trace.ids])))[0]
    logs = logits.double().log_softmax(-1)
    return sum(logs[len(ids) - len(more) - 1 + n, id].item() for n, id in enumerate(more))


@pytest.mark.parametrize("kind", ["decoder", "encoder_decoder"])
def test_a_beam_as_wide_as_the_vocabulary_finds_the_most_probable_text(kind: str) -> None:
    trace = run_both(language_model(tiny_config(kind=kind, n_vocab=11))).at("decoder")
    found = beam.path(beam.search(trace, 11, depth=2))
    every = {more: total(trace, more) for more in itertools.product(range(11), repeat=2)}
    best = max(every, key=every.__getitem__)
    assert tuple(node.token.id for node in found) == best
    assert found[-1].total == pytest.approx(every[best], abs=1e-4)


def test_what_is_kept_is_the_best_of_what_there_is() -> None:
    trace = vm.load("story-pre-ln").trace("Tom had a cat")
    tree = beam.search(trace, 3)
    for n, nodes in enumerate(tree):
        assert [node.total for node in nodes] == sorted((node.total for node in nodes), reverse=True)
        assert [node.is_kept for node in nodes] == [k < 3 for k in range(len(nodes))]
        for k in range(3):
            way = beam.path(tree[: n + 1], k)
            assert way[-1].total == pytest.approx(total(trace, tuple(node.token.id for node in way)), abs=1e-3)
            assert way[-1].total == pytest.approx(sum(math.log(node.p) for node in way), abs=1e-6)
