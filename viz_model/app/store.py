"""Caches that are bounded in bytes: what was computed and is large, shared by all visitors.

Streamlit's own caches count entries. A trace takes from a hundred kilobytes to a hundred megabytes,
so that no number of entries is both useful for small models and safe for large ones.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, cast

import streamlit as st

P = ParamSpec("P")
T = TypeVar("T")


class Call(NamedTuple):
    """A call of a function: the key of its value."""

    function: str
    args: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...] = ()


class Store:
    """Values by key; of those used least recently so many leave that the rest takes at most ``most`` bytes.

    The value that was put in last always stays. Threads may share it; two that ask for the same key at
    the same time get the same value, computed once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Call, tuple[Any, int]] = OrderedDict()
        self._making: dict[Call, threading.Lock] = {}
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """What the values take together."""
        with self._lock:
            return sum(size for _, size in self._values.values())

    def __len__(self) -> int:
        return len(self._values)

    def get(
        self,
        key: Call,
        make: Callable[[], T],
        size: Callable[[T], int],
        leave: Callable[[Call], object] | None = None,
    ) -> T:
        """The value of ``key``, made if it is not there.

        Args:
            size: the bytes of a value.
            leave: called with the key of every value that leaves to make room for this one.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return cast(T, self._values[key][0])
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._values:  # another thread has made it in the meantime
                    return cast(T, self._values[key][0])
            try:
                value = make()
                with self._lock:
                    self._values[key] = (value, size(value))
                    left = self._make_room()
            finally:
                self._making.pop(key, None)
        if leave is not None:
            for gone in left:
                leave(gone)
        return value

    def forget(self, which: Callable[[Call], bool]) -> None:
        """Let go of the values whose key says so."""
        with self._lock:
            for key in [key for key in self._values if which(key)]:
                del self._values[key]

    def _make_room(self) -> list[Call]:
        total = sum(size for _, size in self._values.values())
        left = []
        while total > self._most and len(self._values) > 1:
            key, (_, size) = self._values.popitem(last=False)
            left.append(key)
            total -= size
        return left


# Kept as a resource of Streamlit's, so that clearing its caches clears these too.
@st.cache_resource(show_spinner=False)
def store(name: str, most: int) -> Store:
    """The store of that name, shared by all that keep their values in it."""
    return Store(most)


class Kept(Generic[P, T]):
    """A function whose values are kept in a store; see :func:`kept`."""

    def __init__(
        self,
        function: Callable[P, T],
        where: tuple[str, int],
        size: Callable[[T], int],
        leave: Callable[[Call], object] | None,
    ) -> None:
        self._function, self._where, self._size, self._leave = function, where, size, leave
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **named: P.kwargs) -> T:
        key = Call(self._function.__qualname__, args, tuple(sorted(named.items())))
        make = functools.partial(self._function, *args, **named)
        return store(*self._where).get(key, make, self._size, self._leave)

    def clear(self) -> None:
        """Let go of all values of this function."""
        store(*self._where).forget(lambda key: key.function == self._function.__qualname__)


def kept(
    name: str, *, most: int, size: Callable[[Any], int], leave: Callable[[Call], object] | None = None
) -> Callable[[Callable[P, T]], Kept[P, T]]:
    """Keep what a function returns, by its arguments, in the store ``name`` of at most ``most`` bytes.

    The arguments are the key, so they must be hashable, and equal ones must mean equal values: no
    tensors. Functions may share a store, and then share its bytes.
    """
    return lambda function: Kept(function, (name, most), size, leave)
