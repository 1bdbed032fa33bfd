"""Models in memory, adapters, and weights that stay as their file has them: what runs, what it takes, what fails."""

import copy
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
import transformers
from checkpoint_makers import Reference, logits_of
from safetensors.torch import load_file, save_file
from tiers import turns
from tiny_models import close
from torch import nn
from trained_tokenizers import KINDS, n_tokens

import viz_model as vm
from viz_model.checkpoints import adapters, registry, room
from viz_model.checkpoints.weights import ModelError
from viz_model.model import stored
from viz_model.runs.derivation import derive
from viz_model.texts import Texts
from viz_model.tokenizers.tokenizer import IdTokenizer

IDS, TARGET = [3, 1, 4, 1, 5], [0, 2, 6]
SHARED = {
    "GPT2LMHeadModel": 1.0,
    "LlamaForCausalLM": 1.0,
    "GemmaForCausalLM": 0.95,  # its norms are stored as how far they are from 1
    "MixtralForCausalLM": 0.1,  # its experts are stored together
    "T5ForConditionalGeneration": 1.0,
    "BertForMaskedLM": 1.0,
    "OPTForCausalLM": 1.0,
    "BartForConditionalGeneration": 0.95,  # its tables of positions begin with rows that nothing reads
}
ALPHA, RANK = 8, 2
WEIGHTS = "adapter_model.safetensors"
PLACE = "model.layers.1.self_attn.q_proj"


def run(lm: vm.LanguageModel, **more: Any) -> vm.Trace:
    return lm.trace(ids=IDS, target_ids=TARGET if lm.config.kind == "encoder_decoder" else None, **more)


def logits(model: Any) -> torch.Tensor:
    return logits_of(model, IDS, TARGET if model.config.is_encoder_decoder else None).float()


@pytest.mark.parametrize("made", SHARED)
def test_a_live_model_is_shown_from_its_own_weights(made: str) -> None:
    model = Reference(made).build()
    lm = vm.load(model)
    assert lm.name == made and isinstance(lm.tokenizer, IdTokenizer)
    close(run(lm)["logits"], logits(model))
    theirs = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    own = list(lm.model.parameters())
    shared = sum(weight.numel() for weight in own if weight.untyped_storage().data_ptr() in theirs)
    assert shared >= SHARED[made] * sum(weight.numel() for weight in own)
    assert all(weight.requires_grad for weight in model.parameters())
    with torch.no_grad():  # what changes there is seen here
        next(iter(model.parameters())).mul_(1.5)
    close(run(lm)["logits"], logits(model))


def test_a_tokenizer_of_transformers(tmp_path: Path) -> None:
    folder = KINDS["qwen"](tmp_path / "qwen")
    (folder / "config.json").write_text('{"model_type": "qwen3"}')
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    theirs.chat_template = "{{ messages[0].content }}<|endoftext|>"
    model = Reference("Qwen3ForCausalLM", {"vocab_size": n_tokens(folder)}).build()
    lm = vm.load(model, theirs)
    text = "the cat<|endoftext|><think> sat"
    assert list(lm.trace(text).ids) == theirs.encode(text)
    messages = [{"role": "user", "content": "the cat"}]
    assert lm.chat(messages) == "the cat<|endoftext|>"
    asked = lm.trace(messages)
    assert asked.text is None and asked.ids[-1] == theirs.eos_token_id
    assert lm.tokenizer.end_of_text not in lm.trace(messages, as_text=True).ids
    assert lm.generate(messages, max_new_tokens=2).text
    assert vm.load(model, folder).trace(text).ids == lm.trace(text).ids
    with pytest.raises(ValueError, match="has no chat template"):
        vm.load(model).trace(messages)

    fast: Any = transformers.PreTrainedTokenizerFast.from_pretrained(KINDS["gpt2"](tmp_path / "gpt2"))
    model = Reference("Qwen2ForCausalLM", {"vocab_size": len(fast)}).build()  # whose class cuts otherwise
    for text in ("It's 1234, isn't it?", "café e\u0301\n\n x", "THE'LL"):
        assert list(vm.load(model, fast).trace(text).ids) == fast.encode(text)


def holding(**held: Any) -> nn.Module:
    module = nn.Linear(2, 2)
    vars(module).update(held)
    return module


