"""Weights of a checkpoint, from the names its authors gave them to ours.

An *archive* is a file, or several, that tensors are read from one at a time. A table of
:class:`~viz_model.checkpoints.renames.Rename` rows says what each of its names is here.
:func:`fill` compares names and shapes first, with a model that has shapes and no memory: a config
far larger than its weights is refused before anything is built.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn import init
from torch.overrides import TorchFunctionMode

from viz_model.checkpoints import room
from viz_model.checkpoints.renames import Rename, Share, rename
from viz_model.config import ModelConfig
from viz_model.model.transformer import Transformer

MAX_JSON_BYTES = 2**24
MAX_CONFIG_BYTES = 2**20
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json")
FLOATS = ("F64", "F32", "F16", "BF16")
# Some functions of nn.init come to a TorchFunctionMode themselves, of others the tensor's own methods.
_FIRST_VALUES = (init.kaiming_uniform_, init.normal_, init.uniform_, Tensor.normal_, Tensor.uniform_, Tensor.div_)
_ALLOCATE = (torch.empty, torch.ones, torch.zeros)
BINS = ("pytorch_model.bin", "pytorch_model.bin.index.json")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
_WRAPPERS = ("_orig_mod.", "module.")
"""What torch.compile and DataParallel put before the names of a model's weights."""


class ModelError(ValueError):
    """A model that cannot be loaded. One line that names the file and what is wrong with it."""


class Archive(Protocol):
    """Tensors of a checkpoint, read one at a time."""

    @property
    def path(self) -> Path:
        """The file that messages name."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of every tensor, by its name in the file; known without reading the tensors."""

    def read(self, name: str) -> Tensor:
        """One tensor in single precision. Raises ModelError where it cannot be read."""


def unchanged(config: ModelConfig) -> list[Rename]:
    """The table of a checkpoint that already uses our names."""
    return [rename(name, name) for name in _expected(config)]


def stored_tensors(model: Transformer) -> dict[str, Tensor]:
    """The tensors that a checkpoint of ``model`` holds: a tied unembedding and a shared norm are stored once."""
    return stored(model.state_dict(), model.config)


