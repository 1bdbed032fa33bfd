"""Folders of models that no family here recomputes: ``transformers`` runs them, and their runs are observed."""

from importlib import import_module
from pathlib import Path
from typing import Any

from viz_model.checkpoints.weights import ModelError, one_line, read_json
from viz_model.runs.observed_model import ObservedModel, observe_model


def from_folder(folder: Path) -> ObservedModel:
    """A model of a folder as Hugging Face lays it out, loaded by the class of ``transformers`` that its config names.

    Code that lies in the folder is never run.

    Raises:
        ModelError: ``transformers`` is not installed, has no such class, cannot load it, or it reports nothing.
    """
    try:
        transformers: Any = import_module("transformers")
    except ImportError:
        raise ModelError(f"{folder}: its runs are observed with transformers, which is not installed") from None
    names = read_json(folder / "config.json").get("architectures") or ["none"]
    cls = getattr(transformers, str(names[0]), None)
    if cls is None:
        raise ModelError(f"{folder}: architectures: transformers has no class {str(names[0])[:60]!r}")
    try:
        model = cls.from_pretrained(folder, attn_implementation="eager").eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        return observe_model(model, tokenizer, name=folder.name)
    except Exception as error:  # whatever a class of somebody else raises
        raise ModelError(f"{folder}: {names[0]} cannot be observed: {one_line(error)[:200]}") from None
