"""Folders of our own: what is stored is what is loaded, in eight bits too, and damage is one line that names it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_makers import Reference, refused, write_ours
from safetensors.torch import load_file, save_file
from tiny_models import random_model, tiny_config

import viz_model as vm
from viz_model.checkpoints import registry, room, weights
from viz_model.checkpoints.hub_names import hub_names, weights_of
from viz_model.checkpoints.int8 import OwnArchive, packed
from viz_model.checkpoints.weights import ModelError, stored_tensors
from viz_model.config import Gated, ModelConfig
from viz_model.tokenizers.tokenizer import story_tokenizer


def story_config(**changes: Any) -> ModelConfig:
    return tiny_config(**{"n_vocab": story_tokenizer().n_vocab, **changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_ours(tmp_path / "tiny", random_model(story_config()), twin="other")


@pytest.mark.parametrize(("norm_at", "tie_embeddings"), [("pre", True), ("post", False)])
def test_round_trip(tmp_path: Path, norm_at: Any, tie_embeddings: bool) -> None:
    model = random_model(story_config(norm_at=norm_at, tie_embeddings=tie_embeddings))
    lm = vm.load(write_ours(tmp_path / "tiny", model, twin="other"))
    assert (lm.name, lm.twin, lm.folder) == ("tiny", "other", tmp_path / "tiny") and lm.config == model.config
    loaded = lm.model.state_dict()
    assert loaded.keys() == model.state_dict().keys()
    assert all(torch.equal(value, loaded[name]) for name, value in model.state_dict().items())
    assert lm.trace("The cat")["logits"].isfinite().all() and not lm.model.training
    assert (lm.model.unembedding.weight is lm.model.embedding.weight) == tie_embeddings
    assert ("head.unembedding.weight" in stored_tensors(model)) != tie_embeddings


def test_a_tokenizer_that_is_not_the_models(folder: Path, tmp_path: Path) -> None:
    write_ours(folder, random_model(story_config()), tokenizer="story-9k")
    refused(folder, "config.json", "tokenizer")
    refused(write_ours(tmp_path / "small", random_model(tiny_config())), "config.json", "101", "story-8k", "8192")


def test_a_model_that_takes_more_memory_than_is_free(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = sum(tensor.numel() for tensor in load_file(folder / "model.safetensors").values())
    monkeypatch.setattr(room, "available", lambda device=None: 4 * n - 1)
    says = rf"model\.safetensors: {n:,} parameters take .* GB .* are free.*VIZ_MODEL_ANY_SIZE"
    with pytest.raises(vm.ModelError, match=says):
        vm.load(folder)
    monkeypatch.setattr(room, "available", lambda device=None: 4 * n)
    vm.load(folder)
    monkeypatch.setattr(room, "available", lambda device=None: 0)
    monkeypatch.setenv(room.ANYWAY, "1")
    vm.load(folder)


def test_free_memory_is_that_of_the_machine_or_of_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = room.available()
    assert whole is None or 10**8 < whole < 10**13
    monkeypatch.setattr(room, "_CGROUP", tmp_path)
    for name, said in (("max", "3000"), ("current", "2500"), ("stat", "anon 7\ninactive_file 400")):
        (tmp_path / f"memory.{name}").write_text(said)
    assert room.available() == 900
    (tmp_path / "memory.max").write_text("max")
    assert room.available() != 900


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


def test_numbers_are_finite_whose_sum_is_not() -> None:
    assert weights._is_finite(torch.full((4,), -65504, dtype=torch.half))


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (torch.ones(3, 1, dtype=torch.half), "expected I8 and one number a row"),
        (None, "is I8, expected one of F64"),
        (torch.ones(8192, 1, dtype=torch.int8), "scale' is I8, expected one of F64"),
        (torch.full((8192, 1), torch.inf, dtype=torch.half), "numbers that are not finite"),
    ],
)
def test_a_damaged_file_in_eight_bits_is_refused(tmp_path: Path, scale: torch.Tensor | None, message: str) -> None:
    folder = shutil.copytree(registry.BUNDLED / "story-none", tmp_path / "own")
    tensors = load_file(folder / "model.safetensors")
    name = "embedding.weight.scale"
    tensors = {key: value for key, value in tensors.items() if key != name}
    save_file(tensors if scale is None else {**tensors, name: scale}, folder / "model.safetensors")
    with pytest.raises(ModelError, match=message):
        vm.load(folder)


THEIRS = {
    "llama": Reference("LlamaForCausalLM"),
    "qwen3": Reference("Qwen3ForCausalLM"),
    "gpt2": Reference("GPT2LMHeadModel"),
    "bert": Reference("BertForMaskedLM"),
    "t5": Reference("T5ForConditionalGeneration", {"feed_forward_proj": "gated-gelu"}),
}

CONFIG = tiny_config(n_layers=2, ffn=Gated(), n_heads=2)


@pytest.mark.parametrize("family", THEIRS)
def test_a_family_has_tensors_of_these_names(family: str) -> None:
    theirs = set(THEIRS[family].build().state_dict())
    parts = [f"decoder.blocks.1.{part}.out" for part in ("attn", "ffn", "attn_norm", "ffn_norm")]
    names = [name for name, _ in random_model(CONFIG).named_parameters()]
    ours = [name for part in parts for name in weights_of(names, part) if name.endswith("weight")]
    found = {named[family].split(" ")[0] for named in hub_names(CONFIG, ours).values() if family in named}
    assert len(found) >= 4 and found <= theirs
