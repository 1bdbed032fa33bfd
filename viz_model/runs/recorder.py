"""The recorder: a tap that keeps every value that the forward pass names, and makes the changes of interventions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from torch import Tensor

from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.model.tap import Scoped
from viz_model.runs import edits as interventions
from viz_model.runs.edits import ValueEdit


class Passing(Protocol):
    """What sees some of the values that are not kept."""

    def takes(self, name: str) -> bool: ...

    def __call__(self, name: str, value: Tensor) -> None: ...


class Recorder:
    """A tap that keeps the values it sees, detached, under their full names, and makes the changes.

    Args:
        known: the full names there may be.
        changes: interventions by the full name of the value that they change.
        kept: the full names to be kept, by default all.
        between: called where a block begins; what it raises ends the run.
        passing: called with the name and the value, as it goes on, of what it takes of all that is not kept.

    Raises:
        ValueError: the forward pass used a name twice, or one that is not known.
    """

    def __init__(
        self,
        known: frozenset[str],
        changes: Mapping[str, Sequence[ValueEdit]] | None = None,
        kept: frozenset[str] | None = None,
        between: Callable[[], None] | None = None,
        passing: Passing | None = None,
    ) -> None:
        self.values: dict[str, Tensor] = {}
        self._known = known
        self._kept = known if kept is None else kept
        self._changes = changes or {}
        self._between = between
        self._passing = passing
        self._seen: set[str] = set()

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if name in self._seen:
            raise ValueError(f"site {name!r} was recorded twice")
        if name not in self._known:
            raise ValueError(f"site {name!r} is not in the registry")
        self._seen.add(name)
        if self._between is not None and name.endswith(".resid.in"):
            self._between()
        value = interventions.apply(self._changes, name, value, self.values)
        if name in self._kept:
            self.values[name] = value.detach()
        elif self._passing is not None and self._passing.takes(name):
            self._passing(name, value.detach())
        return value

    def at(self, prefix: str) -> Scoped:
        return Scoped(self, prefix)

    def changes(self, name: str) -> bool:
        return name in self._changes

    def ignores(self, name: str) -> bool:
        """Whether the value is neither changed nor kept nor noted."""
        is_noted = self._passing is not None and self._passing.takes(name)
        return not (is_noted or name in self._kept or name in self._changes)


def recorder(
    config: ModelConfig,
    changes: Mapping[str, Sequence[ValueEdit]] | None = None,
    kept: frozenset[str] | None = None,
    between: Callable[[], None] | None = None,
    passing: Passing | None = None,
) -> Recorder:
    """A recorder of the values that a run of this config names, and of those that are formed only to be changed.

    ``kept`` are the names to be kept of the former, by default all; the latter are kept in any case.
    """
    formed: set[str] = set()
    for name in changes or {}:
        formed |= {name, f"{name.removesuffix('pattern')}masked"} if name.endswith(".pattern") else set()
    known = sites.recorded(config) | formed
    return Recorder(known, changes, None if kept is None else kept | formed, between, passing)
