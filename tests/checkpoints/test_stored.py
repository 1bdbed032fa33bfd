"""Weights that stay as their file has them: what runs, what is read of it, what it takes and what is refused."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_makers import Reference, logits_of
from tiers import turns

import viz_model as vm
from viz_model.checkpoints import room
from viz_model.model import stored
from viz_model.runs.derivation import derive

IDS, TARGET = [3, 1, 4, 1, 5, 9, 2], [0, 2, 6]
MADE = (
    "LlamaForCausalLM",
    "GPT2LMHeadModel",  # its matrices lie [in, out]
    "GemmaForCausalLM",  # its norms are stored as how far they are from 1
    "Phi3ForCausalLM",  # its matrices are fused
    "MixtralForCausalLM",  # its experts are stored together
    "GPTNeoXForCausalLM",  # query, key and value of its heads take turns
    "BloomForCausalLM",
    "T5ForConditionalGeneration",
    "BartForConditionalGeneration",
    "MarianMTModel",
    "BertForMaskedLM",
)
VIEWS = {"LlamaForCausalLM": 1.0, "GPT2LMHeadModel": 1.0, "Phi3ForCausalLM": 1.0, "GPTNeoXForCausalLM": 0.65}
"""The share of the weights that are the file's own bytes."""
HALVES = (torch.bfloat16, torch.float16)


def saved(made: str, folder: Path, dtype: torch.dtype = torch.bfloat16) -> Any:
    model = Reference(made).build().to(dtype)
    model.save_pretrained(folder)
    return model


def run(lm: vm.LanguageModel, **more: Any) -> vm.Trace:
    return lm.trace(ids=IDS, target_ids=TARGET if lm.config.kind == "encoder_decoder" else None, **more)


def logits(model: Any) -> torch.Tensor:
    return logits_of(model, IDS, TARGET if model.config.is_encoder_decoder else None).float()


