"""Why a model is refused, in words that a visitor can act on, in both languages."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from checkpoint_makers import Reference

import viz_model
from viz_model.checkpoints import registry
from viz_model.checkpoints.weights import ModelError
from viz_model.texts import Texts

PACKAGE = Path(viz_model.__file__).parent
FILES = ("checkpoints/gguf.py", "checkpoints/gguf_file.py", "checkpoints/weights.py", "tokenizers/ggml.py")


def templates() -> list[str]:
    """What these files raise as ModelError, a word in the place of each value; not what another library says."""
    found = []
    for file in FILES:
        for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            if not isinstance(node.exc.func, ast.Name) or node.exc.func.id != "ModelError":
                continue
            (said,) = node.exc.args
            parts = said.values if isinstance(said, ast.JoinedStr) else []
            words = [str(part.value) if isinstance(part, ast.Constant) else f"v{n}" for n, part in enumerate(parts)]
            if any(letter.isalpha() for part in parts if isinstance(part, ast.Constant) for letter in str(part.value)):
                found.append("".join(words))
    return found


@pytest.mark.parametrize("message", templates())
def test_every_refusal_of_a_file_has_chinese_words(message: str) -> None:
    assert re.search("[\u4e00-\u9fff]", Texts("zh").error(message)), message


def test_they_are_all_found() -> None:
    assert len(templates()) > 30


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
