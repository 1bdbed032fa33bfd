"""Weights of a checkpoint, from the names its authors gave them to ours.

An *archive* is a file, or several, that tensors are read from one at a time. A table of
:class:`~viz_model.checkpoints.renames.Rename` rows says what each of its names is here.
:func:`fill` compares names and shapes first, with a model that has shapes and no memory: a config
far larger than its weights is refused before anything is built.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import init
from torch.overrides import TorchFunctionMode

from viz_model.checkpoints import room
from viz_model.checkpoints.renames import Rename, Share, rename
from viz_model.checkpoints.room import ANYWHERE, Placing
from viz_model.config import ModelConfig
from viz_model.model import stored as stored_as
from viz_model.model.packed import Packed
from viz_model.model.transformer import Transformer

MAX_JSON_BYTES = 2**24
MAX_CONFIG_BYTES = 2**20
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json")
# Some functions of nn.init come to a TorchFunctionMode themselves, of others the tensor's own methods.
_FIRST_VALUES = (init.kaiming_uniform_, init.normal_, init.uniform_, Tensor.normal_, Tensor.uniform_, Tensor.div_)
_ALLOCATE = (torch.empty, torch.ones, torch.zeros)
BINS = ("pytorch_model.bin", "pytorch_model.bin.index.json")
OBSERVED = "vm.observe_model or viz-model --observe shows what its own runs report"
"""What can be done with a model that is not read here."""


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

    @property
    def dtype(self) -> torch.dtype:
        """The type of most of its numbers, as far as they may be kept in it: two bytes, or single precision."""

    def read(self, name: str) -> Tensor:
        """One tensor of floating-point numbers, as they are stored. Raises ModelError where it cannot be read."""


def unchanged(config: ModelConfig) -> list[Rename]:
    """The table of a checkpoint that already uses our names."""
    return [rename(name, name) for name in _expected(config)]


def stored_tensors(model: Transformer) -> dict[str, Tensor]:
    """The tensors that a checkpoint of ``model`` holds: what is tied or shared is stored once."""
    return stored(model.state_dict(), model.config)


def stored(state: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """Of the ``state_dict`` of a model of ours what its checkpoint holds."""
    twice = ["head.unembedding.weight"] if config.tie_embeddings else []
    twice += [name for name in state if config.shared_norm and ".ffn_norm." in name]
    if config.shared_blocks:
        twice += [name for name in state if ".blocks." in name and ".blocks.0." not in name]
    alike = [n for n, mixer in enumerate(config.mixers) if getattr(mixer, "values_of_keys", False)]
    twice += [f"{config.sides[-1]}.blocks.{n}.attn.v.{part}" for n in alike for part in ("weight", "bias")]
    return {name: tensor for name, tensor in state.items() if name not in twice}


def fill(
    config: ModelConfig,
    archive: Archive,
    renames: Sequence[Rename],
    *,
    where: Placing = ANYWHERE,
    in_place: bool = False,
    packed: Callable[[str], Packed | None] | None = None,
) -> Transformer:
    """Build the model that ``config`` describes, with the weights of ``archive``.

    Args:
        where: the type in which the weights are kept, and the device.
        in_place: keep the archive's own tensors, or views of them, wherever they are ours without a computation; of
            large ones this is done in any case, so that a file is mapped into memory and not read twice.
        packed: of an archive of quantized matrices, one that stays quantized in a model of many weights, where nobody
            asks for a type; None for a tensor that is none.

    Raises:
        ModelError: a tensor is missing, has no place, has another shape, holds something else
            than finite numbers, or differs from another that fills the same place; or they need more
            memory than is free. The message names the file and the tensor as it is called there.
    """
    with _ShapesOnly():
        model = Transformer(config)
    places = stored(dict(model.named_parameters(remove_duplicate=False)), config)
    expected = {place: tuple(weight.shape) for place, weight in places.items()}
    plan = _plan(expected, archive, renames)
    n_weights = sum(map(math.prod, expected.values()))
    dtype, device = where.kept(n_weights, archive.dtype)
    if packed is not None and not where.packs(n_weights):
        packed = None
    is_there = packed is not None or (in_place and dtype == archive.dtype)
    if not is_there and (why := room.refusal(n_weights, dtype, device, archive.dtype)):
        raise ModelError(f"{archive.path}: {why}")
    in_place = in_place or room.is_mapped(n_weights, dtype, archive.dtype)
    filled = dict[str, Tensor]()
    done: set[tuple[str, Share | None]] = set()
    for name, (row, ours) in plan.items():
        matrix = packed(name) if packed is not None and row.keeps_rows else None
        found = archive.read(name) if matrix is None else matrix
        if not all(map(_is_finite, [found] if matrix is None else matrix.parts())):
            raise ModelError(f"{archive.path}: tensor {name!r} holds numbers that are not finite")
        if matrix is not None:
            filled.update(zip(ours, matrix.cut([expected[place][0] for place in ours]), strict=True))
            continue
        kept = torch.float32 if row.how == "from_one" or row.times != 1 else dtype
        sizes = [(*expected[place], 1)[0] for place in ours]
        for place, piece in zip(ours, row.pieces(found, sizes), strict=True):
            share = row.share
            if (place, share) in done:
                if not torch.equal(_part(filled[place], share), piece.to(device, filled[place].dtype)):
                    told = f"tensor {name!r} is not the copy of {place!r} that it should be"
                    raise ModelError(f"{archive.path}: {told}; {OBSERVED}")
                continue
            done.add((place, share))
            if in_place and share is None:
                filled[place] = piece.to(device, kept)
            else:
                if place not in filled:
                    filled[place] = torch.empty(expected[place], dtype=kept, device=device)
                _part(filled[place], share).copy_(piece)
    # `places` keeps the empty ones alive, so that no other has an id of theirs.
    weights = {id(places[place]): nn.Parameter(tensor.detach(), False) for place, tensor in filled.items()}
    for module in model.modules():
        module.training = False
        module._parameters.update(
            {own: None if one is None else weights[id(one)] for own, one in module._parameters.items()}
        )
        module._buffers.update({own: None if one is None else one.to(device) for own, one in module._buffers.items()})
    return stored_as.readable(model)


def _part(whole: Tensor, share: Share | None) -> Tensor:
    return whole if share is None else whole.chunk(share.of, share.axis)[share.number]


def _is_finite(tensor: Tensor) -> bool:
    """Whether all its numbers are: so they are where their sum is, unless they are too large to be added."""
    return math.isfinite(tensor.sum().item()) or all(math.isfinite(one.item()) for one in torch.aminmax(tensor))


class _ShapesOnly(TorchFunctionMode):
    """Weights have shapes and no memory; tables of positions, whose size a config bounds, are computed.

    The drawing and scaling of first values, which a checkpoint is about to replace, is left out.
    With everything on the meta device, PyTorch would compute tables in Python, and import its compiler for it: that
    takes a second.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _FIRST_VALUES:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **{**kwargs, "device": "meta"} if func in _ALLOCATE else kwargs)


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
        check_fetched(path, data)
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelError(f"{path}: {one_line(error)}") from None
    if len(data) > limit:
        raise ModelError(f"{path}: longer than {limit} bytes")
    return data


def check_fetched(path: Path, start: bytes) -> None:
    """Refuse what Git LFS puts in the place of a file that it has not fetched.

    Raises:
        ModelError: the file begins as such a pointer does.
    """
    if start.startswith(b"version https://git-lfs"):
        raise ModelError(f"{path}: Git has only a pointer to the file here; fetch it with git lfs pull")


def one_line(error: BaseException) -> str:
    """What an exception says, on one line."""
    return " ".join(str(error).split()) or type(error).__name__
