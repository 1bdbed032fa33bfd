"""Weights in eight bits: of each row of a matrix whole numbers from -127 to 127, and what they are multiplied by."""

from collections.abc import Collection, Mapping
from pathlib import Path

import torch
from torch import Tensor

from viz_model.checkpoints.archives import SafetensorsArchive
from viz_model.checkpoints.weights import Archive, ModelError

SCALE = ".scale"
MOST = 127


def packed(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Every matrix [R, C] as int8 with its scales [R, 1], all else in half precision.

    A number is off by at most half of its row's scale, which is the row's largest number divided by 127, rounded up.
    """
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.dim() != 2:
            found[name] = tensor.half().contiguous()
            continue
        scale = _at_least(tensor.abs().amax(1, keepdim=True) / MOST)
        found[name] = (tensor / scale.float()).round().to(torch.int8)
        found[f"{name}{SCALE}"] = scale
    return found


def _at_least(scale: Tensor) -> Tensor:
    """In half precision, rounded up: rounded down, the largest number of a row would be cut off."""
    half = scale.half()
    larger = torch.nextafter(half, torch.full_like(half, torch.inf))
    return torch.where(half.float() < scale, larger, half).clamp_min(torch.finfo(torch.half).tiny)


class OwnArchive(SafetensorsArchive):
    """The tensors of a model of ours: what is stored as :func:`packed` reads as the matrices it stands for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._packed = {name for name in self.shapes if f"{name}{SCALE}" in self.shapes}
        for name in self._packed:
            del self.shapes[f"{name}{SCALE}"]
        self.dtype = torch.float32

    def read(self, name: str) -> Tensor:
        if name not in self._packed:
            return super().read(name).float()
        scale, shape = super().read(f"{name}{SCALE}").float(), self.shapes[name]
        if (kind := self.kind(name)) != "I8" or scale.shape != (*shape[:1], 1):
            raise ModelError(
                f"{self.path}: tensor {name!r} is {kind} of {list(shape)} with a scale of {list(scale.shape)}, "
                "expected I8 and one number a row"
            )
        return self.raw(name) * scale


class JoinedArchive:
    """The tensors of one archive, and of another those of ``names`` that it lacks."""

    def __init__(self, own: Archive, other: Archive, names: Collection[str]) -> None:
        self._own, self._other = own, other
        shared = {name: shape for name, shape in other.shapes.items() if name in names and name not in own.shapes}
        self.path, self.shapes, self.dtype = own.path, {**shared, **own.shapes}, own.dtype

    def read(self, name: str) -> Tensor:
        return (self._own if name in self._own.shapes else self._other).read(name)
