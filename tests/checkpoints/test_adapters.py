"""Adapters: added to the weights of their base as a sum by hand says, or refused in words that say what to do."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from importlib import util
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from checkpoint_makers import Reference, logits_of
from safetensors.torch import load_file, save_file

import viz_model as vm
from viz_model.checkpoints import adapters, registry
from viz_model.checkpoints.weights import ModelError
from viz_model.texts import Texts

IDS, ALPHA, RANK = [3, 1, 4, 1, 5], 8, 2
WEIGHTS = "adapter_model.safetensors"
PLACE = "model.layers.1.self_attn.q_proj"


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """A Llama in "base", and beside it in "mine" an adapter of one of its matrices."""
    Reference("LlamaForCausalLM").save(tmp_path / "base")
    torch.manual_seed(0)
    parts = {f"base_model.model.{PLACE}.lora_A.weight": torch.randn(RANK, 24)}
    parts[f"base_model.model.{PLACE}.lora_B.weight"] = torch.randn(24, RANK)
    folder = tmp_path / "mine"
    folder.mkdir()
    save_file(parts, folder / WEIGHTS)
    said(folder, base_model_name_or_path="someone/base")
    return folder


def said(folder: Path, **changes: Any) -> Path:
    plain: dict[str, Any] = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "target_modules": ["q_proj"]}
    plain["layers_to_transform"] = [1]
    path = folder / "adapter_config.json"
    before = json.loads(path.read_text()) if path.exists() else plain
    path.write_text(json.dumps({**before, **changes}))
    return folder


def added(model: Any, folder: Path) -> Any:
    """The model with B·A·α/r added to the one matrix (Hu et al. 2021, section 4.1)."""
    down, up = (load_file(folder / WEIGHTS)[f"base_model.model.{PLACE}.lora_{x}.weight"] for x in "AB")
    with torch.no_grad():
        model.get_submodule(PLACE).weight += up @ down * ALPHA / RANK
    return model


def lora(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for ``peft``, where that is not installed: the sum by hand."""
    made: Any = ModuleType("peft")
    made.__spec__ = ModuleSpec("peft", None)

    class PeftModel:
        def __init__(self, model: Any, folder: str) -> None:
            self.model, self.folder = model, Path(folder)

        from_pretrained = classmethod(lambda cls, model, folder: cls(model, folder))

        def merge_and_unload(self) -> Any:
            return added(self.model, self.folder)

    made.PeftModel = PeftModel
    monkeypatch.setitem(sys.modules, "peft", made)


PLACES: dict[str, Callable[[Path], Path]] = {
    "beside": lambda folder: folder,
    "named": lambda folder: said(folder, base_model_name_or_path=str(folder.parent / "base")),
    "within": lambda folder: Path(shutil.move(folder, folder.parent / "base" / "mine")),
    "in": lambda folder: Path(shutil.copytree(folder, folder.parent / "base", dirs_exist_ok=True)),
}


@pytest.mark.parametrize("by", ["peft", "stand-in"])
@pytest.mark.parametrize("place", PLACES)
def test_an_adapter_is_added_to_its_base(pair: Path, place: str, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "peft":
        pytest.importorskip("peft")
    else:
        lora(monkeypatch)
    folder = PLACES[place](pair)
    with pytest.warns(UserWarning, match="peft has added an adapter"):
        lm = vm.load(folder)
    expected = logits_of(added(Reference("LlamaForCausalLM").build(), folder), IDS)
    torch.testing.assert_close(lm.trace(ids=IDS)["logits"], expected, atol=1e-5, rtol=1e-5)
    assert lm.notices == ("adapter",) and (lm.name, lm.folder) == (folder.name, folder)
    assert all("peft" in Texts(language)("models.adapter") for language in ("en", "zh"))
    monkeypatch.setenv(registry.PATH_VARIABLE, str(folder))
    assert registry.config_of(folder.name) == lm.config and registry.tokenizer_of(folder.name).n_vocab == 53


@pytest.mark.parametrize(
    ("change", "says", "zh"),
    [
        (lambda f: shutil.rmtree(f.parent / "base"), r"adapter \('LORA'\), not a model, and its base", "不在这里"),
        (lambda f: said(f, peft_type="IA3"), r"adapter \('IA3'\), and of such LoRA's alone", "只能合并 LoRA"),
        (lambda f: said(f, megatron_config={"x": 1}, megatron_core="antigravity"), "LoRA's alone", "只能合并 LoRA"),
        (lambda f: (f / WEIGHTS).unlink(), "adapter_model.safetensors: no such file", "没有这个文件"),
        (lambda f: (f / WEIGHTS).write_bytes(b"x"), "peft cannot add it to .*base: ", "无法把它加到"),
    ],
)
def test_what_cannot_be_added_is_told(
    pair: Path, change: Callable[[Path], object], says: str, zh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lora(monkeypatch)
    change(pair)
    with pytest.raises(ModelError, match=says) as refused:
        vm.load(pair)
    assert "\n" not in str(refused.value) and zh in Texts("zh").error(refused.value)


def test_without_peft_it_says_how(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "find_spec", lambda name: None if name == "peft" else util.find_spec(name))
    for place in ("beside", "in"):
        with pytest.raises(ModelError, match="pip install peft transformers; or merge the two first") as refused:
            vm.load(PLACES[place](pair))
        assert "请运行 pip install peft" in Texts("zh").error(refused.value)
