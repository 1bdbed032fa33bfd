"""A model that was made of another and shares weights with it: each file holds what is its own."""

from __future__ import annotations

from collections.abc import Collection

from torch import Tensor

from viz_model.checkpoints.weights import Archive


class JoinedArchive:
    """The tensors of one archive, and of another those of ``names`` that it lacks."""

    def __init__(self, own: Archive, other: Archive, names: Collection[str]) -> None:
        self._own, self._other = own, other
        shared = {name: shape for name, shape in other.shapes.items() if name in names and name not in own.shapes}
        self.path, self.shapes = own.path, {**shared, **own.shapes}

    def read(self, name: str) -> Tensor:
        return (self._own if name in self._own.shapes else self._other).read(name)
