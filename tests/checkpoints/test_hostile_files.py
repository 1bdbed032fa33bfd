"""Files made to do harm: one line each, at once, and no memory; more of them stand beside each format's own tests."""

import base64
import json
import math
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkpoint_makers import refused

import viz_model as vm
from viz_model.checkpoints import registry
from viz_model.checkpoints.weights import ModelError

HOSTILE: tuple[Any, ...] = (
    *(math.nan, math.inf, -1, 0, 3, 0.5, 1e308, 2**31, -(2**63), 10**30),
    *("", "../../etc/passwd", "\ud800", None, [], {}, True, [[[]]], {"type": "Rope", "base": math.nan}),
)


@pytest.fixture
def folder(family_folder: Path, tmp_path: Path) -> Path:
    """A folder of links to the files of a small model, each of which a test can put another in place of."""
    for path in (family_folder / "tiny-qwen3").iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


def put(folder: Path, name: str, data: bytes) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_bytes(data)


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a JSON value that holds another."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


@pytest.mark.parametrize("name", ["tiny-t5", "tiny-bert", "tiny-qwen3", "tiny-llama-ids", "tiny-translator"])
def test_any_value_anywhere_in_a_config_is_read_or_refused(family_folder: Path, name: str, tmp_path: Path) -> None:
    for path in (family_folder / name).iterdir():
        (tmp_path / path.name).symlink_to(path)
    text, draw, n_refused = ((family_folder / name) / "config.json").read_text(), random.Random(name), 0
    for place in list(places(json.loads(text))):
        for value in draw.sample(HOSTILE, 3):
            plain = json.loads(text)
            node = plain
            for key in place[:-1]:
                node = node[key]
            node[place[-1]] = value
            put(tmp_path, "config.json", json.dumps(plain).encode())
            try:
                registry._read_config(tmp_path)
            except ModelError as error:
                n_refused += 1
                assert str(error).startswith(str(tmp_path)) and "\n" not in str(error)
                assert len(str(error)) < len(str(tmp_path)) + 700
    assert n_refused > 30


def safetensors(header: str | dict[str, Any], data: bytes = b"") -> bytes:
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(begin: int, end: int, shape: list[int], dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    "data",
    [
        (2**60).to_bytes(8, "little") + b"{}",
        safetensors({"a": entry(0, 8, [2]), "b": entry(4, 12, [2])}, bytes(12)),
        safetensors({"a": entry(0, 2**63, [2**61])}, bytes(8)),
        safetensors({"a": entry(0, 0, [2**32, 2**32])}),
        safetensors({"a": entry(0, 8, [2], "F128")}, bytes(8)),
        safetensors("[" * 100_000),
        safetensors({"a\n" * 5000: entry(0, 4, [1])}, bytes(4)),
        safetensors({"a": 1}),
        b"PK\x03\x04" + bytes(1000),
    ],
)
def test_headers_of_weights_that_lie(folder: Path, data: bytes) -> None:
    put(folder, "model.safetensors", data)
    refused(folder, "model.safetensors")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_pipe_or_a_device_is_not_waited_for(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    refused(folder, name, "not a file")
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    refused(folder, name, "not a file")
    os.mkfifo(folder / "a.gguf")
    with pytest.raises(ModelError, match="not a file"):
        vm.load(folder / "a.gguf")
    put(folder, name, b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    refused(folder, name, "Git has only a pointer to the file here; fetch it with git lfs pull")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_links_that_lead_nowhere_or_elsewhere(folder: Path, name: str) -> None:
    # Links as such are fine: the hub's own cache is made of them, and so is this folder.
    assert vm.load(folder).trace("a")["logits"].isfinite().all()
    for target in (name, "/etc/passwd"):
        (folder / name).unlink()
        (folder / name).symlink_to(target)
        if name != "tokenizer.json" or target != name:  # without one, texts are ids
            refused(folder, name)


def described(folder: Path, **changes: Any) -> None:
    plain = json.loads((folder / "tokenizer.json").read_text())
    put(folder, "tokenizer.json", json.dumps({**plain, **changes}).encode())
    put(folder, "tokenizer_config.json", b'{"tokenizer_class": "PreTrainedTokenizerFast"}')  # reads it as it is


def replace(before: str, after: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": before}, "content": after}


DOUBLED = [replace("a", "aa")] * 12
LONG_TABLE = base64.b64encode((4).to_bytes(4, "little") + bytes(4) + b"x" * 2000 + b"\0").decode()
MANY = {"x": {"id": "x", "ids": [0] * 1000, "tokens": ["a"] * 1000}}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "x", "type_id": 0}}] * 1000 + [{"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [],
    "special_tokens": MANY,
}


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"normalizer": {"type": "Sequence", "normalizers": DOUBLED}}, ["normalizer", "1000 times"]),
        ({"normalizer": {"type": "Prepend", "prepend": "x" * 10**6}}, ["normalizer", "1000 times"]),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": LONG_TABLE}}, ["normalizer", "1000 times"]),
        ({"decoder": {"type": "Sequence", "decoders": DOUBLED}}, ["decoder", "1000 times"]),
        ({"post_processor": TEMPLATE}, ["post_processor", "1000000 tokens"]),
        ({"pre_tokenizer": split("(a|a|aa)*$")}, ["pre_tokenizer", "repeats a group"]),
        ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [split("(?:[)]a+)+b")]}}, ["repeats a group"]),
        ({"normalizer": {**replace("", "b"), "pattern": {"Regex": "(.*){9}"}}}, ["normalizer", "repeats a group"]),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAP////8="}}, ["tokenizer.json"]),
        ({"model": {"type": "BPE", "vocab": {"a": 2**62}, "merges": []}}, ["tokenizer.json"]),
    ],
    ids=lambda value: next(iter(value)),
)
def test_a_description_that_makes_much_of_little(folder: Path, changes: dict[str, Any], parts: list[str]) -> None:
    described(folder, **changes)
    refused(folder, "tokenizer.json", *parts)
