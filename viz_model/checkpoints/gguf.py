"""GGUF files, as llama.cpp reads them: metadata, tensor table and tensors in one file, often quantised.

The header is walked here rather than by ``gguf.GGUFReader``, which trusts the lengths that a file
declares and makes an array of every token; undoing the quantisation is left to ``gguf``. The
layout is that of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

from __future__ import annotations

import functools
import math
import mmap
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gguf
import numpy as np
import torch
from torch import Tensor

from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.weights import ModelError, Rename, fill, one_line, rename
from viz_model.config import (
    ConfigError,
    Gated,
    LanguageHead,
    LinearScaling,
    Llama3Scaling,
    ModelConfig,
    RMSNorm,
    Rope,
    RopeScaling,
    YarnScaling,
)
from viz_model.model import ops
from viz_model.model.positions import scale_frequencies
from viz_model.runs.language_model import LanguageModel
from viz_model.tokenizers import reading as tokenizers

# A vocabulary of 2^18 tokens with its merges takes some 16 MB.
MAX_HEADER_BYTES = 2**26
MAX_DIMENSIONS = 4
MAX_NAME = 128
DEFAULT_ALIGNMENT = 32
ROPE_FACTORS = "rope_freqs.weight"

# Fields of ModelConfig as the metadata calls them, after the name of the architecture.
NAMES = {
    "n_context": "context_length",
    "n_layers": "block_count",
    "d_model": "embedding_length",
    "n_heads": "attention.head_count",
    "n_kv_heads": "attention.head_count_kv",
    "d_head": "attention.key_length",
    "d_ffn": "feed_forward_length",
    "norm": "attention.layer_norm_rms_epsilon",
    "position": "rope",
}


@dataclass(frozen=True)
class Architecture:
    """What tells architectures apart that have Llama's block.

    Attributes:
        pairing: llama.cpp's converter reorders the rows of Llama's q and k so that its pairs are
            neighbours, and leaves those of the others alone.
        qk_norm: whether every head's query and key are normalised.
    """

    pairing: Literal["interleaved", "halves"]
    qk_norm: bool = False


ARCHITECTURES = {
    "llama": Architecture("interleaved"),
    "qwen2": Architecture("halves"),
    "qwen3": Architecture("halves", qk_norm=True),
}


def load_gguf(path: Path) -> LanguageModel:
    """Load a GGUF file of one of :data:`ARCHITECTURES`.

    Raises:
        ModelError: not a GGUF file, or damaged; an architecture, a metadata field that changes the
            computation, or a quantisation that is not supported; tensors that do not fit. The
            message names file and field or tensor.
    """
    archive = GgufArchive(path)
    config = read_config(archive)
    tokenizer = tokenizers.from_gguf(archive.metadata, path, config.n_vocab)
    model = fill(config, archive, renames(config))
    return LanguageModel(name=path.stem, model=model, tokenizer=tokenizer, twin=None, folder=path.parent)


def read_config(archive: GgufArchive) -> ModelConfig:
    """The config that the metadata describes.

    Raises:
        ModelError: an unknown architecture, a field that is not supported, or sizes of no model.
    """
    general = Attributes(archive.metadata, archive.path)
    name = general.choice("general.architecture", {name: name for name in ARCHITECTURES})
    general.one_value("general.type", "model")
    if archive.metadata.get("split.count", 1) not in (0, 1):
        raise ModelError(f"{archive.path}: split.count: one part of several; join them with llama-gguf-split --merge")
    own = {key[len(name) + 1 :]: value for key, value in archive.metadata.items() if key.startswith(f"{name}.")}
    attributes = Attributes(own, archive.path, within=f"{name}.")
    try:
        config = _config(attributes, ARCHITECTURES[name], archive)
    except ConfigError as error:
        field, _, rest = str(error).partition(":")
        place = f"{name}.{NAMES[field]}" if field in NAMES else field
        raise ModelError(f"{archive.path}: {place}:{rest}") from None
    attributes.finish()
    return config


def _config(a: Attributes, architecture: Architecture, archive: GgufArchive) -> ModelConfig:
    for name, only in {"attention.causal": True, "expert_count": 0, "expert_used_count": 0}.items():
        a.one_value(name, only)
    # The table of embeddings says how many tokens there are.
    a.no_effect(["vocab_size", "tensor_data_layout", "rope.scaling.finetuned"])
    if len(table := archive.shapes.get("token_embd.weight", ())) != 2:
        raise ModelError(f"{archive.path}: tensor 'token_embd.weight' is missing, or is no table")
    n_heads = a.size("attention.head_count")
    d_model = a.size("embedding_length")
    d_head = a.size("attention.key_length", 0 if d_model % n_heads else d_model // n_heads, at_least=0)
    config = ModelConfig(
        n_vocab=table[0],
        n_context=a.size("context_length"),
        n_layers=a.size("block_count"),
        d_model=d_model,
        n_heads=n_heads,
        n_kv_heads=a.size("attention.head_count_kv", n_heads),
        d_head=d_head,
        d_ffn=a.size("feed_forward_length"),
        norm=RMSNorm(eps=a.number("attention.layer_norm_rms_epsilon")),
        position=_rope(a, architecture, archive, d_head),
        ffn=Gated(activation="silu", bias="blk.0.ffn_up.bias" in archive.shapes),
        head=LanguageHead(),
        attention_bias="blk.0.attn_q.bias" in archive.shapes,
        attention_out_bias="blk.0.attn_output.bias" in archive.shapes,
        qk_norm=architecture.qk_norm,
        tie_embeddings="output.weight" not in archive.shapes,
        scale_embedding=False,
    )
    for name in ("attention.value_length", "rope.dimension_count"):
        a.one_value(name, config.d_head)
    return config


def _rope(a: Attributes, architecture: Architecture, archive: GgufArchive, d_head: int) -> Rope:
    base = a.number("rope.freq_base", 10_000.0)
    scaling = _scaling(a)
    if ROPE_FACTORS in archive.shapes:
        if scaling is not None:
            raise ModelError(
                f"{archive.path}: tensor {ROPE_FACTORS!r} stands beside rope.scaling, expected one of them"
            )
        scaling = _llama3_scaling(archive, base, d_head)
    return Rope(base=base, pairing=architecture.pairing, scaling=scaling)


def _scaling(a: Attributes) -> RopeScaling | None:
    """What the metadata says of stretched positions. A factor without a type is linear, as in llama.cpp."""
    kind = a.choice("rope.scaling.type", {word: word for word in ("none", "linear", "yarn")}, "linear")
    factor = a.number("rope.scaling.factor", 1.0)
    for name, only in {"attn_factor": 1.0, "yarn_beta_fast": 32.0, "yarn_beta_slow": 1.0}.items():
        a.one_value(f"rope.scaling.{name}", only)
    original = a.size("rope.scaling.original_context_length", a.size("context_length"))
    if kind == "yarn":
        return YarnScaling(factor=factor, original_context=original)
    # 0 stands for no factor.
    return LinearScaling(factor=factor) if kind == "linear" and factor not in (0, 1) else None


def _llama3_scaling(archive: GgufArchive, base: float, d_head: int) -> Llama3Scaling | None:
    """The scaling of Llama 3.1 and later, of which a file holds only what it does to each frequency.

    Raises:
        ModelError: these are not the numbers that Llama 3.1's settings give.
    """
    if archive.shapes[ROPE_FACTORS] != (d_head // 2,):
        found = list(archive.shapes[ROPE_FACTORS])
        raise ModelError(f"{archive.path}: {ROPE_FACTORS} has shape {found}, expected [{d_head // 2}]")
    stored = archive.read(ROPE_FACTORS).double()
    if (stored == 1).all():
        return None
    frequencies = ops.rotary_frequencies(2 * len(stored), base)
    scaling = Llama3Scaling(factor=float(stored[-1]), low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192)
    scaled, _ = scale_frequencies(frequencies, Rope(base=base, scaling=scaling))
    if not torch.allclose(frequencies / scaled, stored, rtol=1e-5, atol=0):
        raise ModelError(f"{archive.path}: tensor {ROPE_FACTORS!r} holds other factors than those of Llama 3.1")
    return scaling


def renames(config: ModelConfig) -> list[Rename]:
    """What llama.cpp's names are here. The norm of a block's second half is named after that half."""
    theirs, ours = "blk.{layer}.", "decoder.blocks.{layer}."
    attention = {"attn_q": "q", "attn_k": "k", "attn_v": "v", "attn_output": "o"}
    return [
        rename("token_embd.weight", "embedding.weight"),
        rename(f"{theirs}attn_norm.weight", f"{ours}attn_norm.weight"),
        *(rename(f"{theirs}{name}.*", f"{ours}attn.{part}.*") for name, part in attention.items()),
        *(rename(f"{theirs}attn_{part}_norm.weight", f"{ours}attn.qk_norm.{part}.weight") for part in "qk"),
        rename(f"{theirs}ffn_norm.weight", f"{ours}ffn_norm.weight"),
        *(rename(f"{theirs}ffn_{part}.*", f"{ours}ffn.{part}.*") for part in ("gate", "up", "down")),
        rename("output_norm.weight", "decoder.final_norm.weight"),
        rename("output.weight", "head.unembedding.weight"),
        Rename(ROPE_FACTORS, (), because="read for the config"),
    ]


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
            allows, or a quantisation that cannot be undone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            if path.exists() and not path.is_file():
                raise ModelError(f"{path}: not a file")
            with path.open("rb") as file:
                magic = file.read(4)
                if magic != b"GGUF":
                    raise ModelError(f"{path}: not a GGUF file: it begins with {magic!r}")
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise ModelError(f"{path}: {one_line(error)}") from None
        header = _Header(self._data, path)
        self.metadata = header.metadata()
        alignment = self.metadata.get("general.alignment", DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise ModelError(f"{path}: general.alignment: expected a whole number of at least 1, got {alignment!r:.80}")
        self._tensors = header.tensors(alignment)
        self._shapes = {name: stored.shape for name, stored in self._tensors.items()}

    @property
    def path(self) -> Path:
        return self._path

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return self._shapes

    def read(self, name: str) -> Tensor:
        stored = self._tensors[name]
        raw = np.frombuffer(self._data, np.uint8, stored.n_bytes, stored.start)
        rows = raw.reshape(*stored.shape[:-1], -1)
        with np.errstate(all="ignore"):  # fill refuses what is not finite, by name
            values = gguf.quants.dequantize(rows, stored.kind)
        # The file's own bytes are read-only, and stay so.
        return torch.from_numpy(np.require(values, np.float32, ["C", "ALIGNED", "WRITEABLE"]))


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
            raise ModelError(f"{self.path}: tensor {name!r} is quantised as {_kind_name(kind)}, which is not supported")
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
    """Numbers and bytes in a block of a quantisation, or None where gguf cannot undo it."""
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
