"""The file of GGUF: metadata, tensor table and tensors, often quantized.

The header is walked here rather than by ``gguf.GGUFReader``, which trusts the lengths that a file
declares and makes an array of every token; undoing the quantization is left to ``gguf``. The
layout is that of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

import functools
import math
import mmap
import struct
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from torch import Tensor

from viz_model.checkpoints.weights import ModelError, check_fetched, one_line
from viz_model.model.packed import Packed

# A vocabulary of 2^18 tokens with its merges takes some 16 MB.
MAX_HEADER_BYTES = 2**26
MAX_DIMENSIONS = 4
MAX_NAME = 128
DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True)
class _Stored:
    """A tensor as it lies in the file; ``shape`` has the outermost axis first, as everywhere but in GGUF."""

    shape: tuple[int, ...]
    kind: gguf.GGMLQuantizationType
    start: int
    n_bytes: int


class GgufArchive:
    """The metadata and tensors of a GGUF file. Opening reads the header alone and maps the rest.

    Raises:
        ModelError: not a GGUF file, another version, damaged, longer than its own description
            allows, or a quantization that cannot be undone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if path.exists() and not path.is_file():
                raise ModelError(f"{path}: not a file")
            with path.open("rb") as file:
                check_fetched(path, start := file.read(64))
                if (magic := start[:4]) != b"GGUF":
                    raise ModelError(f"{path}: not a GGUF file: it begins with {magic!r}")
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except OSError as error:
            raise ModelError(f"{path}: {one_line(error)}") from None
        header = _Header(self._data, path)
        self.metadata = header.metadata()
        alignment = self.metadata.get("general.alignment", DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise ModelError(f"{path}: general.alignment: expected a whole number of at least 1, got {alignment!r:.80}")
        self._tensors = header.tensors(alignment)
        self.shapes = {name: stored.shape for name, stored in self._tensors.items()}
        sizes = Counter[torch.dtype]()
        for stored in self._tensors.values():
            sizes[_HALVES.get(stored.kind, torch.float32)] += math.prod(stored.shape)
        self.dtype = sizes.most_common(1)[0][0] if sizes else torch.float32

    def read(self, name: str) -> Tensor:
        stored = self._tensors[name]
        if stored.kind in _HALVES:
            return torch.from_numpy(self._rows(stored)).view(_HALVES[stored.kind]).reshape(stored.shape)
        return _numbers(self._rows(stored), stored.kind)

    def packed(self, name: str) -> Packed | None:
        """A quantized matrix as it is, the rows of more axes than two one after the other; None for another tensor."""
        stored = self._tensors[name]
        if len(stored.shape) < 2 or stored.kind in _HALVES or stored.kind == gguf.GGMLQuantizationType.F32:
            return None
        rows = self._rows(stored)
        return Packed(rows.reshape(-1, rows.shape[-1]), stored.shape[-1], partial(_numbers, kind=stored.kind))

    def _rows(self, stored: _Stored) -> np.ndarray:
        raw = np.frombuffer(self._data, np.uint8, stored.n_bytes, stored.start)
        return raw.reshape(*stored.shape[:-1], -1)


_HALVES = {gguf.GGMLQuantizationType.F16: torch.float16, gguf.GGMLQuantizationType.BF16: torch.bfloat16}


def _numbers(rows: np.ndarray, kind: gguf.GGMLQuantizationType) -> Tensor:
    """Rows of blocks, uint8 [.., N], as numbers: float32 [.., C]."""
    with np.errstate(all="ignore"):  # fill refuses what is not finite, by name
        values = gguf.quants.dequantize(np.ascontiguousarray(rows), kind)
    # The file's own bytes stay as they are.
    return torch.from_numpy(np.array(values, np.float32) if np.shares_memory(values, rows) else values)


_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


class _Header:
    """A walk over a header in which every declared length is compared with the bytes that are there."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self.data, self.path, self.at, self.place = data, path, 4, "the header"
        self.end = min(len(data), MAX_HEADER_BYTES)
        version = self._number("I")
        if version not in (2, 3):
            raise ModelError(f"{path}: GGUF version {version}, expected 2 or 3 in little-endian order")
        self.n_tensors, self.n_fields = self._number("Q"), self._number("Q")

    def metadata(self) -> dict[str, Any]:
        """All fields, in the file's order."""
        found: dict[str, Any] = {}
        for n in range(self.n_fields):
            self.place = f"metadata field {n + 1} of {self.n_fields}"
            self.place = name = self._name(found)
            found[name] = self._value(self._number("I"))
        return found

    def tensors(self, alignment: int) -> dict[str, _Stored]:
        """The table of tensors, which follows the metadata; their data begin after it."""
        table: dict[str, tuple[tuple[int, ...], int, int]] = {}
        for n in range(self.n_tensors):
            self.place = f"tensor {n + 1} of {self.n_tensors}"
            name = self._name(table)
            self.place = f"tensor {name!r}"
            if (n_axes := self._number("I")) > MAX_DIMENSIONS:
                raise ModelError(f"{self.path}: {self.place} has {n_axes} axes, expected at most {MAX_DIMENSIONS}")
            shape = tuple(self._number("Q") for _ in range(n_axes))[::-1]
            table[name] = (shape, self._number("I"), self._number("Q"))
        start = -(-self.at // alignment) * alignment
        found = {name: self._stored(name, shape, kind, start + offset) for name, (shape, kind, offset) in table.items()}
        # Tensors that share bytes would let a small file describe a huge model.
        if sum(stored.n_bytes for stored in found.values()) > max(0, len(self.data) - start):
            raise ModelError(f"{self.path}: the tensors take more bytes than the file has")
        return found

    def _stored(self, name: str, shape: tuple[int, ...], kind: int, start: int) -> _Stored:
        block, n_bytes = _block(kind) or (0, 0)
        if not block:
            raise ModelError(f"{self.path}: tensor {name!r} is quantized as {_kind_name(kind)}, which is not supported")
        if not shape or min(shape) < 1 or shape[-1] % block:
            raise ModelError(f"{self.path}: tensor {name!r} has shape {list(shape)}, expected rows of {block} × n")
        size = math.prod(shape) // block * n_bytes
        if start + size > len(self.data):
            raise ModelError(
                f"{self.path}: tensor {name!r} ends at byte {start + size}, but the file at {len(self.data)}: cut off?"
            )
        return _Stored(shape, gguf.GGMLQuantizationType(kind), start, size)

    def _take(self, n_bytes: int) -> int:
        """Step over so many bytes, and say where they begin."""
        begin = self.at
        if n_bytes > self.end - begin:
            what = "the file ends" if self.end == len(self.data) else f"a header of {self.end} bytes is too long"
            raise ModelError(f"{self.path}: {self.place}: {what} before its {n_bytes} bytes do")
        self.at += n_bytes
        return begin

    def _number(self, code: str) -> Any:
        return struct.unpack_from("<" + code, self.data, self._take(struct.calcsize("<" + code)))[0]

    def _string(self) -> str:
        begin = self._take(self._number("Q"))
        try:
            return self.data[begin : self.at].decode()
        except UnicodeDecodeError as error:
            raise ModelError(f"{self.path}: {self.place}: {one_line(error)}"[:300]) from None

    def _name(self, known: Collection[str]) -> str:
        name = self._string()
        if not name.isprintable() or len(name) > MAX_NAME or name in known:
            raise ModelError(f"{self.path}: {self.place} has no name of its own: {name[:MAX_NAME]!r}")
        return name

    def _value(self, kind: int) -> Any:
        if kind in _SCALARS:
            value = self._number(_SCALARS[kind])
            # The shortest decimal of this single-precision number is the one that was written: 1e-05.
            return float(str(np.float32(value))) if _SCALARS[kind] == "f" else value
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            raise ModelError(f"{self.path}: {self.place}: unknown type {kind}")
        kind, length = self._number("I"), self._number("Q")
        if kind == _STRING:
            # A string is at least its length, so that a huge array cannot fit.
            self._take(8 * length)
            self.at -= 8 * length
            return [self._string() for _ in range(length)]
        if kind not in _SCALARS:
            raise ModelError(f"{self.path}: {self.place}: unknown type {kind} in an array")
        code = f"<{length}{_SCALARS[kind]}"
        begin = self._take(length * struct.calcsize("<" + _SCALARS[kind]))
        return list(struct.unpack_from(code, self.data, begin))


@functools.cache
def _block(kind: int) -> tuple[int, int] | None:
    """Numbers and bytes in a block of a quantization, or None where gguf cannot undo it."""
    try:
        known = gguf.GGMLQuantizationType(kind)
        block, n_bytes = gguf.GGML_QUANT_SIZES[known]
        gguf.quants.dequantize(np.zeros((1, n_bytes), np.uint8), known)
    except (KeyError, ValueError, NotImplementedError):
        return None
    return block, n_bytes


def _kind_name(kind: int) -> str:
    try:
        return gguf.GGMLQuantizationType(kind).name
    except ValueError:
        return f"type {kind}"
