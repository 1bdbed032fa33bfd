"""The models that can be loaded on this machine, and loading them.

A model folder holds ``config.json`` (the config, the tokenizer's name, the twin's name) and
``model.safetensors``. Weights are stored in half precision and computed with in single.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from viz_model.config import ConfigError, ModelConfig
from viz_model.language_model import LanguageModel
from viz_model.model import Transformer
from viz_model.tokenizer import Tokenizer, story_tokenizer

BUNDLED = Path(__file__).resolve().parents[1] / "models"

TOKENIZERS = {"story-8k": story_tokenizer}


class ModelError(ValueError):
    """A model that cannot be loaded. One line that names the file and what is wrong with it."""


def models() -> list[str]:
    """Names that :func:`load` accepts."""
    names = sorted(path.parent.name for path in BUNDLED.glob("*/config.json"))
    # Pre-LN is what almost every model since GPT-2 is built like, so visitors meet it first.
    return sorted(names, key=lambda name: name != "story-pre-ln")


def load(source: str | Path) -> LanguageModel:
    """Load a bundled model by name, or a model folder by path.

    Raises:
        ModelError: no such model, or its files are damaged or do not fit together.
    """
    if str(source) in models():
        return load_folder(BUNDLED / str(source))
    folder = Path(source)
    if not folder.is_dir():
        raise ModelError(f"no model {str(source)!r}: expected one of {', '.join(models())}, or a folder")
    return load_folder(folder)


def load_folder(folder: Path) -> LanguageModel:
    """Load a model folder.

    Raises:
        ModelError: names the file and what is wrong with it.
    """
    description = _read_json(folder / "config.json")
    try:
        config = ModelConfig.from_dict(description["config"])
        tokenizer = TOKENIZERS[description["tokenizer"]]()
    except ConfigError as error:
        raise ModelError(f"{folder / 'config.json'}: {error}") from None
    except (KeyError, TypeError) as error:
        raise ModelError(f"{folder / 'config.json'}: config or tokenizer is missing or unknown: {error}") from None
    _check_vocabulary(folder, config, tokenizer)
    _check_weights(config, folder / "model.safetensors")
    model = Transformer(config)
    _load_weights(model, folder / "model.safetensors")
    model.eval().requires_grad_(False)
    return LanguageModel(
        name=folder.name, model=model, tokenizer=tokenizer, twin=description.get("twin"), folder=folder
    )


def stored_tensors(model: Transformer) -> dict[str, Tensor]:
    """The tensors that a checkpoint of ``model`` holds: a tied unembedding is stored once."""
    state = dict(model.state_dict())
    if model.config.tie_embeddings:
        del state["unembedding.weight"]
    return state


def _check_weights(config: ModelConfig, path: Path) -> None:
    """Compare the names and shapes in a checkpoint with what ``config`` asks for.

    The model they are compared with has shapes and no memory, so that a config far larger than
    its weights is refused before it is built.
    """
    with torch.device("meta"):
        expected = stored_tensors(Transformer(config))
    try:
        with safe_open(path, framework="pt") as file:
            found = set(file.keys())
            if missing := sorted(set(expected) - found):
                raise ModelError(f"{path}: tensor {missing[0]!r} is missing")
            if unknown := sorted(found - set(expected)):
                raise ModelError(f"{path}: tensor {unknown[0]!r} has no place in this model")
            for name, parameter in expected.items():
                shape = file.get_slice(name).get_shape()
                if list(parameter.shape) != shape:
                    raise ModelError(f"{path}: {name} has shape {shape}, the config asks {list(parameter.shape)}")
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: {error}") from None


def _load_weights(model: Transformer, path: Path) -> None:
    with safe_open(path, framework="pt") as file, torch.no_grad():
        for name, parameter in stored_tensors(model).items():
            parameter.copy_(file.get_tensor(name))


def _check_vocabulary(folder: Path, config: ModelConfig, tokenizer: Tokenizer) -> None:
    if tokenizer.n_vocab != config.n_vocab:
        raise ModelError(
            f"{folder / 'config.json'}: n_vocab is {config.n_vocab}, "
            f"but the tokenizer {tokenizer.name} has {tokenizer.n_vocab} tokens"
        )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: {error}") from None
    if not isinstance(value, dict):
        raise ModelError(f"{path}: expected a JSON object")
    return value
