"""Classifiers of texts against the library their checkpoints come from: their logits, by their labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_makers import Reference

from viz_model.app import sidebar
from viz_model.checkpoints import registry
from viz_model.checkpoints.weights import ModelError
from viz_model.config import ClassHead
from viz_model.runs.derivation import derive
from viz_model.texts import LANGUAGES, Texts

LABELS = {0: "negative", 1: "neutral", 2: "positive"}
FAMILIES = {"Bert": "tanh", "Roberta": "tanh", "XLMRoberta": "tanh", "DistilBert": "relu"}
"""The activation of the layer in front, which no attribute names."""
IDS = [5, 9, 12, 30, 2]


def reference(family: str, **changes: Any) -> Reference:
    return Reference(f"{family}ForSequenceClassification", changes)


@pytest.mark.parametrize(("family", "seed"), [(family, seed) for family in FAMILIES for seed in (0, 1)])
@torch.no_grad()
def test_every_logit_is_theirs_and_has_its_label(family: str, seed: int, tmp_path: Path) -> None:
    theirs = reference(family, id2label=LABELS, num_hidden_layers=3).save(tmp_path, seed)
    lm = registry.load_folder(tmp_path)
    assert isinstance(lm.config.head, ClassHead) and not lm.left_out
    assert lm.config.head.activation == FAMILIES[family] and lm.config.classes == tuple(LABELS.values())
    expected = theirs(torch.tensor([IDS])).logits[0]
    run = lm.trace(ids=IDS)
    torch.testing.assert_close(run["class.logits"], expected, atol=1e-5, rtol=1e-5)
    best = int(expected.argmax())
    (found,) = run.classes(k=1)
    assert found[0] == LABELS[best] and found[1] == pytest.approx(float(expected.softmax(0)[best]), abs=1e-5)
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
