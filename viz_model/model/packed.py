"""Matrices that stay quantized: a tensor that is numbers only while something reads it, a few rows at a time if it can.

Whatever PyTorch is asked to do with one, it does with the numbers, in single precision, which are then forgotten.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils._pytree import tree_map

MOST_DENSE = 2**26
"""Numbers that a product makes of a matrix at a time: 256 MB."""
Widen = Callable[[np.ndarray], Tensor]

_ROWS: Any = torch.ops.aten


class Packed(Tensor):
    """A matrix [R, C] of which rows of bytes [R, N] are kept, and what makes numbers [.., C] of some of them."""

    _bytes: np.ndarray
    _widen: Widen

    @staticmethod
    def __new__(cls, rows: np.ndarray, width: int, widen: Widen) -> "Packed":
        made: Packed = Tensor._make_wrapper_subclass(cls, (len(rows), width), dtype=torch.float32)
        made._bytes, made._widen = rows, widen
        return made

    @property
    def n_bytes(self) -> int:
        """What is kept of it."""
        return int(self._bytes.nbytes)

    def dense(self, rows: slice | np.ndarray = slice(None)) -> Tensor:
        """Some rows as numbers: float32 [.., C]."""
        return self._widen(self._bytes[rows])

    def parts(self) -> Iterator[Tensor]:
        """All its numbers, some rows at a time."""
        step = max(1, MOST_DENSE // self.shape[1])
        return (self.dense(slice(n, n + step)) for n in range(0, len(self), step))

    def cut(self, sizes: Sequence[int]) -> "list[Packed]":
        """It in pieces of so many rows."""
        ends = np.cumsum(sizes)[:-1]
        return [Packed(rows, self.shape[1], self._widen) for rows in np.split(self._bytes, ends)]

    def alias(self) -> "Packed":
        """The same under another name."""
        return Packed(self._bytes, self.shape[1], self._widen)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.dense()  # a copy is made to be changed

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.dense().__reduce_ex__(protocol)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        with torch._C.DisableTorchFunctionSubclass():
            if func is F.linear and len(args) > 1 and isinstance(args[1], Packed):
                return _linear(args[0], args[1], args[2] if len(args) > 2 else named.get("bias"))
            return func(*args, **named)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # as PyTorch calls it
        cls, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        first = args[0]
        if func in (_ROWS.detach.default, _ROWS.alias.default):
            return first.alias()
        if isinstance(first, Packed):
            match func, args[1:]:
                case _ROWS.embedding.default, (ids, *_):
                    return first.dense(ids.numpy())
                case _ROWS.select.int, (0, row):
                    return first.dense(slice(row, row + 1 or None))[0]
                case _ROWS.slice.Tensor, (0, *ends):
                    return first.dense(slice(*ends))
        return func(*tree_map(_dense, args), **tree_map(_dense, kwargs or {}))


def _linear(x: Tensor, weight: Packed, bias: Tensor | None) -> Tensor:
    """x·Wᵀ + b, some rows of W at a time."""
    parts = [F.linear(x, some) for some in weight.parts()]
    made = parts[0] if len(parts) == 1 else torch.cat(parts, -1)
    return made if bias is None else made + bias


def _dense(value: Any) -> Any:
    return value.dense() if isinstance(value, Packed) else value
