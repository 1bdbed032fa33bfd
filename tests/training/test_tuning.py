"""Fine-tuning: the copy learns, the model does not, and it can be stopped at any step."""

from __future__ import annotations

import pytest
import torch

import viz_model as vm
from viz_model.training import lab, samples, tuning

TEXT = " ".join(samples.stories("en", 2))


def test_a_tuning_that_is_stopped_has_looked_at_what_it_reached() -> None:
    lm = vm.load("story-pre-ln")
    going = tuning.Tuning(lm, TEXT, 30)
    steps = going.steps()
    for _ in range(2):
        next(steps)
    steps.close()
    assert [each.steps for each in going.losses] == [0, 2] and len(going.spoken) == 2
    assert going.losses[1].own < going.losses[0].own
    assert not torch.equal(going.model.embedding.weight, lm.model.embedding.weight)
    assert going.prompt + going.truth == going.tokenizer.encode(TEXT)[: tuning.PROMPT + lab.SAMPLE_TOKENS]
    assert going.n_tokens.keys() == {*tuning.TEXTS} and going.n_tokens["end"] > 0


def test_only_small_decoders_of_the_stories_are_trained_on() -> None:
    assert {name for name in ("story-modern", "story-bert", "translate-2017") if tuning.can_tune(vm.load(name))} == {
        "story-modern"
    }
    with pytest.raises(lab.LabError, match=r"^text: "):
        tuning.Tuning(vm.load("story-pre-ln"), "cat", 30)
