"""Folders as Hugging Face lays them out: published configs, older spellings, and damage that is named."""

from __future__ import annotations

import dataclasses
import json
import re
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from checkpoint_makers import Reference, change_config
from safetensors.torch import load_file, save_file
from torch import Tensor

from viz_model.app import sidebar
from viz_model.checkpoints import huggingface, registry
from viz_model.checkpoints.archives import SafetensorsArchive
from viz_model.checkpoints.families import absent
from viz_model.checkpoints.weights import ModelError
from viz_model.config import (
    Dense,
    Gated,
    LanguageHead,
    LayerNorm,
    Learned,
    LinearScaling,
    Llama3Scaling,
    MaskedHead,
    ModelConfig,
    NoHead,
    RMSNorm,
    Rope,
    Sinusoidal,
    T5Bias,
    YarnScaling,
)
from viz_model.model.transformer import Transformer
from viz_model.texts import Texts

REFERENCES = {
    "gpt2": Reference("GPT2LMHeadModel"),
    "bert": Reference("BertForMaskedLM"),
    "t5": Reference("T5ForConditionalGeneration"),
    "llama": Reference("LlamaForCausalLM"),
    "qwen3": Reference("Qwen3ForCausalLM"),
    "marian": Reference("MarianMTModel"),
    "qwen2": Reference("Qwen2ForCausalLM"),
    "mistral": Reference("MistralForCausalLM"),
    "phi3": Reference("Phi3ForCausalLM"),
    "smollm3": Reference("SmolLM3ForCausalLM"),
    "gemma": Reference("GemmaForCausalLM"),
    "gpt_neo": Reference("GPTNeoForCausalLM"),
    "opt": Reference("OPTForCausalLM"),
    "roberta": Reference("RobertaForMaskedLM"),
    "distilbert": Reference("DistilBertForMaskedLM"),
    "bart": Reference("BartForConditionalGeneration"),
    "mbart": Reference("MBartForConditionalGeneration"),
    "gpt_neox": Reference("GPTNeoXForCausalLM"),
    "olmo2": Reference("Olmo2ForCausalLM"),
    "gemma3_text": Reference("Gemma3ForCausalLM"),
    "mixtral": Reference("MixtralForCausalLM"),
    "olmoe": Reference("OlmoeForCausalLM"),
    "qwen3_moe": Reference("Qwen3MoeForCausalLM", {"num_hidden_layers": 3, "mlp_only_layers": [1]}),
    "gemma2": Reference("Gemma2ForCausalLM"),
    "bloom": Reference("BloomForCausalLM"),
    "falcon": Reference("FalconForCausalLM"),
    "modernbert": Reference("ModernBertForMaskedLM"),
    "vit": Reference("ViTForImageClassification"),
    "glm4": Reference("Glm4ForCausalLM"),
    "olmo3": Reference("Olmo3ForCausalLM"),
    "phi": Reference("PhiForCausalLM"),
    "qwen2_moe": Reference("Qwen2MoeForCausalLM"),
    "seed_oss": Reference("SeedOssForCausalLM"),
    "stablelm": Reference("StableLmForCausalLM"),
    "starcoder2": Reference("Starcoder2ForCausalLM"),
    "cohere2": Reference("Cohere2ForCausalLM"),
    "granite": Reference("GraniteForCausalLM", {"tie_word_embeddings": True}),
    "nemotron": Reference("NemotronForCausalLM"),
    "deepseek_v3": Reference("DeepseekV3ForCausalLM"),
    "qwen3_next": Reference("Qwen3NextForCausalLM"),
    "gpt_oss": Reference("GptOssForCausalLM"),
    "lfm2": Reference("Lfm2ForCausalLM"),
    "electra": Reference("ElectraForMaskedLM"),
    "albert": Reference("AlbertForMaskedLM"),
    "gemma4_text": Reference("Gemma4ForCausalLM", {"num_kv_shared_layers": 2, "use_double_wide_mlp": True}),
}
GPT2, BERT, T5, LLAMA, QWEN3, MARIAN, QWEN2, MISTRAL, PHI3, SMOLLM3, GEMMA, GPT_NEO, OPT, *OTHERS = REFERENCES.values()
ROBERTA, DISTILBERT, BART, MBART, GPT_NEOX, OLMO2, GEMMA3, MIXTRAL, OLMOE, QWEN3_MOE, *LATER = OTHERS
GEMMA2, BLOOM, FALCON, MODERNBERT, VIT, *_ = LATER

Tensors = dict[str, Tensor]


@pytest.fixture(params=[pytest.param(r, marks=[pytest.mark.full] * bool(n % 3)) for n, r in enumerate(REFERENCES)])
def family_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A small model of each family."""
    REFERENCES[request.param].save(tmp_path)
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small GPT-2."""
    GPT2.save(tmp_path)
    return tmp_path


def change_tensors(folder: Path, change: Callable[[Tensors], Any]) -> Tensors:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file({name: value.clone().contiguous() for name, value in tensors.items()}, path)
    return tensors


def rename_tensors(folder: Path, pattern: str, replacement: str) -> None:
    def change(tensors: Tensors) -> None:
        renamed = {re.sub(pattern, replacement, name): tensors[name] for name in tensors}
        tensors.clear()
        tensors.update(renamed)

    change_tensors(folder, change)


def same(one: Transformer, other: Transformer) -> None:
    assert one.config == other.config
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in one.state_dict().items())


def refused(folder: Path, *parts: str) -> None:
    """Loading fails with one line that holds every one of ``parts``."""
    with pytest.raises(ModelError) as error:
        huggingface.load_folder(folder)
    message = str(error.value)
    assert "\n" not in message and str(folder) in message
    for part in parts:
        assert part in message


