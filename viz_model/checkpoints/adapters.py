"""Folders with an adapter (LoRA: Hu et al. 2021): ``peft`` adds it to the weights of its base, where both are here."""

import math
import warnings
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from viz_model.checkpoints import huggingface, live, room
from viz_model.checkpoints.archives import archive_of
from viz_model.checkpoints.places import ADAPTER as CONFIG
from viz_model.checkpoints.room import Placing
from viz_model.checkpoints.weights import BINS, MAX_CONFIG_BYTES, SAFETENSORS, ModelError, one_line, read_json
from viz_model.runs.language_model import LanguageModel
from viz_model.tokenizers import reading

WEIGHTS = "adapter_model.safetensors"
_FIRST = "merge the two first: merge_and_unload() of peft, and save_pretrained"


def base_of(folder: Path) -> Path:
    """The folder with the weights that an adapter is added to; ``folder`` itself where there is no adapter.

    It is the folder of the adapter, the one above it, or the one that its config names: a path, or a name beside it.

    Raises:
        ModelError: there is none, the adapter is of another kind, or ``peft`` or ``transformers`` is not installed.
    """
    path = folder / CONFIG
    if not path.exists():
        return folder
    plain = read_json(path, MAX_CONFIG_BYTES)
    kind, base = str(plain.get("peft_type"))[:40], str(plain.get("base_model_name_or_path"))[:200]
    places = (folder, Path(base), folder / base, folder.parent / base.rpartition("/")[2], folder.parent)
    found = next((place for place in places if _is_model(place)), None)
    if found is None:
        raise ModelError(
            f"{path}: this is an adapter ({kind!r}), not a model, and its base ({base!r}) is not here: put that folder "
            f"beside it, or {_FIRST}"
        )
    if kind != "LORA" or plain.get("megatron_config") is not None:  # which names modules that peft would import
        raise ModelError(f"{path}: this is an adapter ({kind!r}), and of such LoRA's alone are added here; {_FIRST}")
    if not all(map(find_spec, ("peft", "transformers"))):
        raise ModelError(
            f"{path}: this is an adapter ({kind!r}), which peft adds to the weights of its base ({base!r}): "
            f"pip install peft transformers; or {_FIRST}; or move {CONFIG} away to see the model without it"
        )
    return found


def _is_model(place: Path) -> bool:
    try:
        return (place / "config.json").is_file() and any((place / name).is_file() for name in (*SAFETENSORS, *BINS))
    except OSError:  # a name that no path has
        return False


def load(folder: Path, base: Path, where: Placing) -> LanguageModel:
    """The model of ``base`` with the adapter of ``folder`` merged into its weights.

    Raises:
        ModelError: the base is not read here, or the two do not fit together.
    """
    plain = read_json(base / "config.json", MAX_CONFIG_BYTES)
    huggingface.check_config(base)
    archive = archive_of(base)
    n_weights = sum(map(math.prod, archive.shapes.values()))
    if why := room.refusal(n_weights, archive.dtype, where.device or torch.device("cpu"), archive.dtype):
        raise ModelError(f"{archive.path}: {why}")
    if not (folder / WEIGHTS).is_file():  # peft would read a pickle in its place
        raise ModelError(f"{folder / WEIGHTS}: no such file")
    transformers, peft = import_module("transformers"), import_module("peft")
    try:
        config: Any = transformers.AutoConfig.from_pretrained(base, trust_remote_code=False)
        cls: Any = getattr(transformers, plain["architectures"][0])
        tensors = {name: archive.read(name) for name in archive.shapes}
        model: Any = cls.from_pretrained(None, config=config, state_dict=tensors, dtype=archive.dtype)
        merged = peft.PeftModel.from_pretrained(model, str(folder)).merge_and_unload()
    except ModelError:
        raise
    except Exception as error:  # whatever a library of somebody else raises
        raise ModelError(f"{folder / CONFIG}: peft cannot add it to {base}: {one_line(error)[:300]}") from None
    tokenizer = reading.from_folder(base, merged.get_input_embeddings().weight.shape[0])
    tokenizer.name = name = folder.resolve().name
    warnings.warn(f"{folder / CONFIG}: {huggingface.NOTICES['adapter']}", stacklevel=4)
    lm = live.from_memory(merged, tokenizer, None, name, where)
    return replace(lm, folder=folder, notices=(*lm.notices, "adapter"))