@pytest.mark.parametrize(
    ("source", "more", "says"),
    [
        (nn.Linear(2, 2), {}, "Linear: it has no config; .* vm.observe"),
        (holding(config=transformers.LlamaConfig(), merge_and_unload=None), {}, r"it has an adapter; .*merge_and_unl"),
        ({"state_dict": {"a": torch.zeros(2)}}, {"config": {}}, "'state_dict' is dict, expected tensors by"),
        ({}, {"config": 3}, "config: expected a mapping or a config of transformers, got int"),
        (3, {}, "expected a name, a path, a model or a state_dict, got int"),
        ("story-pre-ln", {"tokenizer": "x"}, "brings its own tokenizer"),
        (nn.Linear(2, 2, device="meta"), {"config": {}}, "Linear: 'weight' is on the device meta"),
        (holding(config=transformers.ViTConfig()), {}, "Linear: a model of pictures is loaded from its folder"),
        (Reference("BertForMaskedLM", {"tie_word_embeddings": False}).build(), {}, "not the copy of .*vm.observe"),
        (holding(config=transformers.MPNetConfig()), {}, "Linear/config.json: model_type: 'mpnet' .*vm.observe_model"),
    ],
)
def test_what_cannot_be_shown(source: Any, more: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=says):
        vm.load(source, **more)


def test_what_was_changed_in_memory_is_refused() -> None:
    changes: list[Callable[[Any], object]] = [
        lambda model: setattr(model.base_model.layers[0].mlp, "act_fn", nn.GELU()),
        lambda model: setattr(model.config, "rms_norm_eps", 0.1),
        lambda model: model.base_model.layers[0].register_forward_hook(lambda module, given, out: 2 * out),
    ]
    for change in changes:
        change(model := Reference("LlamaForCausalLM").build())
        with pytest.raises(ModelError, match=r"own run says something else .* of the largest of its logits: parts"):
            vm.load(model)


@pytest.mark.parametrize("made", ["LlamaForCausalLM", "GPTNeoXForCausalLM", "MixtralForCausalLM", "BertModel"])
def test_a_state_dict_and_its_config(made: str) -> None:
    model = Reference(made).build()
    first = vm.load(nn.DataParallel(model))
    assert first.name == made
    with pytest.raises(ModelError, match=r"Sequential: a class of your own; hand over the model .*, \.0"):
        vm.load(nn.Sequential(model))
    plain = model.config.to_dict() | {"architectures": [made]} if made.startswith("Llama") else model.config
    for prefix, config in (("", plain), ("net.model.", model.config), ("module._orig_mod.", model.config)):
        tensors = {prefix + name: tensor for name, tensor in model.state_dict().items()}
        found = vm.load(tensors, config=config).model.state_dict()
        assert all(torch.equal(tensor, first.model.state_dict()[name]) for name, tensor in found.items())
    again = vm.load(first.model.state_dict(), config=first.config)
    assert all(torch.equal(tensor, again.model.state_dict()[name]) for name, tensor in first.model.state_dict().items())
    for tokenizer in (vm.load("story-pre-ln").tokenizer, object()):
        with pytest.raises(ModelError, match="tokenizer: "):
            vm.load(model, tokenizer)


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
def test_what_cannot_be_added(pair: Path, change: Any, says: str, zh: str, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.fixture
def is_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size stay where they are."""
    monkeypatch.setattr(room, "MAPPED", 0)


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


def test_small_models_are_read_in_float32_and_large_ones_not(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert vm.load(llama).dtype == torch.float32 and vm.load(llama, dtype="float16").dtype == torch.float16
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
        ({"device": "meta"}, "device: 'meta' is not here"),
        ({"threads": 0}, "threads: expected a whole number from 1 to 1024, got '0'"),
    ],
)
def test_what_there_is_not(llama: Path, asked: dict[str, Any], says: str) -> None:
    with pytest.raises(vm.ModelError, match=says):
        vm.load(llama, **asked)


@torch.no_grad()
def test_a_number_that_is_not_finite_is_named(tmp_path: Path) -> None:
    model = Reference("LlamaForCausalLM").build().bfloat16()
    model.model.layers[1].mlp.up_proj.weight[3, 2] = -torch.inf
    model.save_pretrained(tmp_path)
    with pytest.raises(vm.ModelError, match=r"layers\.1\.mlp\.up_proj\.weight' holds numbers that are not finite"):
        vm.load(tmp_path, dtype="bfloat16")