# --- What is published

PUBLISHED: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "published.json").read_text("utf-8"))
"""The ``config.json`` of published models."""

SWIGLU = {
    "norm": RMSNorm(eps=1e-5),
    "ffn": Gated(),
    "attention_bias": False,
    "scale_embedding": False,
    "tie_embeddings": False,
}
LLAMA3 = Llama3Scaling(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192)
T5_PARTS = {
    "kind": "encoder_decoder",
    "norm": RMSNorm(eps=1e-6),
    "position": T5Bias(buckets=32, max_distance=128),
    "attention_bias": False,
    "scale_scores": False,
    "scale_embedding": False,
    "start_id": 0,
}


def sizes(*numbers: int) -> dict[str, int]:
    return dict(zip(("n_vocab", "n_context", "n_layers", "d_model", "n_heads", "d_ffn"), numbers, strict=True))


def config(numbers: tuple[int, ...], **parts: Any) -> ModelConfig:
    return ModelConfig(**{**sizes(*numbers), **parts})


QWEN3_PARTS = {
    **SWIGLU,
    "norm": RMSNorm(eps=1e-6),
    "n_kv_heads": 8,
    "d_head": 128,
    "qk_norm": True,
    "position": Rope(base=1000000),
}
T5_V1_1 = config(
    (32128, 512, 8, 512, 6, 1024), **T5_PARTS, d_head=64, ffn=Gated(activation="gelu_tanh"), tie_embeddings=False
)
READ_AS = {
    "gpt2": config(
        (50257, 1024, 12, 768, 12, 3072), position=Learned(), ffn=Dense(activation="gelu_tanh"), scale_embedding=False
    ),
    "bert-base-uncased": config(
        (30522, 512, 12, 768, 12, 3072),
        kind="encoder",
        norm=LayerNorm(eps=1e-12),
        norm_at="post",
        position=Learned(),
        n_segments=2,
        embedding_norm=True,
        ffn=Dense(activation="gelu"),
        head=MaskedHead(activation="gelu"),
        scale_embedding=False,
    ),
    "t5-small": config(
        (32128, 512, 6, 512, 8, 2048),
        **T5_PARTS,
        d_head=64,
        ffn=Dense(activation="relu", bias=False),
        head=LanguageHead(scale=True),
    ),
    **dict.fromkeys(("t5-v1_1-small", "flan-t5-small"), T5_V1_1),
    "Llama-2-7b": config((32000, 4096, 32, 4096, 32, 11008), **SWIGLU, position=Rope()),
    "Llama-3-8B": config((128256, 8192, 32, 4096, 32, 14336), **SWIGLU, n_kv_heads=8, position=Rope(base=500000.0)),
    "Llama-3.1-8B": config(
        (128256, 131072, 32, 4096, 32, 14336), **SWIGLU, n_kv_heads=8, position=Rope(base=500000.0, scaling=LLAMA3)
    ),
    "Llama-3.2-1B": config(
        (128256, 131072, 16, 2048, 32, 8192),
        **{**SWIGLU, "tie_embeddings": True},
        n_kv_heads=8,
        d_head=64,
        position=Rope(base=500000.0, scaling=dataclasses.replace(LLAMA3, factor=32.0)),
    ),
    "TinyLlama-1.1B": config((32000, 2048, 22, 2048, 32, 5632), **SWIGLU, n_kv_heads=4, position=Rope()),
    "SmolLM2-135M": config(
        (49152, 8192, 30, 576, 9, 1536), **{**SWIGLU, "tie_embeddings": True}, n_kv_heads=3, position=Rope(base=100000)
    ),
    "Qwen3-0.6B": config((151936, 40960, 28, 1024, 16, 3072), **{**QWEN3_PARTS, "tie_embeddings": True}),
    "Qwen3-14B": config((151936, 40960, 40, 5120, 40, 17408), **QWEN3_PARTS),
    "opus-mt-en-de": config(
        (58101, 512, 6, 512, 8, 2048),
        kind="encoder_decoder",
        norm_at="post",
        position=Sinusoidal(layout="halves"),
        ffn=Dense(activation="silu"),
        head=LanguageHead(bias=True),
        start_id=58100,
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_configs(tmp_path: Path, name: str) -> None:
    tensors = ["cls.predictions.bias"] if name.startswith("bert") else []
    assert huggingface.read_config(tmp_path, PUBLISHED[name], tensors) == READ_AS[name]


def test_a_bert_without_a_head_gives_vectors(tmp_path: Path) -> None:
    found = huggingface.read_config(tmp_path, PUBLISHED["bert-base-uncased"], ["embeddings.word_embeddings.weight"])
    assert found.head == NoHead() and not found.has_logits


def test_every_family_is_tested() -> None:
    """Several names may stand for one family, which is tested once."""
    assert set(huggingface.FAMILIES.values()) == {huggingface.FAMILIES[name] for name in REFERENCES}


# --- Older and other spellings


@pytest.mark.parametrize(
    ("scaling", "expected"),
    [
        (None, None),
        ({"type": "linear", "factor": 4.0}, LinearScaling(factor=4.0)),
        ({"rope_type": "linear", "type": "linear", "factor": 4}, LinearScaling(factor=4.0)),
        ({"rope_type": "default"}, None),
        ({"rope_type": "yarn", "factor": 4.0}, YarnScaling(factor=4.0, original_context=16)),
        (
            {"type": "yarn", "factor": 0.5, "original_max_position_embeddings": 8, "beta_fast": 16},
            YarnScaling(factor=0.5, original_context=8, beta_fast=16.0, attention_factor=1.0),
        ),
    ],
)
@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
def test_rotations_of_both_generations(tmp_path: Path, scaling: Any, expected: Any, key: str) -> None:
    LLAMA.save(tmp_path)
    if key == "rope_scaling":
        change_config(tmp_path, rope_parameters=..., rope_scaling=scaling, rope_theta=77)
    else:
        change_config(tmp_path, rope_parameters={**(scaling or {}), "rope_theta": 77})
    assert huggingface.load_folder(tmp_path).config.position == Rope(base=77.0, scaling=expected)


def test_names_without_a_prefix(tmp_path: Path) -> None:
    for name, reference in REFERENCES.items():
        folder = tmp_path / name
        reference.save(folder)
        before = huggingface.load_folder(folder)
        rename_tensors(folder, r"^(transformer|bert|model)\.(?=h|w|ln|e\w*\.(?!layers)|layers|norm)", "")
        if name != "marian":  # its files always have one
            same(huggingface.load_folder(folder), before)


def test_what_published_gpt2_files_hold_besides(folder: Path) -> None:
    before = huggingface.load_folder(folder)
    rename_tensors(folder, r"^transformer\.", "")
    masks = {f"h.{i}.attn.bias": torch.ones(1, 1, 16, 16).tril() for i in range(2)}
    change_tensors(folder, lambda tensors: tensors.update(masks, **{"lm_head.weight": tensors["wte.weight"]}))
    same(huggingface.load_folder(folder), before)


def test_what_published_bert_files_hold_besides(tmp_path: Path) -> None:
    BERT.save(tmp_path)
    before = huggingface.load_folder(tmp_path)
    rename_tensors(tmp_path, r"LayerNorm\.weight", "LayerNorm.gamma")
    rename_tensors(tmp_path, r"LayerNorm\.bias", "LayerNorm.beta")
    change_tensors(
        tmp_path,
        lambda tensors: tensors.update(
            {
                "bert.embeddings.position_ids": torch.arange(16)[None],
                "bert.pooler.dense.weight": torch.zeros(24, 24),
                "bert.pooler.dense.bias": torch.zeros(24),
                "cls.seq_relationship.weight": torch.zeros(2, 24),
                "cls.seq_relationship.bias": torch.zeros(2),
                "cls.predictions.decoder.weight": tensors["bert.embeddings.word_embeddings.weight"],
                "cls.predictions.decoder.bias": tensors["cls.predictions.bias"],
            }
        ),
    )
    same(huggingface.load_folder(tmp_path), before)
    assert registry.load_folder(tmp_path).left_out == ("seq_relationship",)


def test_what_published_t5_files_hold_besides(tmp_path: Path) -> None:
    T5.save(tmp_path)
    before = huggingface.load_folder(tmp_path)
    change_config(tmp_path, scale_decoder_outputs=..., is_gated_act=..., dense_act_fn=..., decoder_start_token_id=0)
    copies = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    unused = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    change_tensors(
        tmp_path,
        lambda tensors: tensors.update(
            {name: tensors["shared.weight"] for name in copies}, **{unused: torch.ones(32, 3)}
        ),
    )
    same(huggingface.load_folder(tmp_path), before)


def test_what_published_llama_files_hold_besides(tmp_path: Path) -> None:
    LLAMA.save(tmp_path)
    before = huggingface.load_folder(tmp_path)
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    change_tensors(tmp_path, lambda tensors: tensors.update({name: torch.ones(4)}))
    same(huggingface.load_folder(tmp_path), before)


def test_what_published_marian_files_hold_besides(tmp_path: Path) -> None:
    MARIAN.save(tmp_path)
    before = huggingface.load_folder(tmp_path)
    copies = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
    waves = {f"model.{side}.embed_positions.weight": torch.ones(16, 24) for side in ("encoder", "decoder")}
    change_tensors(
        tmp_path, lambda tensors: tensors.update({name: tensors["model.shared.weight"] for name in copies}, **waves)
    )
    same(huggingface.load_folder(tmp_path), before)


def test_the_start_token_may_stand_beside_the_config(tmp_path: Path) -> None:
    T5.save(tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps({"decoder_start_token_id": 7, "top_k": 3}))
    assert huggingface.load_folder(tmp_path).config.start_id == 7
    (tmp_path / "generation_config.json").write_text("[]")
    refused(tmp_path, "generation_config.json", "object")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_are_computed_with_in_single(folder: Path, dtype: torch.dtype) -> None:
    stored = change_tensors(folder, lambda tensors: tensors.update({k: v.to(dtype) for k, v in tensors.items()}))
    model = huggingface.load_folder(folder)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert torch.equal(model.embedding.weight, stored["transformer.wte.weight"].float())
    assert not model.training and not any(p.requires_grad for p in model.parameters())


def test_loading_draws_no_random_numbers(folder: Path) -> None:
    before = torch.get_rng_state()
    huggingface.load_folder(folder)
    assert torch.equal(torch.get_rng_state(), before)


# --- Shards


def shard(folder: Path) -> dict[str, str]:
    """Two shards and their index in place of the single file."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    path.unlink()
    where = {name: f"model-0000{1 + n % 2}-of-00002.safetensors" for n, name in enumerate(tensors)}
    for file in set(where.values()):
        save_file({name: tensors[name] for name in tensors if where[name] == file}, folder / file)
    index(folder, where)
    return where


def index(folder: Path, weight_map: Any) -> None:
    plain = {"metadata": {"total_size": 1}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(plain))


def test_shards(family_folder: Path) -> None:
    before = huggingface.load_folder(family_folder)
    shard(family_folder)
    same(huggingface.load_folder(family_folder), before)


@pytest.mark.parametrize(
    "name",
    ["../model.safetensors", "/etc/passwd", "sub/model.safetensors", "..", "", "a\\b.safetensors", "x.bin", 5, None],
)
def test_shards_lie_in_the_folder(folder: Path, name: Any) -> None:
    where = shard(folder)
    index(folder, {**where, "transformer.wte.weight": name})
    refused(folder, "index.json", "weight_map", repr(name))


def test_damaged_shards(folder: Path) -> None:
    where = shard(folder)
    name, file = next(iter(where.items()))
    index(folder, {k: v for k, v in where.items() if k != name})
    refused(folder, file, name, "not in the index")
    index(folder, {**where, "extra": file})
    refused(folder, file, "extra", "missing")
    index(folder, {**where, name: "model-00003-of-00003.safetensors"})
    refused(folder, "model-0000")
    nothing: list[Any] = [[], {}, None, "x"]
    for wrong in nothing:
        index(folder, wrong)
        refused(folder, "index.json", "weight_map")
    (folder / "model.safetensors.index.json").write_text("{")
    refused(folder, "index.json")
    index(folder, where)
    (folder / file).write_bytes((folder / file).read_bytes()[:-1])
    refused(folder, file)
    (folder / file).unlink()
    refused(folder, file)


# --- Damaged weights


@pytest.mark.parametrize("keep", [0, 4, 8, 100, 2000, -1, -1000])
def test_truncated_weights(folder: Path, keep: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    refused(folder, "model.safetensors")


def header(plain: dict[str, Any]) -> bytes:
    text = json.dumps(plain).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    "data",
    [
        b"PK\x03\x04" + bytes(1000),
        (2**62).to_bytes(8, "little") + bytes(100),
        header({"x": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}),
        header({"x": {"dtype": "F32", "shape": [2**20], "data_offsets": [0, 8]}}) + bytes(8),
        header({"x": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 8]}}) + bytes(8),
        header({"x": {"dtype": "F1", "shape": [1], "data_offsets": [0, 4]}}) + bytes(4),
        header({"x": 1}),
    ],
)
def test_weights_that_are_something_else(folder: Path, data: bytes) -> None:
    (folder / "model.safetensors").write_bytes(data)
    refused(folder, "model.safetensors")


def test_weights_that_are_a_folder(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()
    refused(folder, "model.safetensors")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth", "pytorch_model-00001-of-00002.bin"])
def test_pickles_run_nothing(folder: Path, name: str) -> None:
    (folder / "model.safetensors").unlink()
    refused(folder, "model.safetensors", "no such file")
    (folder / name).write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    refused(folder, name, "pickle", "run code")


@pytest.mark.parametrize("kept", [["weights"], {"weight": 1}, b"", b"text", b"PK\x03\x04" + bytes(100)])
def test_a_bin_without_tensors(folder: Path, kept: Any) -> None:
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    if isinstance(kept, bytes):
        path.write_bytes(kept)
    else:
        torch.save(kept, path)
    refused(folder, "pytorch_model.bin")


@pytest.mark.parametrize("how", ["one", "former", "shards", "module.", "_orig_mod."])
def test_tensors_are_read_from_a_bin_and_from_wrapped_names(folder: Path, how: str) -> None:
    expected = huggingface.load_folder(folder).state_dict()
    tensors = load_file(folder / "model.safetensors")
    if how.endswith("."):
        save_file({f"{how}{name}": tensor for name, tensor in tensors.items()}, folder / "model.safetensors")
    else:
        (folder / "model.safetensors").unlink()
        parts = {"pytorch_model.bin": list(tensors)}
        if how == "shards":
            parts = {f"pytorch_model-{n}-of-2.bin": list(tensors)[n::2] for n in range(2)}
            weight_map = {name: file for file, names in parts.items() for name in names}
            (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))
        for file, names in parts.items():
            own = {name: tensors[name] for name in names}
            torch.save(own, folder / file, _use_new_zipfile_serialization=how != "former")
    found = huggingface.load_folder(folder).state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_bart_without_a_head_is_read_as_transformers_reads_it(tmp_path: Path) -> None:
    Reference("BartModel").save(tmp_path)
    found = huggingface.load_folder(tmp_path)
    model: Any = transformers.BartForConditionalGeneration.from_pretrained(tmp_path)
    ids, target = torch.tensor([[5, 6, 7]]), torch.tensor([[2, 9, 4]])
    with torch.no_grad():
        expected = model(input_ids=ids, decoder_input_ids=target).logits[0]
    torch.testing.assert_close(found(ids, target)[0], expected, atol=1e-4, rtol=1e-4)


def test_what_changes_nothing_refuses_nothing(tmp_path: Path) -> None:
    Reference("LlamaForCausalLM").save(tmp_path)
    expected = huggingface.load_folder(tmp_path).config
    change_config(
        tmp_path,
        attn_implementation="sdpa", model_max_length=7, keys_to_ignore_at_inference=["x"], license="mit",
        layer_types=["full_attention"] * 2, use_sliding_window=False, sentence_transformers={"version": "4"},
        cache_implementation="static", neftune_noise_alpha=5,
        auto_map={"AutoConfig": "configuration_llama.LlamaConfig", "AutoModel": "modeling_llama.LlamaModel"},
    )  # fmt: skip
    assert huggingface.load_folder(tmp_path).config == expected


def test_safetensors_are_preferred_to_pickles(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    huggingface.load_folder(folder)


def one_of_each_kind(names: Iterable[str]) -> list[str]:
    """Of tensors that differ in the number of their layer the last."""
    return list({re.sub(r"\d+", "#", name): name for name in names}.values())


def test_a_missing_tensor(family_folder: Path) -> None:
    before = load_file(family_folder / "model.safetensors")
    for name in one_of_each_kind(before):
        save_file({k: v for k, v in before.items() if k != name}, family_folder / "model.safetensors")
        refused(family_folder, "model.safetensors", repr(name), "missing")


def test_an_extra_tensor(family_folder: Path) -> None:
    change_tensors(family_folder, lambda tensors: tensors.update({"model.visual.weight": torch.zeros(1)}))
    refused(family_folder, "model.safetensors", "'model.visual.weight'", "no place")


def test_a_layer_too_many(folder: Path) -> None:
    change_tensors(folder, lambda tensors: tensors.update({"transformer.h.2.ln_1.weight": torch.zeros(24)}))
    refused(folder, "model.safetensors", "'transformer.h.2.ln_1.weight'", "no place")


def test_a_tensor_of_another_shape(family_folder: Path) -> None:
    before = load_file(family_folder / "model.safetensors")
    for name in one_of_each_kind(before):
        save_file({**before, name: torch.zeros(7, 5)}, family_folder / "model.safetensors")
        refused(family_folder, "model.safetensors", name, "[7, 5]", str(list(before[name].shape)))


def test_a_tensor_of_whole_numbers(folder: Path) -> None:
    name = "transformer.wpe.weight"
    change_tensors(folder, lambda tensors: tensors.update({name: tensors[name].to(torch.int8)}))
    refused(folder, "model.safetensors", name, "I8")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite(folder: Path, value: float) -> None:
    change_tensors(folder, lambda tensors: tensors["transformer.h.1.mlp.c_fc.weight"][3, 4].fill_(value))
    refused(folder, "model.safetensors", "transformer.h.1.mlp.c_fc.weight", "finite")


def test_copies_that_differ(tmp_path: Path) -> None:
    Reference("T5ForConditionalGeneration").save(tmp_path)
    other = {"encoder.embed_tokens.weight": load_file(tmp_path / "model.safetensors")["shared.weight"] + 1}
    change_tensors(tmp_path, lambda tensors: tensors.update(other))
    refused(tmp_path, "model.safetensors", "encoder.embed_tokens.weight", "copy")


def test_an_archive_says_its_shapes_without_reading(folder: Path) -> None:
    archive = SafetensorsArchive(folder)
    assert archive.shapes["transformer.h.0.attn.c_attn.weight"] == (24, 72)
    assert archive.read("transformer.wte.weight").dtype == torch.float32


# --- Damaged configs


@pytest.mark.parametrize("text", ["", "{", "[1]", "\x00", '"x"', "[" * 100_000, '{"model_type": "gpt2"', "1" * 5000])
def test_a_damaged_config(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text)
    refused(folder, "config.json")


def test_a_config_beyond_all_bounds(folder: Path) -> None:
    (folder / "config.json").write_text(" " * 2**20 + "{}")
    refused(folder, "config.json", "longer")
    (folder / "config.json").unlink()
    refused(folder, "config.json")


@pytest.mark.parametrize("name", absent.ABSENT)
def test_a_family_that_is_known_and_not_read(folder: Path, name: str) -> None:
    nearest, needed = absent.ABSENT[name]
    assert nearest in huggingface.FAMILIES and name not in huggingface.FAMILIES
    change_config(folder, model_type=name)
    refused(folder, "config.json", f"'{name}'", f"nearest that is read is {nearest}", needed)


def test_an_unknown_family_is_told_what_knows_most_of_its_attributes(folder: Path) -> None:
    change_config(folder, model_type="another")
    refused(
        folder, "'another' is not read here; the nearest that is read is gpt2, which knows all its", "observe_model"
    )
    made = {"AriaTextConfig": ("llama", "moe_topk"), "VoxtralConfig": ("llama, which does not know audio_config",)}
    same = ("Bart", "Bert", "GPT2", "Llama", "Mixtral", "T5")
    made |= {f"{name}Config": (f"is {name.lower()}, which knows",) for name in same}
    for name, said in made.items():
        plain = getattr(transformers, name)().to_dict()
        plain["model_type"] = f"{plain['model_type']}_of_mine"
        (folder / "config.json").write_text(json.dumps(plain, default=str), encoding="utf-8")
        refused(folder, f"'{plain['model_type']}' is not read here; the nearest", *said)
    change_config(folder, model_type=3)
    refused(folder, "model_type: expected the name of a family, got 3")


def test_older_spellings_of_newer_families(tmp_path: Path) -> None:
    GEMMA3.save(tmp_path / "gemma")
    old = {"sliding_window_pattern": 2, "rope_theta": 90.0, "rope_local_base_freq": 20.0}
    scaled = {"rope_type": "linear", "factor": 8.0}
    change_config(tmp_path / "gemma", layer_types=..., rope_parameters=..., rope_scaling=scaled, **old)
    found = huggingface.load_folder(tmp_path / "gemma").config
    nearby, everywhere = Rope(base=20.0), Rope(base=90.0, scaling=LinearScaling(factor=8.0))
    assert found.windows == (3, 0, 3) and found.positions == (nearby, everywhere, nearby)
    GPT_NEOX.save(tmp_path / "neox")
    change_config(tmp_path / "neox", rope_parameters=..., rotary_pct=0.75, rotary_emb_base=200)
    assert huggingface.load_folder(tmp_path / "neox").config.position == Rope(base=200.0, fraction=0.75)
    QWEN2.save(tmp_path / "qwen")
    change_config(tmp_path / "qwen", rope_parameters=..., rope_theta=1e6, layer_types=..., use_sliding_window=True)
    assert huggingface.load_folder(tmp_path / "qwen").config.windows == ()  # none from layer 28 on
    change_config(tmp_path / "qwen", max_window_layers=1, sliding_window=4)
    assert huggingface.load_folder(tmp_path / "qwen").config.windows == (0, 4)


@pytest.mark.parametrize(
    ("model", "left_out"),
    [
        ("BertForTokenClassification", ("classifier",)),
        ("BertForMultipleChoice", ("classifier",)),
        ("BertForQuestionAnswering", ("qa_outputs",)),
        ("RobertaForTokenClassification", ("classifier",)),
        ("DistilBertForMultipleChoice", ("classifier", "pre_classifier")),
        ("DistilBertForQuestionAnswering", ("qa_outputs",)),
        ("ModernBertForSequenceClassification", ("classifier", "head")),
        ("BertForMaskedLM", ()),
    ],
)
@torch.no_grad()
def test_the_head_of_a_task_is_left_out_and_told(tmp_path: Path, model: str, left_out: tuple[str, ...]) -> None:
    theirs = Reference(model, {"num_labels": 2 if "Question" in model else 3}).save(tmp_path)
    lm = registry.load_folder(tmp_path)
    assert lm.left_out == left_out and lm.config.has_logits == (not left_out)
    told = [sidebar.model("tiny", lm, Texts(language)) for language in ("en", "zh")]
    assert all(f"`{part}`" in text for text in told for part in left_out)
    ids = [5, 9, 12, 30]
    expected = theirs.base_model(torch.tensor([ids])).last_hidden_state[0]
    run = lm.trace(ids=ids)
    torch.testing.assert_close(run[run.leaving], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("made", [GPT2, Reference("LlamaForCausalLM", {"tie_word_embeddings": True})], ids=str)
def test_another_head_beside_the_embedding(made: Reference, tmp_path: Path) -> None:
    made.save(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    (table,) = (tensor for name, tensor in tensors.items() if name.endswith(("wte.weight", "embed_tokens.weight")))
    save_file(
        tensors | {"lm_head.weight": table.flip(0).contiguous()}, tmp_path / "model.safetensors", {"format": "pt"}
    )
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    with pytest.warns(
        UserWarning, match="config.json: config.json says tie_word_embeddings, but the file holds another"
    ):
        lm = registry.load(tmp_path)
    assert lm.notices == ("untied",) and not lm.config.tie_embeddings
    assert registry._read_config(tmp_path) == lm.config
    ids = [3, 1, 4, 1, 5]
    expected = theirs(torch.tensor([ids])).logits[0].detach()
    torch.testing.assert_close(lm.trace(ids=ids)["logits"], expected, atol=1e-5, rtol=1e-5)
    save_file(tensors | {"lm_head.weight": table.clone()}, tmp_path / "model.safetensors", {"format": "pt"})
    assert registry.load(tmp_path).notices == ()


def test_a_model_saved_without_a_head_says_so(tmp_path: Path) -> None:
    Reference("LlamaModel", {"tie_word_embeddings": True}).save(tmp_path)
    with pytest.warns(UserWarning, match="saved without a head"):
        assert registry.load(tmp_path).notices == ("no_head",)


@pytest.mark.parametrize(("proj", "act", "gated"), [("relu", "gelu_new", False), ("gated-gelu", "relu", True)])
def test_halves_of_a_feed_forward_that_disagree(proj: str, act: str, gated: bool, tmp_path: Path) -> None:
    Reference("T5ForConditionalGeneration", {"feed_forward_proj": proj}).save(tmp_path)
    change_config(tmp_path, dense_act_fn=act, is_gated_act=gated)
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    ids, target = [3, 1, 4, 1, 5], [0, 2, 6]
    asked = {"input_ids": torch.tensor([ids]), "decoder_input_ids": torch.tensor([target])}
    run = registry.load(tmp_path).trace(ids=ids, target_ids=target)
    torch.testing.assert_close(run["logits"], theirs(**asked).logits[0].detach(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("model_type", ["jukebox", "", None, 3, ["gpt2"], "x" * 10_000, ...])
def test_an_unknown_family(folder: Path, model_type: Any) -> None:
    change_config(folder, model_type=model_type)
    said = "nearest that is read is gpt2" if isinstance(model_type, str) else "expected the name of a family"
    refused(folder, "config.json", "model_type", said)


def test_an_attribute_nobody_reads(family_folder: Path) -> None:
    change_config(family_folder, attention_sink_tokens=4)
    refused(family_folder, "config.json", "attention_sink_tokens", "not supported")


@pytest.mark.parametrize(
    ("reference", "changes", "field"),
    [
        (GPT2, {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
        (GPT2, {"add_cross_attention": True}, "add_cross_attention"),
        (GPT2, {"activation_function": "mish"}, "activation_function"),
        (GPT2, {"n_head": 5}, "n_head"),
        (GPT2, {"n_head": 0}, "n_head"),
        (GPT2, {"n_layer": 10**9}, "n_layer"),
        (GPT2, {"n_layer": -1}, "n_layer"),
        (GPT2, {"n_embd": 24.0}, "n_embd"),
        (GPT2, {"n_embd": "24"}, "n_embd"),
        (GPT2, {"n_embd": True}, "n_embd"),
        (GPT2, {"n_positions": 2**40}, "n_positions"),
        (GPT2, {"vocab_size": 2**40}, "vocab_size"),
        (GPT2, {"n_inner": 10**9}, "n_inner"),
        (GPT2, {"layer_norm_epsilon": 0}, "layer_norm_epsilon"),
        (GPT2, {"layer_norm_epsilon": float("nan")}, "layer_norm_epsilon"),
        (GPT2, {"tie_word_embeddings": "yes"}, "tie_word_embeddings"),
        (GPT2, {"quantization_config": {"bits": 4}}, "quantization_config"),
        (GPT2, {"pruned_heads": {"0": [1]}}, "pruned_heads"),
        (GPT2, {"auto_map": {"AutoModel": "code.Model"}}, "auto_map"),
        (BERT, {"position_embedding_type": "relative_key"}, "position_embedding_type"),
        (BERT, {"is_decoder": True}, "is_decoder"),
        (BERT, {"num_attention_heads": 5}, "num_attention_heads"),
        (BERT, {"type_vocab_size": 10**6}, "type_vocab_size"),
        (BERT, {"hidden_act": ["gelu"]}, "hidden_act"),
        (T5, {"feed_forward_proj": "gated-exp"}, "feed_forward_proj"),
        (T5, {"relative_attention_num_buckets": 30}, "relative_attention_num_buckets"),
        (T5, {"num_layers": 10**9}, "num_layers"),
        (T5, {"num_decoder_layers": 10**9}, "num_decoder_layers"),
        (T5, {"d_kv": 10**9}, "d_kv"),
        (T5, {"decoder_start_token_id": 10**6}, "decoder_start_token_id"),
        (LLAMA, {"num_key_value_heads": 2}, "num_key_value_heads"),
        (LLAMA, {"head_dim": 7}, "rope"),
        (LLAMA, {"rope_interleaved": True}, "rope_interleaved"),
        (LLAMA, {"rope_parameters": {"rope_type": "su", "factor": 2.0}}, "'su'"),
        (LLAMA, {"rope_parameters": {"rope_type": "longrope", "factor": 2.0}}, "0 factors for 4 pairs"),
        (LLAMA, {"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "attn_factor": 2.0}}, "attn_factor"),
        (LLAMA, {"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        (LLAMA, {"use_sliding_window": True}, "use_sliding_window"),
        (LLAMA, {"auto_map": {"AutoModelForCausalLM": "modeling_x.OtherForCausalLM"}}, "auto_map"),
        (LLAMA, {"quantization_config": {"quant_method": "awq", "bits": 4}}, "AWQ of 4 bits"),
        (LLAMA, {"rope_parameters": {"rope_type": "linear"}}, "rope_parameters: factor: missing"),
        (LLAMA, {"rope_parameters": {"rope_type": "linear", "factor": -1.0}}, "factor"),
        (LLAMA, {"rope_parameters": {"rope_type": "default", "mscale": 1.0}}, "rope_parameters: mscale"),
        (LLAMA, {"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor"),
        (LLAMA, {"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "truncate": 1}}, "truncate"),
        (LLAMA, {"rope_parameters": [1]}, "rope_parameters"),
        (LLAMA, {"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling"),
        (LLAMA, {"num_hidden_layers": 10**9}, "num_hidden_layers"),
        (QWEN3, {"num_hidden_layers": 10**9, "use_sliding_window": True, "layer_types": None}, "num_hidden_layers"),
        (QWEN3, {"layer_types": ["full_attention", "chunked_attention"]}, "layer_types"),
        (QWEN3, {"layer_types": ["sliding_attention", "full_attention"]}, "sliding_window"),
        (QWEN3, {"layer_types": ["sliding_attention"], "use_sliding_window": True, "sliding_window": 4}, "layer_types"),
        (QWEN3, {"layer_types": "full_attention"}, "layer_types"),
        (QWEN2, {"use_mrope": True}, "use_mrope"),
        (QWEN2, {"attention_bias": False}, "attention_bias"),
        (MISTRAL, {"sliding_window": -1}, "sliding_window"),
        (PHI3, {"rope_scaling": {"type": "longrope", "short_factor": [1.0]}, "rope_parameters": None}, "1 factors"),
        (PHI3, {"attention_bias": True}, "attention_bias"),
        (PHI3, {"rope_parameters": {"partial_rotary_factor": 0.5}}, "rotation takes pairs"),
        (SMOLLM3, {"no_rope_layers": [1, 0]}, "no_rope_layers"),
        (SMOLLM3, {"no_rope_layers": [1, 0, 1, 2]}, "no_rope_layers"),
        (SMOLLM3, {"layer_types": ["sliding_attention"] * 4}, "sliding_window"),
        (SMOLLM3, {"num_hidden_layers": 10**9}, "num_hidden_layers"),
        (GEMMA, {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        (GEMMA, {"hidden_activation": "exp"}, "hidden_activation"),
        (GPT_NEO, {"attention_types": [[["global"], 10**9]]}, "attention_types"),
        (GPT_NEO, {"attention_types": [["nearby", 2]], "attention_layers": None}, "attention_types"),
        (GPT_NEO, {"attention_types": [[["global"], 3]], "attention_layers": None}, "attention_types"),
        (GPT_NEO, {"attention_layers": ["local", "global"]}, "attention_layers"),
        (OPT, {"word_embed_proj_dim": 12}, "word_embed_proj_dim"),
        (OPT, {"layer_norm_elementwise_affine": False}, "layer_norm_elementwise_affine"),
        (GPT_NEOX, {"rope_parameters": None, "rotary_pct": 0.1}, "rotary_pct"),
        (OLMO2, {"clip_qkv": 8.0}, "clip_qkv"),
        (GEMMA3, {"query_pre_attn_scalar": -24}, "query_pre_attn_scalar"),
        (GEMMA3, {"attn_logit_softcapping": 30.0}, "attn_logit_softcapping"),
        (GEMMA2, {"attn_logit_softcapping": 0.0}, "attn_logit_softcapping"),
        (GEMMA2, {"final_logit_softcapping": "30"}, "final_logit_softcapping"),
        (GEMMA2, {"layer_types": ["chunked_attention"] * 3}, "layer_types"),
        (GEMMA2, {"sliding_window": None}, "sliding_window"),
        (GEMMA2, {"num_hidden_layers": 10**9, "layer_types": None}, "num_hidden_layers"),
        (BLOOM, {"apply_residual_connection_post_layernorm": True}, "apply_residual_connection_post_layernorm"),
        (BLOOM, {"layer_norm_epsilon": 0}, "layer_norm_epsilon"),
        (FALCON, {"new_decoder_architecture": True, "parallel_attn": False}, "parallel_attn"),
        (FALCON, {"num_ln_in_parallel_attn": 2}, "num_ln_in_parallel_attn"),
        (MODERNBERT, {"local_attention": 0}, "local_attention"),
        (MODERNBERT, {"num_hidden_layers": 10**9, "layer_types": None}, "num_hidden_layers"),
        (MODERNBERT, {"rope_parameters": {"chunked_attention": {}}}, "chunked_attention"),
        (GEMMA3, {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        (GEMMA3, {"sliding_window": None}, "sliding_window"),
        (GEMMA3, {"rope_parameters": {"full_attention": {"rope_type": "dynamic"}}}, "factor: missing"),
        (GEMMA3, {"rope_parameters": {"chunked_attention": {}}}, "chunked_attention"),
        (GEMMA3, {"num_hidden_layers": 10**9, "layer_types": None}, "num_hidden_layers"),
        (ROBERTA, {"pad_token_id": 0}, "pad_token_id"),
        (ROBERTA, {"max_position_embeddings": 2}, "max_position_embeddings"),
        (DISTILBERT, {"activation": "exp"}, "activation"),
        (BART, {"normalize_before": True}, "normalize_before"),
        (BART, {"decoder_ffn_dim": 30}, "decoder_ffn_dim"),
        (BART, {"extra_pos_embeddings": 1}, "extra_pos_embeddings"),
        (MBART, {"add_final_layer_norm": False}, "add_final_layer_norm"),
        (MARIAN, {"decoder_attention_heads": 4}, "decoder_attention_heads"),
        (MARIAN, {"decoder_vocab_size": 60}, "decoder_vocab_size"),
        (MARIAN, {"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings"),
        (MARIAN, {"normalize_before": True}, "normalize_before"),
        (MARIAN, {"d_model": 25}, "encoder_attention_heads"),
        (MARIAN, {"encoder_layers": 10**9}, "encoder_layers"),
    ],
)
def test_a_config_of_something_else(tmp_path: Path, reference: Reference, changes: dict[str, Any], field: str) -> None:
    reference.save(tmp_path)
    change_config(tmp_path, **changes)
    refused(tmp_path, "config.json", field)


@pytest.mark.full
@pytest.mark.parametrize(
    ("reference", "changes", "part"),
    [
        # Within the limits of a config; built, they would take from 100 GB to 100 TB.
        (GPT2, {"n_layer": 512, "n_embd": 2**12, "n_head": 16}, "missing"),
        (GPT2, {"n_embd": 2**16, "n_head": 16, "n_inner": 2**18}, "shape"),
        (GPT2, {"vocab_size": 2**20, "n_embd": 2**16, "n_head": 2}, "shape"),
        (GPT2, {"n_positions": 2**20, "n_embd": 2**16, "n_head": 2}, "shape"),
        (BERT, {"num_hidden_layers": 512, "hidden_size": 2**16, "num_attention_heads": 2}, "missing"),
        (T5, {"d_kv": 2**12, "num_heads": 2**10, "num_layers": 512}, "missing"),
        (LLAMA, {"num_hidden_layers": 512, "hidden_size": 2**16, "intermediate_size": 2**18}, "missing"),
        (LLAMA, {"max_position_embeddings": 2**20, "vocab_size": 2**20}, "shape"),
    ],
)
def test_a_config_larger_than_its_weights_costs_no_memory(
    tmp_path: Path, reference: Reference, changes: dict[str, Any], part: str
) -> None:
    reference.save(tmp_path)
    change_config(tmp_path, **changes)
    peak, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    refused(tmp_path, "model.safetensors", part)
    assert time.process_time() - began < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 100_000  # kB


def test_layers_of_gemma_4_are_named_with_as_many_digits_as_the_last(tmp_path: Path) -> None:
    Reference("Gemma4ForCausalLM", {"num_hidden_layers": 12, "layer_types": None}).save(tmp_path)
    config = huggingface.load_folder(tmp_path).config
    assert [config.of_layer("decoder", n).d_head for n in range(12)] == [10, 10, 10, 10, 10, 14] * 2


def test_experts_of_gemma_4_are_refused_by_name(tmp_path: Path) -> None:
    Reference("Gemma4ForCausalLM").save(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"enable_moe_block": True}))
    with pytest.raises(ModelError, match="enable_moe_block: experts beside a network for all tokens are not read here"):
        huggingface.load_folder(tmp_path)
