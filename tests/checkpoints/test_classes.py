"""Classifiers of pictures and of texts against the library their checkpoints come from."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoint_makers import Reference, hidden
from transformers import ViTImageProcessorPil

import viz_model as vm
from viz_model.app import sidebar
from viz_model.checkpoints import registry
from viz_model.checkpoints.registry import load_folder
from viz_model.checkpoints.weights import ModelError
from viz_model.config import ClassHead, NoHead, Patches
from viz_model.images import Levels
from viz_model.runs.derivation import derive
from viz_model.texts import LANGUAGES, Texts

LABELS = {n: f"class {n}" for n in range(5)}

IMAGES = "ViTForImageClassification"
# Of each model: what it is made of, and what its image processor is given.
MODELS: dict[str, tuple[Reference, dict[str, Any]]] = {
    "classifier": (Reference(IMAGES, {"id2label": LABELS}), {}),
    "vectors": (
        Reference("ViTModel", {"num_hidden_layers": 3}),
        {"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.25]},
    ),
    "not-square": (Reference(IMAGES, {"image_size": [8, 20]}), {"resample": 3}),
    "no-bias": (Reference(IMAGES, {"qkv_bias": False, "hidden_act": "gelu_new"}), {"do_normalize": False}),
    "eps": (Reference(IMAGES, {"layer_norm_eps": 0.05, "num_attention_heads": 1}), {"resample": 0}),
    "gray": (Reference(IMAGES, {"num_channels": 1, "hidden_act": "relu"}), {"image_mean": [0.2], "image_std": [0.3]}),
    "odd": (
        Reference(IMAGES, {"image_size": [15, 9], "patch_size": 3, "num_attention_heads": 6, "hidden_act": "silu"}),
        {"resample": 1},
    ),
    "masked": (Reference("ViTForMaskedImageModeling", {"encoder_stride": 4}), {}),
}
CONFIG, PROCESSOR = "config.json", "preprocessor_config.json"
MOODS = {0: "negative", 1: "neutral", 2: "positive"}
FAMILIES = {"Bert": "tanh", "Roberta": "tanh", "XLMRoberta": "tanh", "DistilBert": "relu"}
"""The activation of the layer in front, which no attribute names."""
IDS = [5, 9, 12, 30, 2]


def saved(folder: Path, name: str) -> tuple[Any, Any]:
    """Their model and their image processor, and a folder with both."""
    made, processing = MODELS[name]
    model = made.save(folder)
    height, width = size if isinstance(size := model.config.image_size, list) else (size,) * 2
    processor: Any = ViTImageProcessorPil(size={"height": height, "width": width}, **processing)
    processor.save_pretrained(folder)
    return model, processor


def picture(height: int, width: int, channels: int, seed: int = 0) -> Levels:
    levels = np.random.default_rng(seed).integers(0, 256, (height, width, channels)).astype(np.uint8)
    return levels[..., 0] if channels == 1 else levels


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_every_value_is_theirs(name: str, tmp_path: Path) -> None:
    theirs, processor = saved(tmp_path, name)
    lm = load_folder(tmp_path)
    given, base = lm.config.inputs, getattr(theirs, "vit", theirs)
    assert isinstance(given, Patches)
    sizes = [(given.height, given.width)] + ([] if given.channels == 1 else [(31, 17), (5, 40)])
    for n, size in enumerate(sizes):
        levels = picture(*size, given.channels, n)
        seen = levels if given.channels == 3 else levels[..., None]
        pixels = processor(seen, return_tensors="pt", input_data_format="channels_last")["pixel_values"]
        expected = base(pixels, output_hidden_states=True, output_attentions=True)
        # The last of their hidden states is not normalized yet.
        states = *expected.hidden_states[:-1], expected.last_hidden_state
        sites = hidden(lm.config, states, expected.attentions)
        if isinstance(lm.config.head, ClassHead):
            sites["class.logits"] = theirs(pixels).logits
        trace = lm.trace(levels)
        for site, value in sites.items():
            torch.testing.assert_close(trace[site], value[0], atol=1e-4, rtol=1e-4)
    assert isinstance(lm.config.head, ClassHead) == (type(theirs).__name__ == IMAGES)


def test_labels_and_what_is_left_out(tmp_path: Path) -> None:
    saved(tmp_path / "a", "classifier")
    lm = load_folder(tmp_path / "a")
    assert lm.config.head == ClassHead(labels=tuple(LABELS.values())) and not lm.left_out
    assert {one.trace(picture(12, 12, 3)).classes(1)[0][0] for one in (lm, vm.load(lm.model))} <= {*LABELS.values()}
    saved(tmp_path / "b", "vectors")
    lm = load_folder(tmp_path / "b")
    assert lm.config.head == NoHead() and lm.left_out == ("pooler",)
    with pytest.raises(ValueError, match="classes: this model has none"):
        lm.trace(picture(12, 12, 3)).classes()
    saved(tmp_path / "c", "masked")
    assert load_folder(tmp_path / "c").left_out == ("decoder",)


@pytest.mark.parametrize(
    ("file", "changes", "told"),
    [
        (CONFIG, {"patch_size": [4, 3]}, "patch_size: expected a square"),
        (CONFIG, {"image_size": 16}, "size: the model reads 16 × 16 pixels, got 12 × 12"),
        (CONFIG, {"id2label": {"0": "a", "2": "b"}}, "id2label: expected a text for each number"),
        (CONFIG, {"layer_scale": 0.1}, "layer_scale: an attribute that is not supported"),
        (PROCESSOR, {"do_rescale": False}, "do_rescale"),
        (PROCESSOR, {"rescale_factor": 0.01}, "rescale_factor: expected 1/255"),
        (PROCESSOR, {"image_std": [0.5, 0.0, 0.5]}, "std"),
        (PROCESSOR, {"sharpen": True}, "sharpen: an attribute that is not supported"),
        (PROCESSOR, None, "no such file"),
    ],
)
def test_what_is_not_known_is_refused(file: str, changes: Mapping[str, Any] | None, told: str, tmp_path: Path) -> None:
    saved(tmp_path, "classifier")
    path = tmp_path / file
    if changes is None:
        path.unlink()
    else:
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(vm.ModelError, match=told) as refused:
        load_folder(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_every_logit_is_theirs_and_has_its_label(family: str, tmp_path: Path) -> None:
    made = Reference(f"{family}ForSequenceClassification", {"id2label": MOODS, "num_hidden_layers": 3})
    theirs, lm = made.save(tmp_path), registry.load_folder(tmp_path)
    assert isinstance(lm.config.head, ClassHead) and not lm.left_out
    assert lm.config.head.activation == FAMILIES[family] and lm.config.classes == tuple(MOODS.values())
    expected = theirs(torch.tensor([IDS])).logits[0]
    run = lm.trace(ids=IDS)
    torch.testing.assert_close(run["class.logits"], expected, atol=1e-5, rtol=1e-5)
    best = int(expected.argmax())
    (found,) = run.classes(k=1)
    assert found[0] == MOODS[best] and found[1] == pytest.approx(float(expected.softmax(0)[best]), abs=1e-5)
    for site in ("class.act", "class.logits", "class.probs"):
        assert derive(run, site, (2,)).agrees
    for language in LANGUAGES:
        t = Texts(language)
        assert t("models.does_text_classes") in sidebar.model("tiny", lm, t)


@pytest.mark.parametrize(
    ("model", "read"),
    [
        ("GPT2ForSequenceClassification", "AutoModelForCausalLM"),
        ("LlamaForTokenClassification", "AutoModelForCausalLM"),
        ("BartForSequenceClassification", "AutoModelForSeq2SeqLM"),
        ("LlamaModel", "AutoModelForCausalLM"),
    ],
)
def test_a_decoder_without_its_head_says_what_would_be_read(model: str, read: str, tmp_path: Path) -> None:
    Reference(model, {"tie_word_embeddings": False} if model == "LlamaModel" else {}).save(tmp_path)
    with pytest.raises(ModelError, match=read) as refused:
        registry.load_folder(tmp_path)
    assert model in str(refused.value) and "能读的是" in Texts("zh").error(refused.value)
