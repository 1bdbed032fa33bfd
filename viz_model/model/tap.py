"""The tap: how a value inside the forward pass gets a name.

Forward functions take a ``tap`` and pass every value worth naming through it,
``q = tap("q", self.q(x))``. The default tap returns the value and does nothing else. A recorder
(:mod:`viz_model.runs.trace`) keeps what it is shown; an intervention returns another tensor.

Traced code never works in place: what a recorder keeps are aliases, not copies.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class Tap(Protocol):
    """Sees each named value once, and returns the value to go on with."""

    def __call__(self, name: str, value: Tensor) -> Tensor: ...

    def at(self, prefix: str) -> "Tap":
        """The same tap with ``prefix.`` before every name."""
        ...

    def changes(self, name: str) -> bool:
        """Whether it will return another value than the one of this name.

        The forward pass asks only before steps that it fuses: a value that nobody changes need not be formed.
        """
        ...


def ignores(tap: Tap, name: str) -> bool:
    """Whether a tap makes nothing of the value of a name, whose numbers then need not be made readable for it."""
    found = getattr(tap, "ignores", None)
    return found is not None and bool(found(name))


class _NoTap:
    def __call__(self, name: str, value: Tensor) -> Tensor:
        return value

    def at(self, prefix: str) -> "_NoTap":
        return self

    def changes(self, name: str) -> bool:
        return False


NO_TAP: Tap = _NoTap()


@dataclass(frozen=True)
class Scoped:
    """A tap that is told every name with a prefix before it."""

    tap: Tap
    prefix: str

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return self.tap(f"{self.prefix}.{name}", value)

    def at(self, prefix: str) -> "Scoped":
        return Scoped(self.tap, f"{self.prefix}.{prefix}")

    def changes(self, name: str) -> bool:
        return self.tap.changes(f"{self.prefix}.{name}")

    def ignores(self, name: str) -> bool:
        return ignores(self.tap, f"{self.prefix}.{name}")
