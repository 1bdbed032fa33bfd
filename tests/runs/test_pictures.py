"""A run over a picture, its classes or what a decoder writes of it: parity with torch.nn, what it says and refuses."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import close, describe, language_model, of_pictures, of_strips, picture, traced
from torch import Tensor, nn
from torch.nn import functional as F
from torch_reference import reference_layer

import viz_model as vm
from viz_model import config, images
from viz_model.checkpoints import examples
from viz_model.config import ModelConfig, Patches
from viz_model.model import sites
from viz_model.model.transformer import Transformer
from viz_model.runs import notebook
from viz_model.runs.record import record
from viz_model.tokenizers.numerals import NUMERALS

CLASSES = [each for each in of_pictures() if isinstance(each.head, config.ClassHead)]
TARGET = [22, 3, 10, 7]
"""The tag of English, three, a comma, seven."""


@pytest.mark.parametrize("config_", of_pictures(), ids=describe)
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


@pytest.mark.parametrize("config_", [*of_pictures(), *of_strips()], ids=describe)
def test_a_long_run_has_the_same_values_and_a_line_makes_it_again(config_: ModelConfig) -> None:
    lm, whole = language_model(config_), traced(config_)
    reads: dict[str, Any] = {"target_ids": TARGET} if config_.transcribes else {}
    again = lm.trace(picture(config_, 7), keep="stream", **reads)
    for name in whole.sites:
        assert torch.equal(again[name], whole[name]), name
        if not sites.find(name, config_).axes[0].startswith(("H", "G")):
            close(again.row(name, 1), whole[name][1])
    if config_.transcribes:
        whole = lm.trace(picture(config_, 7), "three, seven", target_language="en")
        assert torch.equal(whole["logits"], again["logits"])
    made = eval(notebook.call(whole), {"lm": lm, "vm": vm})
    assert torch.equal(made[whole.leaving], whole[whole.leaving])


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


def test_what_needs_tokens_or_a_picture_says_so() -> None:
    lm, strips, tokens = (*map(language_model, (CLASSES[0], of_strips()[0])), vm.load("story-pre-ln"))
    asked: dict[str, Callable[[], object]] = {
        r"next_tokens: .* classes\(\)": traced(CLASSES[0]).next_tokens,
        "reads pictures": lambda: lm.trace(ids=[0, 1]),
        "not a picture": lambda: lm.trace("a cat"),
        "uint8": lambda: lm.trace(np.zeros((6, 9))),  # type: ignore[arg-type]
        "6 × 9 × 1": lambda: lm.model(torch.tensor([[0, 1]]), pixels=torch.zeros(1, 9, 6, 1)),
        "token id 7": lambda: record(lm.model, lm.tokenizer, [0, 7], picture=images.fit(picture(CLASSES[0]), 6, 9, 1)),
        "not pictures": lambda: tokens.trace(np.zeros((28, 28), np.uint8)),
        "this model": lambda: tokens.trace("The cat").patches,
        "pictures": lambda: strips.trace(ids=[1, 2]),
        "en, zh": lambda: strips.trace(picture(strips.config), target_language="fr"),
        "token id 25": lambda: strips.trace(picture(strips.config), target_ids=[25]),
        "pixels": lambda: strips.model(torch.tensor([[1]]), torch.tensor([[22]])),
        "no word of this model": lambda: strips.trace(picture(strips.config), "three cats"),
    }
    for said, ask in asked.items():
        with pytest.raises(ValueError, match=said):
            ask()


@pytest.mark.parametrize(
    ("of", "changes", "field"),
    [
        (CLASSES[0], {"kind": "decoder"}, "inputs"),
        (CLASSES[0], {"head": config.ClassHead(labels=())}, "head: labels"),
        (CLASSES[0], {"tie_embeddings": True}, "inputs"),
        (CLASSES[0], {"inputs": config.Patches(height=6, width=9, patch=4, channels=1, mean=(0.0,))}, "inputs: patch"),
        (CLASSES[0], {"inputs": config.Patches(height=6, width=9, patch=3, mean=(0.0,))}, "inputs: mean"),
        (of_strips()[0], {"kind": "decoder"}, "inputs: only an encoder"),
        (of_strips()[0], {"n_context": 8}, "n_context: 6 patches, got 8"),
        (of_strips()[0], {"kind": "encoder", "n_vocab": 0, "start_id": None, "head": config.NoHead()}, "inputs: cls"),
    ],
)
def test_models_of_pictures_that_cannot_be_are_refused(of: ModelConfig, changes: dict[str, object], field: str) -> None:
    with pytest.raises(vm.ConfigError, match=f"^{field}"):
        ModelConfig(**{**vars(of), **changes})


@torch.no_grad()
def reference_run(model: Transformer, levels: Tensor, target_ids: list[int]) -> tuple[Tensor, Tensor]:
    """The encoder's last vectors [Ts, D] and the logits [Tq, V] of a picture [H, W, C]: all by torch.nn."""
    config_, given = model.config, model.config.patches
    mean, std = torch.tensor(given.mean), torch.tensor(given.std)
    normal = ((levels / 255 - mean) / std).permute(2, 0, 1)[None]
    w, b = (model.get_parameter(f"patches.projection.{name}") for name in ("weight", "bias"))
    kernel = w.view(-1, given.channels, given.patch, given.patch)
    x = F.conv2d(normal, kernel, b, stride=given.patch).flatten(2).transpose(1, 2)
    x = x + model.get_parameter("encoder.position.table.weight")[: x.shape[1]]
    for block in map(model.stack("encoder").block, range(config_.n_encoder_layers)):
        x = reference_layer(block, config_, "gelu")(x)
    source = _normalized(model, "encoder", x)
    y = model.embedding.weight[target_ids] * (config_.d_model**0.5 if config_.scale_embedding else 1.0)
    y = (y + model.get_parameter("decoder.position.table.weight")[: len(target_ids)])[None]
    mask = nn.Transformer.generate_square_subsequent_mask(len(target_ids))
    for block in map(model.stack("decoder").block, range(config_.n_layers)):
        y = reference_layer(block, config_, "gelu")(y, source, tgt_mask=mask, tgt_is_causal=True)
    return source[0], (_normalized(model, "decoder", y) @ model.unembedding.weight.T)[0]


def _normalized(model: Transformer, side: str, x: Tensor) -> Tensor:
    weight, bias = (model.get_parameter(f"{side}.final_norm.{name}") for name in ("weight", "bias"))
    return F.layer_norm(x, weight.shape, weight, bias, model.config.norm.eps)


def test_parity_with_torch_nn() -> None:
    bundled, tiny = vm.load("read-digits"), dataclasses.replace(of_strips()[0], ffn=config.Dense(activation="gelu"))
    shown = [(bundled, example.levels) for example in examples.read(bundled.folder)[:4]]
    for lm, levels in ((language_model(tiny), picture(tiny, 3)), *shown):
        trace = lm.trace(levels, target_ids=TARGET)
        assert trace.picture is not None
        source, logits = reference_run(lm.model, trace.picture.float(), TARGET)
        close(trace[trace.at("encoder").prefix + trace.at("encoder").leaving], source)
        close(trace["logits"], logits)


def test_the_bundled_model_reads_its_examples() -> None:
    lm = vm.load("read-digits")
    for example in examples.read(lm.folder):
        for language, between in (("en", ", "), ("zh", "、")):
            said = lm.generate(example.levels, target_language=language, temperature=0)
            assert said.text == between.join(NUMERALS[language][n] for n in example.numbers)
            assert said.stopped == "end_of_text" and said.trace.target_language == language
