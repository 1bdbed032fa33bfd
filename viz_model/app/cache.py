"""What was computed, kept by what was asked for and shared by all visitors, within so many bytes.

Streamlit's own caches count entries. A trace takes from a hundred kilobytes to a hundred megabytes,
so that no number of entries is both useful for small models and safe for large ones.
"""

import contextlib
import dataclasses
import functools
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import numpy as np
import streamlit as st
import torch

from viz_model.app import run_lock

P = ParamSpec("P")
T = TypeVar("T")

MOST_KEPT = 400_000_000
"""Bytes of all runs, and of all numbers of them, that are kept for when they are asked for again."""

MISSING = object()


class Call(NamedTuple):
    """A call of a function: the key of its value."""

    function: str
    args: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...] = ()


class Store:
    """Values by key; of those used least recently so many leave that the rest takes at most ``most`` bytes.

    The value that was put in last always stays. Threads may share it.
    """

    def __init__(self, most: int) -> None:
        self.nbytes = 0
        self._most = most
        self._values: OrderedDict[Call, tuple[Any, int]] = OrderedDict()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Call) -> Any:
        """The value of ``key``, or :data:`MISSING`."""
        with self._lock:
            if key not in self._values:
                return MISSING
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Call, value: object, nbytes: int) -> list[Call]:
        """Keep a value; the keys of those that left to make room for it."""
        with self._lock:
            self.forget(lambda known: known == key)
            self._values[key] = (value, nbytes)
            self.nbytes += nbytes
            left = []
            while self.nbytes > self._most and len(self._values) > 1:
                gone, (_, size) = self._values.popitem(last=False)
                self.nbytes -= size
                left.append(gone)
            return left

    def forget(self, which: Callable[[Call], bool]) -> None:
        """Let go of the values whose key says so."""
        with self._lock:
            for key in filter(which, tuple(self._values)):
                self.nbytes -= self._values.pop(key)[1]


def store(name: str, most: int) -> Store:
    """The store of that name, shared by all that keep their values in it."""
    # Looked up at every call of what is kept: Streamlit would hash the arguments each time.
    known = _STORES.get((name, most))
    if known is None:
        known = _STORES[name, most] = _resource(name, most)
    return known


_STORES: dict[tuple[str, int], Store] = {}


def _released(gone: Store) -> None:
    for key in [key for key, known in _STORES.items() if known is gone]:
        _STORES.pop(key, None)


# Kept as a resource of Streamlit's, so that clearing its caches clears these too.
@st.cache_resource(show_spinner=False, on_release=_released)
def _resource(name: str, most: int) -> Store:
    return Store(most)


def nbytes(value: Any) -> int:
    """What a value takes, about: its arrays and tensors, and what its parts need beside them."""
    parts: Iterable[Any]
    if isinstance(value, np.ndarray | torch.Tensor):
        return int(value.nbytes)
    if isinstance(value, Mapping):
        parts = (part for pair in value.items() for part in pair)
    elif isinstance(value, tuple | list | set | frozenset):
        parts = value
    elif dataclasses.is_dataclass(value):
        parts = (getattr(value, field.name) for field in dataclasses.fields(value))
    else:
        return getattr(value, "nbytes", None) or sys.getsizeof(value)
    return sys.getsizeof(value) + sum(map(nbytes, parts))


class Cached(Generic[P, T]):
    """A function whose values are kept; see :func:`cached`."""

    def __init__(
        self,
        function: Callable[P, T],
        size: Callable[[T], int],
        where: tuple[str, int],
        lock: contextlib.AbstractContextManager[bool],
        leave: Callable[[Call], object] | None,
    ) -> None:
        self._function, self._size, self._where, self._lock, self._leave = function, size, where, lock, leave
        self._name = f"{function.__module__}.{function.__qualname__}"
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **named: P.kwargs) -> T:
        key, kept = self._key(*args, **named), store(*self._where)
        if (value := kept.get(key)) is not MISSING:
            return value
        with self._lock:
            if (value := kept.get(key)) is not MISSING:  # another thread has made it in the meantime
                return value
            value = self._function(*args, **named)
            left = kept.put(key, value, self._size(value))
        if self._leave is not None:
            for gone in left:
                self._leave(gone)
        return value

    def holds(self, *args: P.args, **named: P.kwargs) -> bool:
        """Whether the value of these arguments is kept."""
        return store(*self._where).get(self._key(*args, **named)) is not MISSING

    def _key(self, *args: P.args, **named: P.kwargs) -> Call:
        return Call(self._name, args, tuple(sorted(named.items())))

    def clear(self) -> None:
        """Let go of all values of this function."""
        store(*self._where).forget(lambda key: key.function == self._name)


def cached(
    *,
    size: Callable[[Any], int] = nbytes,
    where: tuple[str, int] = ("runs", MOST_KEPT),
    beside: bool = False,
    leave: Callable[[Call], object] | None = None,
) -> Callable[[Callable[P, T]], Cached[P, T]]:
    """Keep what a function returns, by its arguments: the key of a run, names and numbers.

    The arguments must be hashable, and equal ones must mean equal values: no arrays. The function is
    computed while no model runs for anybody else, and once where several ask for the same; it may ask
    for runs, and for what other such functions keep.

    Args:
        size: the bytes of a value.
        where: the name of a store, and how many bytes all functions together keep in it.
        beside: it takes long and needs no run, so that it is computed while others run their models.
        leave: called with every call whose value leaves to make room.
    """
    lock = run_lock.RunLock() if beside else run_lock.RUNNING
    return lambda function: Cached(function, size, where, lock, leave)
