"""GGUF files: the same numbers as the reference, quantized or not, and one line on everything else."""

import copy
import math
import random
import struct
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoint_makers import Reference
from gguf import GGMLQuantizationType as Kind
from gguf_files import read, refused, write
from torch import Tensor
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

import viz_model as vm
from viz_model.checkpoints import room
from viz_model.checkpoints.gguf import FAMILIES, read_config, renames
from viz_model.checkpoints.gguf_file import GgufArchive
from viz_model.checkpoints.weights import ModelError, fill
from viz_model.config import LinearScaling, Llama3Scaling, RMSNorm, Rope, YarnScaling
from viz_model.model import stored
from viz_model.model.packed import Packed

# Rows of 64 and 96 are whole blocks of 32, and no two sizes are alike.
SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2}
PLAIN = {"rope_type": "default", "rope_theta": 100.0}
LLAMA = Reference("LlamaForCausalLM", {**SIZES, "head_dim": 16})
QWEN3 = Reference("Qwen3ForCausalLM", {**SIZES, "head_dim": 20})
ODD = {f"llama.{name}": 17 for name in ("attention.key_length", "attention.value_length", "rope.dimension_count")}
HUGE = struct.pack("<Q", 2**63)


def ids(length: int = 16) -> Tensor:
    return torch.randint(53, (1, length), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def assert_same_logits(path: Path, reference: Any) -> None:
    torch.testing.assert_close(read(path)(ids()), reference(ids()).logits, atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", [Kind.F32, Kind.F16, Kind.BF16, Kind.Q8_0, Kind.Q4_0, Kind.Q4_1, Kind.Q5_1])
def test_logits_are_those_of_the_reference(tmp_path: Path, kind: Kind) -> None:
    model = LLAMA.build()
    assert_same_logits(write(tmp_path / "tiny.gguf", model, kind), model)


NEW_FALCON = {"new_decoder_architecture": True, "num_kv_heads": 2}
EVERY = {
    "bloom": Reference("BloomForCausalLM"),
    "falcon of one key": Reference("FalconForCausalLM"),
    "falcon of two norms": Reference("FalconForCausalLM", NEW_FALCON),
    "falcon of one norm": Reference("FalconForCausalLM", {**NEW_FALCON, "num_ln_in_parallel_attn": 1}),
    "gemma": Reference("GemmaForCausalLM"),
    "gemma2": Reference("Gemma2ForCausalLM", {"query_pre_attn_scalar": 10}),
    # The caps are those of the family where a file names none.
    "gemma3": Reference("Gemma3ForCausalLM", {"num_hidden_layers": 7, "layer_types": None}),
    "gpt2": Reference("GPT2LMHeadModel"),
    "gptneox": Reference("GPTNeoXForCausalLM"),
    "gptneox in turn": Reference("GPTNeoXForCausalLM", {"use_parallel_residual": False}),
    "llama": LLAMA,
    "mistral": Reference("MistralForCausalLM", {"sliding_window": None}),
    "mixtral": Reference("MixtralForCausalLM"),
    "olmo2": Reference("Olmo2ForCausalLM"),
    "olmoe": Reference("OlmoeForCausalLM"),
    "phi3": Reference("Phi3ForCausalLM"),
    "phi3 with a window": Reference("Phi3ForCausalLM", {"sliding_window": 3}),
    "phi3 turned in part": Reference(
        "Phi3ForCausalLM", {"hidden_size": 32, "rope_parameters": {**PLAIN, "partial_rotary_factor": 0.5}}
    ),
    "qwen2": Reference("Qwen2ForCausalLM", SIZES),
    "qwen3": Reference("Qwen3ForCausalLM", {**SIZES, "head_dim": 20}),
    "qwen3moe": Reference("Qwen3MoeForCausalLM", {"norm_topk_prob": True}),
    "smollm3": Reference("SmolLM3ForCausalLM"),
}


def test_every_architecture_is_compared() -> None:
    assert {name.split()[0] for name in EVERY} - {"mistral", "mixtral"} == {f.GGUF.architecture for f in FAMILIES}


@pytest.mark.parametrize("reference", EVERY.values(), ids=EVERY)
def test_every_architecture_has_the_logits_of_the_reference(tmp_path: Path, reference: Reference) -> None:
    model = reference.build()
    assert_same_logits(write(tmp_path / "tiny.gguf", model), model)


@pytest.mark.parametrize("name", ["bloom", "gemma2", "gemma3", "gpt2", "llama", "phi3", "qwen2", "qwen3"])
def test_the_reference_finds_the_original_in_such_a_file(tmp_path: Path, name: str) -> None:
    model = EVERY[name].build()
    path = write(tmp_path / "tiny.gguf", model)
    found = load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"]  # type: ignore[no-untyped-call]
    original = model.state_dict()
    assert set(original) - set(found) <= {"lm_head.weight"}
    for theirs, tensor in found.items():
        assert torch.allclose(tensor, original[theirs], atol=1e-6, rtol=0), theirs


@pytest.mark.parametrize(("model", "layers"), [("Gemma2ForCausalLM", 46), ("Gemma3ForCausalLM", 62)])
def test_the_largest_gemmas_divide_by_another_root(tmp_path: Path, model: str, layers: int) -> None:
    sizes = {"num_hidden_layers": layers, "layer_types": None, "hidden_size": 24, "num_attention_heads": 4}
    for depth, root in ((layers, 6), (layers - 1, None)):
        tiny = Reference(model, {**sizes, "num_hidden_layers": depth}).build()
        assert read(write(tmp_path / f"{depth}.gguf", tiny)).config.scale_width == root


def test_a_file_with_its_tokenizer_is_loaded_whole(tmp_path: Path) -> None:
    pieces = ["<unk>", "<s>", "</s>", "▁", "t", "h", "e", "he", "the", "▁the"]
    tokens = [*pieces, *(f"[PAD{n}]" for n in range(len(pieces), 53))]
    fields: dict[str, Any] = {"model": "llama", "tokens": tokens, "scores": [float(n) for n in range(53)]}
    fields |= {"token_type": [2, 3, 3, *[1] * 50], "bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0}
    fields["add_space_prefix"] = False
    model = Reference("GemmaForCausalLM").build()
    path = tmp_path / "gemma.gguf"
    write(path, model, changes={f"tokenizer.ggml.{key}": value for key, value in fields.items()})
    lm = vm.load(path)
    trace = lm.trace("the the")
    ids = torch.tensor([[1, 8, 9]])
    assert trace.ids == (1, 8, 9)
    with torch.no_grad():
        assert torch.allclose(lm.model(ids), model(ids).logits, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("tied", "bias"), [(True, False), (False, True)])
def test_tied_tables_and_biases_are_seen_in_the_tensors(tmp_path: Path, tied: bool, bias: bool) -> None:
    changes = {"tie_word_embeddings": tied, "attention_bias": bias, "mlp_bias": bias}
    model = Reference("LlamaForCausalLM", {**LLAMA.changes, **changes}).build()
    path = write(tmp_path / "tiny.gguf", model)
    assert_same_logits(path, model)
    assert read(path).config.tie_embeddings == tied


@pytest.mark.parametrize("yarn", [False, True])
def test_stretched_positions(tmp_path: Path, yarn: bool) -> None:
    rope = {"rope_type": "yarn", "original_max_position_embeddings": 12} if yarn else {"rope_type": "linear"}
    own = {"rope_parameters": {**PLAIN, **rope, "factor": 4.0}}
    model = Reference("LlamaForCausalLM", {**LLAMA.changes, **own}).build()
    said: dict[str, Any] = {"llama.rope.scaling.factor": 4.0}
    said |= {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.original_context_length": 12} if yarn else {}
    path = write(tmp_path / "tiny.gguf", model, changes=said)
    scaling = YarnScaling(factor=4.0, original_context=12) if yarn else LinearScaling(factor=4.0)
    assert read(path).config.position == Rope(base=100.0, pairing="interleaved", scaling=scaling)
    assert_same_logits(path, model)


def llama3_factors(base: float, factor: float, d_head: int = 16) -> np.ndarray:
    """What llama.cpp's converter stores of Llama 3.1's scaling, written as there."""
    found = []
    for i in range(0, d_head, 2):
        wave = 2 * math.pi * base ** (i / d_head)
        smooth = (8192 / wave - 1) / (4 - 1)
        found.append(1 if wave < 8192 / 4 else factor if wave > 8192 else 1 / ((1 - smooth) / factor + smooth))
    return np.array(found, dtype=np.float32)


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_llama3_scaling_is_known_by_its_factors(tmp_path: Path, factor: float) -> None:
    shape: dict[str, Any] = {"factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    parameters = {"rope_type": "llama3", "rope_theta": 5e5, "original_max_position_embeddings": 8192, **shape}
    model = Reference("LlamaForCausalLM", {**LLAMA.changes, "rope_parameters": parameters}).build()
    path = write(tmp_path / "tiny.gguf", model, extra={"rope_freqs.weight": llama3_factors(500_000.0, factor)})
    position = read(path).config.position
    assert isinstance(position, Rope) and position.scaling == Llama3Scaling(original_context=8192, **shape)
    assert_same_logits(path, model)


@pytest.mark.parametrize(
    ("factors", "changes", "part"),
    [
        *((wrong, {}, "rope_freqs.weight") for wrong in ([1, 1, 1, 1, 2, 3, 4, 5], [1, 1], [0] * 8, [-1] * 8)),
        ([math.nan] * 8, {}, "rope_freqs.weight"),
        (llama3_factors(5e5, 8), ODD, ""),
        (llama3_factors(5e5, 8), {"llama.rope.scaling.factor": 2.0}, "rope.scaling"),
    ],
)
def test_other_factors_are_refused(tmp_path: Path, factors: Any, changes: dict[str, Any], part: str) -> None:
    extra = {"rope_freqs.weight": np.array(factors, np.float32)}
    refused(write(tmp_path / "a.gguf", LLAMA.build(), extra=extra, changes=changes), part)


def test_defaults_are_those_of_llama_cpp(tmp_path: Path) -> None:
    names = ("attention.head_count_kv", "attention.key_length", "attention.value_length", "rope.dimension_count")
    model = Reference("LlamaForCausalLM", {**LLAMA.changes, "num_key_value_heads": 4}).build()
    absent: dict[str, Any] = {f"llama.{name}": ... for name in (*names, "rope.freq_base", "vocab_size")}
    config = read(write(tmp_path / "a.gguf", model, changes=absent)).config
    assert (config.n_kv_heads, config.d_head, config.n_vocab) == (4, 16, 53)
    assert config.position == Rope(base=10_000.0, pairing="interleaved")
    assert config.norm == RMSNorm(eps=1e-6)  # the decimals that were meant by single precision


@pytest.mark.parametrize("kind", [Kind.Q8_0, Kind.Q4_0])
@pytest.mark.parametrize("made", ["LlamaForCausalLM", "Phi3ForCausalLM", "OlmoeForCausalLM", "Gemma2ForCausalLM"])
def test_a_large_file_stays_quantized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, kind: Kind) -> None:
    sizes = {**SIZES, "head_dim": 16, "intermediate_size": 32} if made.startswith("Gemma") else SIZES
    path = write(tmp_path / "tiny.gguf", Reference(made, sizes).build(), kind)
    model = read(path)
    whole = vm.load(model, config=model.config)
    monkeypatch.setattr(room, "LARGE", 0)
    archive = GgufArchive(path)
    half = write(tmp_path / "half.gguf", LLAMA.build(), Kind.F16)
    assert stored.dtype_of(read(half)) == torch.float16
    config = read_config(archive)
    kept = replace(whole, model=fill(config, archive, renames(archive, config), packed=archive.packed))
    weights = list(stored.running(kept.model).parameters())
    packed = [one for one in weights if isinstance(one, Packed)]
    assert sum(one.numel() for one in packed) > 0.6 * sum(one.numel() for one in weights)
    assert stored.n_bytes(kept.model) < 0.6 * stored.n_bytes(whole.model)
    runs = [lm.trace(ids=ids()[0].tolist()) for lm in (whole, kept)]
    for name in runs[0].sites:
        torch.testing.assert_close(runs[1][name], runs[0][name], atol=1e-5, rtol=1e-5)
    for name, weight in whole.model.named_parameters():
        assert torch.equal(kept.model.get_parameter(name), weight), name
    at = "blocks.0.attn.pattern"
    grads = [run.grad(lambda values: values["logits"][5, 7], at)[at] for run in runs]
    torch.testing.assert_close(grads[1], grads[0], atol=1e-5, rtol=1e-5)


def test_rows_of_a_packed_matrix_are_those_of_its_numbers(tmp_path: Path) -> None:
    archive = GgufArchive(write(tmp_path / "tiny.gguf", LLAMA.build(), Kind.Q8_0))
    name = "blk.0.ffn_up.weight"
    packed, dense = archive.packed(name), archive.read(name)
    assert packed is not None and torch.equal(packed.dense(), dense) and packed.n_bytes == dense.numel() * 34 // 32
    weight = torch.nn.Parameter(packed, requires_grad=False)
    assert isinstance(weight, Packed) and isinstance(weight.detach(), Packed)
    some = torch.tensor([[3, 1], [0, 2]])
    pairs = [(weight[4], dense[4]), (weight[-1], dense[-1]), (weight[2:5], dense[2:5]), (weight[some], dense[some])]
    pairs += [(weight.T @ torch.ones(len(dense)), dense.sum(0)), (weight[3, 4], dense[3, 4]), (weight * 2, dense * 2)]
    pairs += [(torch.nn.functional.embedding(some, weight), dense[some]), (copy.deepcopy(weight), dense)]
    for one, expected in pairs:
        assert not isinstance(one, Packed)
        torch.testing.assert_close(one, expected)
    assert archive.packed("output_norm.weight") is None
    x = torch.randn(2, 3, dense.shape[1], requires_grad=True)
    torch.nn.functional.linear(x, weight).sum().backward()
    torch.testing.assert_close(x.grad, dense.sum(0).expand(2, 3, -1))


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"general.architecture": "mamba"}, ["general.architecture", "mamba", "llama"]),
        ({"split.count": 3}, ["split.count"]),
        ({"llama.block_count": 10**9}, ["llama.block_count", "1000000000"]),
        ({"llama.block_count": ...}, ["llama.block_count", "missing"]),
        ({"llama.block_count": 3}, ["blk.2.attn_norm.weight", "missing"]),
        ({"llama.embedding_length": 72}, ["shape", "72"]),
        ({"llama.attention.head_count": 5}, ["head_count"]),
        ({"llama.attention.head_count_kv": 3}, ["llama.attention.head_count_kv"]),
        ({"llama.attention.key_length": 32}, ["llama.attention.value_length", "32"]),
        ({"llama.attention.key_length": ..., "llama.attention.head_count": 3}, ["llama.attention.head_count"]),
        ({"llama.rope.dimension_count": 8}, ["llama.rope.dimension_count", "16"]),
        ({"llama.rope.freq_base": math.nan}, ["llama.rope.freq_base"]),
        ({"llama.rope.scaling.type": "longrope"}, ["llama.rope.scaling.type", "longrope"]),
        ({"llama.rope.scale_linear": 2.0}, ["llama.rope.scale_linear"]),
        ({"llama.attention.sliding_window": 8}, ["llama.attention.sliding_window"]),
        ({"llama.expert_count": 8}, ["llama.expert_used_count", "missing"]),
        ({"llama.logit_scale": 2.0}, ["llama.logit_scale"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_metadata_that_cannot_be_run(tmp_path: Path, changes: dict[str, Any], parts: list[str]) -> None:
    refused(write(tmp_path / "tiny.gguf", LLAMA.build(), changes=changes), *parts)


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def header(fields: bytes = b"", n_fields: int = 0, tensors: bytes = b"", n_tensors: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, n_tensors, n_fields) + fields + tensors


def field(key: bytes, kind: int, value: bytes) -> bytes:
    return header(text(key) + struct.pack("<I", kind) + value, 1)


def tensor(name: bytes, shape: list[int], kind: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, 0)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "not a GGUF file"),
        (b"PK\x03\x04" + bytes(100), "not a GGUF file"),
        (b"version https://git-lfs.github.com/spec/v1", "Git has only a pointer to the file here"),
        (b"GGUF", "the file ends"),
        (header(version=1), "version 1"),
        (header(version=3 << 24), "little-endian"),
        (header(n_tensors=2**62), "tensor 1 of"),
        (field(b"a", 8, HUGE), "a: the file ends"),
        (field(b"a", 8, text(b"\xff\xfe")), "utf-8"),
        (field(b"a", 9, struct.pack("<IQ", 8, 2**64 - 1)), "a: the file ends"),
        (field(b"a", 9, struct.pack("<IQ", 9, 1)), "type 9 in an array"),
        (field(b"a\nb", 4, bytes(4)), "'a\\nb'"),
        (header((text(b"a") + struct.pack("<IB", 0, 1)) * 2, 2), "no name of its own"),
        (header(tensors=tensor(b"a", [2**63, 2**63, 2**63, 2**63]), n_tensors=1), "cut off"),
        (header(tensors=tensor(b"a", [1] * 5), n_tensors=1), "5 axes"),
        (header(tensors=tensor(b"a", [33], kind=3), n_tensors=1), "rows of 32"),
        (header(tensors=tensor(b"a", [32], kind=99), n_tensors=1), "type 99"),
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