@pytest.fixture
def is_mapped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files of any size stay where they are."""
    monkeypatch.setattr(room, "MAPPED", 0)
    yield


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    saved("LlamaForCausalLM", folder)
    return folder


@pytest.mark.usefixtures("is_mapped")
@pytest.mark.parametrize(("made", "dtype"), turns(MADE, HALVES))
def test_sixteen_bits_are_computed_as_the_reference_does(tmp_path: Path, made: str, dtype: torch.dtype) -> None:
    model = saved(made, tmp_path, dtype)
    lm = vm.load(tmp_path, dtype=dtype)
    trace, numbers = run(lm), torch.Generator().manual_seed(0)
    for name in trace:
        index = [int(torch.randint(size, (), generator=numbers)) for size in trace.shape(name)]
        assert derive(trace, name, index).agrees, (name, index)
    assert lm.dtype == dtype and {w.dtype for w in lm.model.parameters()} <= {dtype, torch.float32}
    exact, theirs, ours = logits(copy.deepcopy(model).float()), logits(model), run(lm)["logits"]
    assert ours.dtype == torch.float32
    # Each rounds in places of its own; both stay as near to what single precision makes of these weights.
    rounded = max(float((theirs - exact).abs().max()), torch.finfo(dtype).eps * float(exact.abs().max()))
    assert 0 < float((ours - exact).abs().max()) < 3 * rounded


@pytest.mark.usefixtures("is_mapped")
@pytest.mark.parametrize(("made", "share"), VIEWS.items())
def test_weights_are_the_bytes_of_the_file(tmp_path: Path, made: str, share: float) -> None:
    saved(made, tmp_path)
    own = list(vm.load(tmp_path, dtype="bfloat16").model.parameters())
    maps = (line.split() for line in Path("/proc/self/maps").read_text().splitlines())
    ranges = [line[0].split("-") for line in maps if line[-1] == str(tmp_path / "model.safetensors")]
    spans = [range(int(begin, 16), int(end, 16)) for begin, end in ranges]
    of_file = sum(w.numel() for w in own if any(w.data_ptr() in span for span in spans))
    assert of_file >= share * sum(w.numel() for w in own)


def test_small_models_are_read_in_single_precision_and_large_ones_as_they_are(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert vm.load(llama).dtype == torch.float32
    assert vm.load(llama, dtype="float16").dtype == torch.float16
    monkeypatch.setattr(room, "LARGE", 0)
    assert vm.load(llama).dtype == vm.load(llama, dtype="auto").dtype == torch.bfloat16
    assert vm.load(llama, dtype=torch.float32).dtype == torch.float32
    assert vm.load("story-pre-ln").dtype == torch.float32
    monkeypatch.setenv(room.DTYPE, "float32")
    assert vm.load(llama).dtype == torch.float32


@pytest.mark.parametrize("made", ["LlamaForCausalLM", "BartForConditionalGeneration"])
def test_what_is_read_is_single_precision_and_the_same_however_it_is_kept(tmp_path: Path, made: str) -> None:
    saved(made, tmp_path)
    lm = vm.load(tmp_path, dtype="bfloat16")
    whole, stream = run(lm, keep="everything"), run(lm, keep="stream")
    for name, value in whole.values.items():
        assert value.dtype in (torch.float32, torch.int64) and torch.equal(value, stream.values[name])
        assert not value.is_floating_point() or torch.equal(value, value.bfloat16().float())
    for name in whole:
        if whole.site(name).has_heads:
            row = whole.row(name, 1, 2)
            assert torch.allclose(
                stream.row(name, 1, 2), row, rtol=0.01, atol=1e-3
            )  # one query alone is summed otherwise
            assert torch.allclose(whole.head(name, 2)[1], row, atol=1e-6)
    assert torch.equal(run(lm).row("logits", -1), whole["logits"][-1])
    for name, weight in lm.model.named_parameters():
        read = lm.model.get_parameter(name)
        assert read.dtype == torch.float32 and torch.equal(read, weight.float())
    copied = copy.deepcopy(lm.model.stack("decoder").block(0))
    assert {w.dtype for w in copied.parameters()} == {torch.float32} and stored.running(copied) is copied


def test_a_live_model_keeps_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Reference("LlamaForCausalLM").build().bfloat16()
    assert vm.load(model).dtype == torch.float32
    lm = vm.load(model, dtype="bfloat16")
    theirs = {weight.data_ptr() for weight in model.parameters()}
    assert lm.dtype == torch.bfloat16 and {w.data_ptr() for w in lm.model.parameters()} == theirs
    monkeypatch.setattr(room, "available", lambda device=None: 0)
    assert vm.load(model, dtype="bfloat16").dtype == torch.bfloat16  # it is there already
    with pytest.raises(vm.ModelError, match=r"float32, and 0\.0 GB are free; keep its bfloat16"):
        vm.load(model)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"dtype": "int8"}, "dtype: expected auto, float32, bfloat16, float16, got 'int8'"),
        ({"dtype": torch.float64}, "dtype: expected auto"),
        ({"device": "meta-verse"}, "device: 'meta-verse' is not here"),
        ({"device": "cuda:99"}, "device: 'cuda:99' is not here"),
        ({"threads": 0}, "threads: expected a whole number of at least 1, got '0'"),
    ],
)
def test_what_there_is_not(llama: Path, asked: dict[str, Any], says: str) -> None:
    with pytest.raises(vm.ModelError, match=says):
        vm.load(llama, **asked)


def test_a_number_that_is_not_finite_is_named(tmp_path: Path) -> None:
    model = Reference("LlamaForCausalLM").build().bfloat16()
    for wrong in (torch.nan, torch.inf, -torch.inf):
        with torch.no_grad():
            model.model.layers[1].mlp.up_proj.weight[3, 2] = wrong
        model.save_pretrained(tmp_path)
        with pytest.raises(vm.ModelError, match=r"layers\.1\.mlp\.up_proj\.weight' holds numbers that are not finite"):
            vm.load(tmp_path, dtype="bfloat16")
