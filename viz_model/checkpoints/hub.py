"""Models of the Hugging Face hub: their config first, and their weights only if it is read here."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from viz_model.checkpoints.weights import ModelError, one_line

# What the readers here open, and nothing else: no code.
SMALL = (
    "adapter_config.json",
    "added_tokens.json",
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "merges.txt",
    "model.safetensors.index.json",
    "pytorch_model.bin.index.json",
    "preprocessor_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "*.spm",
    "spiece.model",
    "vocab.json",
    "vocab.txt",
)
WEIGHTS = ("model.safetensors", "model-*.safetensors")
BINS = ("pytorch_model.bin", "pytorch_model-*.bin")
"""Where there is nothing else; of these only tensors are read, which run no code."""
_PART = r"[A-Za-z0-9][\w.-]{0,95}"
_NAME = re.compile(f"({_PART}/{_PART})(?:/((?:{_PART}/){{0,3}}{_PART}\\.gguf))?", re.ASCII)
_ADDRESS = re.compile(r"https://(?:huggingface\.co|hf\.co)/", re.ASCII)
_BRANCH = re.compile(r"/(?:tree|blob|resolve)/([\w.-]+)(?=/|$)", re.ASCII)


class Asked(NamedTuple):
    """A model of the hub: a repository, perhaps one ``.gguf`` file in it, and perhaps a revision."""

    repository: str
    file: str | None = None
    revision: str | None = None


def asked(source: str) -> Asked | None:
    """What a name or a pasted address asks of the hub; None for anything else.

    ``org/name``, ``org/name/file.gguf``, and ``https://huggingface.co/org/name/blob/main/file.gguf``.
    """
    name = source.split("?")[0].rstrip("/")
    revision = None
    if match := _ADDRESS.match(name):
        name = name[match.end() :]
        if branch := _BRANCH.search(name):
            revision, name = branch[1], name[: branch.start()] + name[branch.end() :]
    found = _NAME.fullmatch(name)
    if found is None or ".." in name or found[1].endswith(".gguf"):
        return None
    return Asked(found[1], found[2], revision)


def fetch(wanted: Asked, revision: str | None = None, ignore: Collection[str] = ()) -> Path:
    """The folder or ``.gguf`` file of a model, downloaded unless it is here already, with bars of progress.

    Its small files come first: a model that cannot be read here is refused before its weights are fetched.

    Raises:
        ModelError: ``huggingface_hub`` is not installed, the hub cannot be reached, it refuses, or its ``config.json``
            is of a model that is not read here.
    """
    name = wanted.repository
    try:
        from huggingface_hub import hf_hub_download, snapshot_download
    except ImportError:
        raise ModelError(
            f'{name}: no such folder; to load it from the Hugging Face hub, pip install "viz-model[hub]"'
        ) from None
    revision = revision or wanted.revision

    def fetched(*more: str) -> Path:
        try:
            if wanted.file is not None:
                return Path(hf_hub_download(name, wanted.file, revision=revision))
            return Path(snapshot_download(name, revision=revision, allow_patterns=[*SMALL, *more]))
        except Exception as error:  # its own errors and those of its HTTP client have no base in common
            reason = f"{type(error).__name__}: {one_line(error)}"
            raise ModelError(f"{name}: not fetched from the Hugging Face hub: {reason[:300]}") from None

    folder = fetched()
    if wanted.file is not None:
        return folder
    if (folder / "config.json").exists():
        from viz_model.checkpoints import huggingface

        huggingface.check_config(folder, ignore)
    folder = fetched(*WEIGHTS)
    return folder if any(folder.glob("*.safetensors")) else fetched(*BINS)
