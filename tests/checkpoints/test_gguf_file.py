"""Files that are no GGUF, or damaged: one line each, in no time and no memory."""

from __future__ import annotations

import random
import resource
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from checkpoint_makers import Reference
from gguf_files import read, refused, write

from viz_model.checkpoints.weights import ModelError

LLAMA = Reference("LlamaForCausalLM", {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2})


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def header(fields: bytes = b"", n_fields: int = 0, tensors: bytes = b"", n_tensors: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, n_tensors, n_fields) + fields + tensors


def field(key: bytes, kind: int, value: bytes) -> bytes:
    return header(text(key) + struct.pack("<I", kind) + value, 1)


def tensor(name: bytes, shape: list[int], kind: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


HUGE = struct.pack("<Q", 2**63)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "not a GGUF file"),
        (b"PK\x03\x04" + bytes(100), "not a GGUF file"),
        (b"GGUF", "the file ends"),
        (header(version=1), "version 1"),
        (header(version=3 << 24), "little-endian"),
        (header(n_fields=2**62), "field 1 of"),
        (header(n_tensors=2**62), "tensor 1 of"),
        (field(b"a", 8, HUGE), "a: the file ends"),
        (field(b"a", 8, text(b"\xff\xfe")), "utf-8"),
        (field(b"a", 9, struct.pack("<IQ", 8, 10**12)), "a: the file ends"),
        (field(b"a", 9, struct.pack("<IQ", 8, 2**64 - 1)), "a: the file ends"),
        (field(b"a", 9, struct.pack("<IQ", 9, 1)), "type 9 in an array"),
        (field(b"a", 13, b""), "type 13"),
        (field(b"a\nb", 4, bytes(4)), "'a\\nb'"),
        (field(b"a" * 1000, 4, bytes(4)), "no name of its own"),
        (header((text(b"a") + struct.pack("<IB", 0, 1)) * 2, 2), "no name of its own"),
        (header(tensors=tensor(b"a", [2**20, 2**20]), n_tensors=1), "cut off"),
        (header(tensors=tensor(b"a", [2**63, 2**63, 2**63, 2**63]), n_tensors=1), "cut off"),
        (header(tensors=tensor(b"a", [1] * 5), n_tensors=1), "5 axes"),
        (header(tensors=tensor(b"a", [0, 4]), n_tensors=1), "shape [4, 0]"),
        (header(tensors=tensor(b"a", [33], kind=3), n_tensors=1), "rows of 32"),
        (header(tensors=tensor(b"a", [32], kind=99), n_tensors=1), "type 99"),
        (header(tensors=tensor(b"a", [32], kind=26), n_tensors=1), "I32"),
        (header(tensors=tensor(b"a", [4]) + tensor(b"a", [4]), n_tensors=2) + bytes(99), "no name of its own"),
        (header(tensors=tensor(b"a", [32]) + tensor(b"b", [32]), n_tensors=2) + bytes(200), "more bytes than"),
        (field(b"general.alignment", 4, bytes(4)), "general.alignment"),
        (header(), "general.architecture"),
    ],
)
def test_hostile_headers(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(content)
    began = time.monotonic()
    refused(path, part)
    assert time.monotonic() - began < 1


def test_a_file_cut_or_damaged_anywhere(tmp_path: Path) -> None:
    path = write(tmp_path / "tiny.gguf", LLAMA.build())
    whole, draw = path.read_bytes(), random.Random(1)
    for keep in [*range(0, 4000, 37), *range(4000, len(whole), 9973), len(whole) - 1]:
        path.write_bytes(whole[:keep])
        refused(path)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(draw.randint(1, 3)):
            damaged[draw.randrange(4, 3500)] = draw.choice([0, 1, 9, 127, 255, draw.randrange(256)])
        path.write_bytes(damaged)
        try:
            read(path)
        except ModelError as error:
            assert str(error).isprintable()


def test_a_config_larger_than_its_weights_costs_no_memory(tmp_path: Path) -> None:
    # Within the limits of a config, and 300 GB if it were built.
    sizes = {"block_count": 512, "embedding_length": 2**12, "attention.head_count": 2**4, "feed_forward_length": 2**14}
    gone: dict[str, Any] = {f"llama.{name}": ... for name in ("attention.key_length", "attention.value_length")}
    gone |= {"llama.rope.dimension_count": ...}
    changes = gone | {f"llama.{name}": size for name, size in sizes.items()}
    path = write(tmp_path / "a.gguf", LLAMA.build(), changes=changes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(path, "blk.2.attn_norm.weight", "missing")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