def stored(state: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """Of the ``state_dict`` of a model of ours what its checkpoint holds."""
    twice = ["head.unembedding.weight"] if config.tie_embeddings else []
    twice += [name for name in state if config.shared_norm and ".ffn_norm." in name]
    return {name: tensor for name, tensor in state.items() if name not in twice}


def fill(config: ModelConfig, archive: Archive, renames: Sequence[Rename], *, in_place: bool = False) -> Transformer:
    """Build the model that ``config`` describes, with the weights of ``archive``.

    Args:
        in_place: keep the archive's own tensors, or views of them, wherever they are ours without a computation.

    Raises:
        ModelError: a tensor is missing, has no place, has another shape, holds something else
            than finite numbers, or differs from another that fills the same place; or they need more
            memory than is free. The message names the file and the tensor as it is called there.
    """
    expected = _expected(config)
    plan = _plan(expected, archive, renames)
    if not in_place and (why := room.refusal(sum(map(math.prod, expected.values())))):
        raise ModelError(f"{archive.path}: {why}")
    with _NoFirstValues():
        model = Transformer(config)
    tensors = stored_tensors(model)
    filled: set[tuple[str, Share | None]] = set()
    for name, (row, ours) in plan.items():
        found = archive.read(name)
        if not found.isfinite().all():
            raise ModelError(f"{archive.path}: tensor {name!r} holds numbers that are not finite")
        for place, piece in zip(ours, row.pieces(found, [expected[place][0] for place in ours]), strict=True):
            whole, share = tensors[place], row.share
            ours_of_it = whole if share is None else whole.chunk(share.of, share.axis)[share.number]
            if (place, share) not in filled:
                if in_place and share is None:
                    _put(model, place, piece)
                    tensors[place] = piece
                else:
                    ours_of_it.copy_(piece)
                filled.add((place, share))
            elif not torch.equal(ours_of_it, piece):
                raise ModelError(f"{archive.path}: tensor {name!r} is not the copy of {place!r} that it should be")
    return model.eval().requires_grad_(False)


def _put(model: Transformer, place: str, tensor: Tensor) -> None:
    """Let a parameter, and those that are the same one, be ``tensor`` itself."""
    former = model.get_parameter(place)
    weight = nn.Parameter(tensor.detach(), requires_grad=False)
    for module in model.modules():
        for name, own in module.named_parameters(recurse=False):
            if own is former:
                setattr(module, name, weight)


class _NoFirstValues(TorchFunctionMode):
    """Leaves out the drawing and scaling of first values that a checkpoint is about to replace."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _FIRST_VALUES:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


class _ShapesOnly(_NoFirstValues):
    """Weights have shapes and no memory; tables of positions, whose size a config bounds, are computed.

    With everything on the meta device, PyTorch would compute tables in Python, and import its compiler for it: that
    takes a second.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _ALLOCATE:
            kwargs = {**(kwargs or {}), "device": "meta"}
        return super().__torch_function__(func, types, args, kwargs)


@lru_cache(maxsize=64)
def _expected(config: ModelConfig) -> Mapping[str, tuple[int, ...]]:
    """Names and shapes of what a checkpoint of ``config`` holds, at no cost in memory."""
    with _ShapesOnly():
        return {name: tuple(tensor.shape) for name, tensor in stored_tensors(Transformer(config)).items()}


def _plan(
    expected: Mapping[str, tuple[int, ...]], archive: Archive, renames: Sequence[Rename]
) -> dict[str, tuple[Rename, tuple[str, ...]]]:
    """For each of their tensors that is used: its row, and its places here."""
    exact = {row.theirs: row for row in renames if not set(row.theirs) & set("{[*")}
    patterns = [row for row in renames if row.theirs not in exact]
    plan: dict[str, tuple[Rename, tuple[str, ...]]] = {}
    unknown = []
    for name in sorted(archive.shapes):
        row, ours = _place(name, exact, patterns)
        if row is None or not all(place in expected for place in ours):
            unknown.append(name)
        elif ours:
            plan[name] = (row, ours)
    filled = {(place, row.share) for row, ours in plan.values() for place in ours}
    for place in expected:
        if (place, None) not in filled and (lacking := _lacking(place, renames, filled)) is not None:
            raise ModelError(f"{archive.path}: tensor {_their_name(place, lacking, archive)!r} is missing")
    if unknown:
        raise ModelError(f"{archive.path}: tensor {unknown[0]!r} has no place in this model")
    for name, (row, ours) in plan.items():
        shape, asked = archive.shapes[name], row.their_shape([expected[place] for place in ours])
        if shape != asked:
            raise ModelError(f"{archive.path}: {name} has shape {list(shape)}, the config asks {list(asked)}")
    # In the order of the table, which names an original before its copies.
    order = {row: n for n, row in enumerate(renames)}
    return dict(sorted(plan.items(), key=lambda item: order[item[1][0]]))


def _lacking(
    place: str, renames: Sequence[Rename], filled: Collection[tuple[str, Share | None]]
) -> Sequence[Rename] | None:
    """The rows of which one should have filled a place, those of its parts that are missing first; None: it is full."""
    shares = [row for row in renames if row.share is not None and any(_is_of(ours, place) for ours in row.ours)]
    lacking = [row for row in shares if (place, row.share) not in filled]
    if shares and not lacking:
        return None
    return lacking if len(lacking) < len(shares) else renames


def _is_of(ours: str, place: str) -> bool:
    return Rename(ours, ()).pattern.fullmatch(place) is not None


def _place(name: str, exact: Mapping[str, Rename], patterns: Iterable[Rename]) -> tuple[Rename | None, tuple[str, ...]]:
    if name in exact:
        return exact[name], exact[name].ours
    for row in patterns:
        if match := row.pattern.fullmatch(name):
            parts = match.groupdict()
            return row, tuple(
                ours.replace("{layer}", parts.get("layer", "")).replace("*", parts.get("end", "")) for ours in row.ours
            )
    return None, ()


def _their_name(place: str, renames: Iterable[Rename], archive: Archive) -> str:
    """What the archive would call the tensor of a place here, for a message."""
    for row in renames:
        for ours in row.ours:
            if match := Rename(ours, ()).pattern.fullmatch(place):
                parts = match.groupdict()
                name = row.theirs.replace("{layer}", parts.get("layer", "")).replace("*", parts.get("end", ""))
                prefix = name[1 : name.index("]")] if name.startswith("[") else ""
                if prefix and not any(known.startswith(prefix) for known in archive.shapes):
                    name = name.removeprefix(f"[{prefix}]")
                return name.replace("[", "").replace("]", "")
    return place


def refuse_adapter(folder: Path) -> None:
    """Raises ModelError for a folder that holds what is added to the weights of a model, there or elsewhere."""
    path = folder / "adapter_config.json"
    if not path.exists():
        return
    plain = read_json(path, MAX_CONFIG_BYTES)
    if any((folder / name).exists() for name in (*SAFETENSORS, *BINS)):
        raise ModelError(
            f"{path}: an adapter lies beside a model, and Transformers adds it to the weights; merge it first, "
            "merge_and_unload() of peft and save_pretrained, or move it away to see the model without it"
        )
    kind, base = (repr(plain.get(name))[:80] for name in ("peft_type", "base_model_name_or_path"))
    raise ModelError(
        f"{path}: this is an adapter ({kind}), not a model; merge it into its base ({base}) first: "
        "merge_and_unload() of peft, and save_pretrained"
    )


class StateArchive:
    """Tensors that are in memory already: a ``state_dict``."""

    def __init__(self, tensors: Mapping[str, Tensor], path: Path = Path("state_dict")) -> None:
        self.path = path
        self._tensors = {unwrapped(name): tensor for name, tensor in tensors.items()}
        self.shapes = {name: tuple(tensor.shape) for name, tensor in self._tensors.items()}

    def read(self, name: str) -> Tensor:
        """The tensor itself where it is of single precision and in main memory, else a copy that is."""
        tensor = self._tensors[name].detach()
        if not tensor.is_floating_point():
            raise ModelError(f"{self.path}: tensor {name!r} is {tensor.dtype}, expected floating-point numbers")
        return tensor.to("cpu", torch.float32)


def unwrapped(name: str) -> str:
    """A tensor's name without what wraps the model it was saved from."""
    for prefix in _WRAPPERS:
        name = name.removeprefix(prefix)
    return name


def archive_of(folder: Path) -> Archive:
    """The weights of a folder: its safetensors, or else the tensors of its ``pytorch_model.bin``.

    Raises:
        ModelError: there are none, a file is damaged or asks for more than tensors, or an index names something else
            than files of this folder.
    """
    if any((folder / name).exists() for name in SAFETENSORS) or not any((folder / name).exists() for name in BINS):
        return SafetensorsArchive(folder)
    single, index = (folder / name for name in BINS)
    if single.exists():
        return StateArchive(_unpickled(single), single)
    shards = _shards(index, "bin")
    return StateArchive({name: one for shard in shards for name, one in _unpickled(folder / shard).items()}, index)


def _unpickled(path: Path) -> dict[str, Tensor]:
    """The tensors of a pickle, of which PyTorch runs nothing that could be code."""
    try:
        if not path.is_file():
            raise ModelError(f"{path}: not a file")
        found = torch.load(path, map_location="cpu", mmap=zipfile.is_zipfile(path), weights_only=True)
    except UnpicklingError:
        raise ModelError(
            f"{path}: a pickle that asks for more than tensors can run code; save the model as model.safetensors "
            "instead"
        ) from None
    except ModelError:
        raise
    except Exception as error:  # whatever a damaged pickle leads its reader to
        raise ModelError(f"{path}: {one_line(error)[:200]}") from None
    if not isinstance(found, Mapping) or not all(isinstance(one, Tensor) for one in found.values()):
        raise ModelError(f"{path}: expected tensors by their names")
    return {str(name): tensor for name, tensor in found.items()}


class SafetensorsArchive:
    """The safetensors of a folder: ``model.safetensors``, or shards listed in an index.

    Opening reads the headers alone, and safetensors compares them with the file's length.

    Raises:
        ModelError: there are none, a file is damaged, or the index names something else than files of this folder.
    """

    def __init__(self, folder: Path) -> None:
        single, index = (folder / name for name in SAFETENSORS)
        self.path = single
        self._files: dict[str, tuple[Any, str]] = {}
        if single.exists():
            self._open(single)
        elif index.exists():
            self.path = index
            self._open_shards(index)
        elif pickles := sorted(path for kind in PICKLES for path in folder.glob(kind)):
            raise ModelError(
                f"{pickles[0]}: a pickle can run code when it is read; save the model as model.safetensors instead"
            )
        else:
            raise ModelError(f"{single}: no such file")
        self.shapes = {name: tuple(file.get_slice(own).get_shape()) for name, (file, own) in self._files.items()}

    def read(self, name: str) -> Tensor:
        if (kind := self.kind(name)) not in FLOATS:
            raise ModelError(f"{self.path}: tensor {name!r} is {kind}, expected one of {', '.join(FLOATS)}")
        return self.raw(name).float()

    def kind(self, name: str) -> str:
        """What its numbers are stored as, in the words of the file: ``F16``."""
        file, own = self._files[name]
        return str(file.get_slice(own).get_dtype())

    def raw(self, name: str) -> Tensor:
        """One tensor as it is stored. Raises ModelError where it cannot be read."""
        try:
            file, own = self._files[name]
            tensor: Tensor = file.get_tensor(own)
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{self.path}: {one_line(error)}") from None
        return tensor

    def _open(self, path: Path) -> set[str]:
        try:
            if path.exists() and not path.is_file():
                raise ModelError(f"{path}: not a file")
            file: Any = safe_open(path, framework="pt")
            names = set(file.keys())
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{path}: {one_line(error)}") from None
        self._files.update({unwrapped(name): (file, name) for name in names})
        return names

    def _open_shards(self, index: Path) -> None:
        for shard, listed in _shards(index, "safetensors").items():
            stored = self._open(index.parent / shard)
            if different := sorted(stored ^ listed):
                where = "is not in the index" if different[0] in stored else "is missing"
                raise ModelError(f"{index.parent / shard}: tensor {different[0]!r} {where}")


def _shards(index: Path, ending: str) -> dict[str, set[str]]:
    """The files that an index lists, and the tensors it says are in each."""
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise ModelError(f"{index}: weight_map: expected an object of file names")
    shards: dict[str, set[str]] = {}
    for name, shard in weight_map.items():
        # A path would let a downloaded folder have any file of this machine opened.
        if not isinstance(shard, str) or not re.fullmatch(rf"[\w\-][\w\-.]*\.{ending}", shard):
            raise ModelError(f"{index}: weight_map: expected names of .{ending} files beside it, got {shard!r}")
        shards.setdefault(shard, set()).add(name)
    return shards


def read_json(path: Path, limit: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """A JSON object from a file.

    Raises:
        ModelError: the file cannot be read, is longer than ``limit`` bytes, or holds something else.
    """
    data = read_file(path, limit)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: {one_line(error)}") from None
    if not isinstance(value, dict):
        raise ModelError(f"{path}: expected a JSON object")
    return value


def read_file(path: Path, limit: int) -> bytes:
    """The bytes of a file.

    Raises:
        ModelError: the file cannot be read, is longer than ``limit`` bytes, or is a pipe or device: they may never end.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ModelError(f"{path}: not a file")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise ModelError(f"{path}: {one_line(error)}") from None
    if len(data) > limit:
        raise ModelError(f"{path}: longer than {limit} bytes")
    return data


def one_line(error: BaseException) -> str:
    """What an exception says, on one line."""
    return " ".join(str(error).split()) or type(error).__name__
