"""A run over a picture: its patches, its classes, what it says of itself, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import close, describe, language_model, of_pictures, picture, traced
from torch.nn import functional as F

import viz_model as vm
from viz_model import config, images
from viz_model.config import ModelConfig, Patches
from viz_model.model import sites
from viz_model.runs import notebook
from viz_model.runs.record import record

CLASSES = [each for each in of_pictures() if isinstance(each.head, config.ClassHead)]
EVERY = pytest.mark.parametrize("config_", of_pictures(), ids=describe)


@EVERY
def test_patches_are_projected_as_a_convolution_does(config_: ModelConfig) -> None:
    trace, given = traced(config_), config_.inputs
    assert isinstance(given, Patches) and trace.picture is not None
    levels = torch.from_numpy(picture(config_, 7)).view(given.height, given.width, -1)
    assert torch.equal(trace.picture, levels)
    mean, std = torch.tensor(given.mean), torch.tensor(given.std)
    normal = ((levels / 255 - mean) / std).permute(2, 0, 1)
    w, b = (trace.model.get_parameter(f"patches.projection.{name}") for name in ("weight", "bias"))
    kernel = w.view(-1, given.channels, given.patch, given.patch)
    expected = F.conv2d(normal[None], kernel, b, stride=given.patch)[0].flatten(1).T
    close(trace["patches.projected"], expected)
    close(trace["embed.patch"], torch.cat((trace.model.get_parameter("patches.cls")[None], expected)))


@EVERY
def test_what_stands_at_each_position(config_: ModelConfig) -> None:
    trace, given = traced(config_), config_.inputs
    assert isinstance(given, Patches) and trace.picture is not None
    first, *rest = trace.positions
    assert (first.label, first.kind, first.at) == ("[CLS]", "cls", None)
    assert rest[-1].label == f"row {given.rows}, column {given.columns}"
    for place, patch in zip(rest, trace.patches, strict=True):
        assert place.at is not None
        row, column = (n * given.patch for n in place.at)
        assert torch.equal(patch, trace.picture[row : row + given.patch, column : column + given.patch])


@pytest.mark.parametrize("config_", CLASSES, ids=describe)
def test_classes_come_from_the_vector_in_front(config_: ModelConfig) -> None:
    trace = traced(config_)
    assert isinstance(config_.head, config.ClassHead)
    w, b = (trace.model.get_parameter(f"head.classes.{name}") for name in ("weight", "bias"))
    logits = trace[trace.leaving][0] @ w.T + b
    close(trace["class.logits"], logits)
    close(trace["class.probs"], logits.softmax(0))
    told = trace.classes(k=2)
    assert told[0][0] == config_.head.labels[int(logits.argmax())] and told[0][1] == trace["class.probs"].max().item()
    assert len(told) == 2 and len(trace.classes()) == 4
    assert trace.row("class.probs", 3) == trace["class.probs"][3]


@EVERY
def test_a_long_run_has_the_same_values(config_: ModelConfig) -> None:
    lm, whole = language_model(config_), traced(config_)
    again = lm.trace(picture(config_, 7), keep="stream")
    for name in whole.sites:
        assert torch.equal(again[name], whole[name]), name
        assert again.shape(name) == tuple(whole[name].shape)
        if not sites.find(name, config_).axes[0].startswith(("H", "G")):
            close(again.row(name, 1), whole[name][1])
    assert whole.text is not None and notebook.call(whole) == f"lm.trace({whole.text!r})"
    assert torch.equal(lm.trace(whole.text)[whole.leaving], whole[whole.leaving])


def test_patches_may_stand_in_another_order() -> None:
    shuffle = vm.edits.ShuffleTokens(seed=3)
    for config_ in CLASSES:
        lm, plain = language_model(config_), traced(config_)
        moved = lm.trace(picture(config_, 7), edits=[shuffle])
        assert moved.ids[0] == 0 and sorted(moved.ids) == list(plain.ids) != list(moved.ids)
        assert torch.equal(moved["embed.patch"], plain["embed.patch"][list(moved.ids)])
        assert torch.equal(moved.patches, plain.patches[[id - 1 for id in moved.ids[1:]]])
        assert moved.positions[1].at == plain.positions[moved.ids[1]].at
        same = torch.allclose(moved["class.logits"], plain["class.logits"], atol=1e-5)
        assert same == isinstance(config_.position, config.NoPosition)


def test_what_needs_tokens_says_so() -> None:
    trace, lm = traced(CLASSES[0]), language_model(CLASSES[0])
    with pytest.raises(ValueError, match=r"next_tokens: .* classes\(\)"):
        trace.next_tokens()
    with pytest.raises(ValueError, match="pictures"):
        lm.trace(ids=[0, 1])
    with pytest.raises(vm.TextError, match="not a picture"):
        lm.trace("a cat")
    with pytest.raises(images.PictureError, match="uint8"):
        lm.trace(np.zeros((6, 9)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="6 × 9 × 1"):
        lm.model(torch.tensor([[0, 1]]), pixels=torch.zeros(1, 9, 6, 1))
    with pytest.raises(ValueError, match="token id 7"):
        record(lm.model, lm.tokenizer, [0, 7], picture=images.fit(picture(CLASSES[0]), 6, 9, 1))
    tokens = vm.load("story-pre-ln")
    with pytest.raises(ValueError, match="not pictures"):
        tokens.trace(np.zeros((28, 28), np.uint8))
    with pytest.raises(ValueError, match="this model"):
        _ = tokens.trace("The cat").patches


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": "decoder"}, "inputs"),
        ({"n_context": 6}, "n_context"),
        ({"head": config.ClassHead(labels=())}, "head: labels"),
        ({"tie_embeddings": True}, "inputs"),
        ({"inputs": config.Patches(height=6, width=9, patch=4, channels=1, mean=(0.0,), std=(1.0,))}, "inputs: patch"),
        ({"inputs": config.Patches(height=6, width=9, patch=3, channels=2)}, "inputs: channels"),
        ({"inputs": config.Patches(height=6, width=9, patch=3, mean=(0.0,))}, "inputs: mean"),
    ],
)
def test_models_of_pictures_that_do_not_fit_are_refused(changes: dict[str, object], field: str) -> None:
    with pytest.raises(vm.ConfigError, match=f"^{field}"):
        ModelConfig(**{**vars(CLASSES[0]), **changes})
