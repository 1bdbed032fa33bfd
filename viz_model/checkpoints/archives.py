"""The tensors of a checkpoint, read one at a time: of safetensors, of PyTorch's pickles, or of what is in memory."""

import math
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from viz_model.checkpoints import room
from viz_model.checkpoints.weights import BINS, SAFETENSORS, Archive, ModelError, check_fetched, one_line, read_json

FLOATS = ("F64", "F32", "F16", "BF16")
HALVES = {"F16": torch.float16, "BF16": torch.bfloat16}
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
_WRAPPERS = ("_orig_mod.", "module.")
"""What torch.compile and DataParallel put before the names of a model's weights."""


class StateArchive:
    """Tensors that are in memory already: a ``state_dict``."""

    def __init__(self, tensors: Mapping[str, Tensor], path: Path = Path("state_dict")) -> None:
        self.path = path
        self._tensors = {unwrapped(name): tensor for name, tensor in tensors.items()}
        self.shapes = {name: tuple(tensor.shape) for name, tensor in self._tensors.items()}
        self.dtype = _most((tensor.dtype, tensor.numel()) for tensor in self._tensors.values())

    def read(self, name: str) -> Tensor:
        """The tensor itself."""
        tensor = self._tensors[name].detach()
        if not tensor.is_floating_point():
            raise ModelError(f"{self.path}: tensor {name!r} is {tensor.dtype}, expected floating-point numbers")
        return tensor


def _most(counts: Iterable[tuple[torch.dtype, int]]) -> torch.dtype:
    """The type of most numbers, of those in which weights are kept."""
    found: defaultdict[torch.dtype, int] = defaultdict(int)
    for dtype, count in counts:
        found[dtype if dtype in room.TWO_BYTES else torch.float32] += count
    return max(found, key=found.__getitem__, default=torch.float32)


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
        _check_start(path)
        found = torch.load(path, map_location="cpu", mmap=zipfile.is_zipfile(path), weights_only=True)
    except UnpicklingError:
        raise ModelError(
            f"{path}: a pickle that asks for more than tensors can run code; save the model as model.safetensors "
            "instead"
        ) from None
    except ModelError:
        raise
    except Exception as error:  # whatever a damaged pickle leads its reader to
        raise ModelError(f"{path}: damaged, or not as PyTorch saves tensors: {one_line(error)[:200]}") from None
    if not isinstance(found, Mapping) or not all(isinstance(one, Tensor) for one in found.values()):
        raise ModelError(f"{path}: expected tensors by their names")
    return {str(name): tensor for name, tensor in found.items()}


def _check_start(path: Path) -> None:
    with path.open("rb") as file:
        check_fetched(path, file.read(64))


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
        kinds = ((HALVES.get(self.kind(name), torch.float32), math.prod(shape)) for name, shape in self.shapes.items())
        self.dtype = _most(kinds)

    def read(self, name: str) -> Tensor:
        if (kind := self.kind(name)) not in FLOATS:
            raise ModelError(f"{self.path}: tensor {name!r} is {kind}, expected one of {', '.join(FLOATS)}")
        return self.raw(name)

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
            _check_start(path)
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
