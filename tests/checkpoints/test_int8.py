"""viz_model.checkpoints.int8: matrices in eight bits, read as what they stand for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import viz_model as vm
from viz_model.checkpoints import registry
from viz_model.checkpoints.int8 import OwnArchive, packed
from viz_model.checkpoints.weights import ModelError

BUNDLED = "story-none"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "own"
    shutil.copytree(registry.BUNDLED / BUNDLED, found)
    return found


def test_a_number_is_off_by_at_most_half_a_step_of_its_row(tmp_path: Path) -> None:
    rows = torch.randn(40, 33) * torch.logspace(-6, 3, 40)[:, None]
    rows[7] = 0
    bias = torch.randn(33)
    stored = packed({"a.weight": rows, "a.bias": bias})
    assert stored["a.weight"].dtype == torch.int8 and stored["a.bias"].dtype == torch.float16
    save_file(stored, tmp_path / "model.safetensors")
    archive = OwnArchive(tmp_path)
    assert archive.shapes == {"a.weight": (40, 33), "a.bias": (33,)}
    read, scale = archive.read("a.weight"), stored["a.weight.scale"].float()
    assert ((read - rows).abs() <= scale * 0.501).all() and not read[7].any()
    largest = rows.abs().amax(1, keepdim=True)
    normal = largest > 1e-2  # below, half precision itself has few digits
    assert (scale[normal] <= largest[normal] / 127 * 1.001).all()
    assert torch.equal(archive.read("a.bias"), bias.half().float())


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (torch.ones(3, 1, dtype=torch.half), "expected I8 and one number a row"),
        (None, "is I8, expected one of F64"),
        (torch.ones(8192, 1, dtype=torch.int8), "scale' is I8, expected one of F64"),
        (torch.full((8192, 1), torch.inf, dtype=torch.half), "numbers that are not finite"),
    ],
)
def test_a_damaged_file_is_refused(folder: Path, scale: torch.Tensor | None, message: str) -> None:
    tensors = load_file(folder / "model.safetensors")
    name = "embedding.weight.scale"
    tensors = {key: value for key, value in tensors.items() if key != name}
    save_file(tensors if scale is None else {**tensors, name: scale}, folder / "model.safetensors")
    with pytest.raises(ModelError, match=message):
        vm.load(folder)
