"""The other positions of a text, for a layer that is no attention and reads them all the same."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Neighbors:
    """What lies around the positions that a layer is given: all of a text, or with a cache the new ones alone.

    Nothing is read of padding, nor before the first position: there stands 0.

    Attributes:
        start: the place of the first position that is given.
        padding: [B, Tk], True on positions that nobody may look at.
        kept: what earlier calls read, by name; None without a cache.
    """

    start: int = 0
    padding: Tensor | None = None
    kept: dict[str, Tensor] | None = None

    def near(self, name: str, x: Tensor, before: int) -> Tensor:
        """Vectors [.., T, N] with those of the positions before them: [.., before + T, N]."""
        x = self._real(x)
        held = None if self.kept is None else self.kept.get(name)
        if held is None:
            held = x.new_zeros(*x.shape[:-2], before, x.shape[-1])
        found = torch.cat((held, x), dim=-2)
        if self.kept is not None:
            self.kept[name] = found[..., found.shape[-2] - before :, :]
        return found

    def all(self, name: str, x: Tensor) -> Tensor:
        """Vectors [.., T, N] with those of all positions so far: [.., start + T, N]."""
        x = self._real(x)
        if self.kept is None:
            return x
        held = self.kept.get(name)
        self.kept[name] = x if held is None else torch.cat((held, x), dim=-2)
        return self.kept[name]

    def hidden(self, length: int) -> Tensor | None:
        """Which of ``length`` positions are padding, [B, 1, T]; None where none are."""
        return None if self.padding is None else self.padding[..., None, self.start : self.start + length]

    def _real(self, x: Tensor) -> Tensor:
        own = self.hidden(x.shape[-2])
        return x if own is None else x.masked_fill(own.mT, 0.0)


ALONE = Neighbors()
