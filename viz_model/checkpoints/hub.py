"""Models of the Hugging Face hub, by name."""

from __future__ import annotations

import re
from pathlib import Path

from viz_model.checkpoints.weights import ModelError, one_line

# What the readers here open, and nothing else: no pickles, which can run code, and no code.
FILES = (
    "adapter_config.json",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-*.safetensors",
    "merges.txt",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "*.spm",
    "spiece.model",
    "vocab.json",
    "vocab.txt",
)
_PART = r"[A-Za-z0-9][\w.-]{0,95}"
_NAME = re.compile(f"{_PART}/{_PART}", re.ASCII)


def is_name(source: str) -> bool:
    """Whether this can be the name of a model of the hub: ``org/name``."""
    return _NAME.fullmatch(source) is not None and ".." not in source


def snapshot(name: str) -> Path:
    """The folder with the files of a model, downloaded unless they are here already.

    Raises:
        ModelError: ``huggingface_hub`` is not installed, the hub cannot be reached, or it refuses.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ModelError(
            f'{name}: no such folder; to load it from the Hugging Face hub, pip install "viz-model[hub]"'
        ) from None
    try:
        return Path(snapshot_download(name, allow_patterns=list(FILES)))
    except Exception as error:  # its own errors and those of its HTTP client have no base in common
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise ModelError(f"{name}: not fetched from the Hugging Face hub: {reason[:300]}") from None
