"""Folders as Hugging Face lays them out: published configs, older spellings, and damage that is named."""

import json
import re
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from checkpoint_makers import REFERENCES, SIZES, Reference, change_config, compared, logits_of, reference, refused
from safetensors.torch import load_file, save_file
from tiny_models import close
from torch import Tensor

import viz_model as vm
from viz_model.app import sidebar
from viz_model.checkpoints import huggingface, registry
from viz_model.checkpoints.families import absent
from viz_model.config import LinearScaling, Rope
from viz_model.model.transformer import Transformer
from viz_model.texts import Texts

Tensors = dict[str, Tensor]
PUBLISHED: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "published.json").read_text("utf-8"))
"""The ``config.json`` of published models."""
OUTSIDE: list[Any] = ["../model.safetensors", "/etc/passwd", "sub/model.safetensors", "", "a\\b.safetensors", None]


@pytest.fixture(params=[pytest.param(r, marks=[pytest.mark.full] * bool(n % 3)) for n, r in enumerate(REFERENCES)])
def family_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A small model of each family."""
    REFERENCES[request.param].save(tmp_path)
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small GPT-2."""
    reference("gpt2").save(tmp_path)
    return tmp_path


def change_tensors(folder: Path, change: Callable[[Tensors], Any]) -> Tensors:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file({name: value.clone().contiguous() for name, value in tensors.items()}, path)
    return tensors


def rename_tensors(folder: Path, pattern: str, replacement: str) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file({re.sub(pattern, replacement, name): tensors[name] for name in tensors}, folder / "model.safetensors")


def same(one: Transformer, other: Transformer) -> None:
    assert one.config == other.config
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in one.state_dict().items())


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_configs_are_read_as_transformers_reads_them(tmp_path: Path, name: str) -> None:
    plain = PUBLISHED[name]
    made = plain["architectures"][0]
    sizes = {"num_key_value_heads": 1, "num_hidden_layers": 2, **SIZES[Reference(made).family]}
    plain = {**plain, **{key: size for key, size in sizes.items() if key in plain}}
    untied = made.startswith("T5") and not plain.get("tie_word_embeddings", True)
    theirs = Reference(made, plain, untied).save(tmp_path).float()
    (tmp_path / "config.json").write_text(json.dumps(plain))
    compared(theirs, vm.load(tmp_path).model, 20, close)
    assert huggingface.read_config(tmp_path, PUBLISHED[name], []).n_layers > 2  # none of its own sizes is too large


def test_names_without_a_prefix(tmp_path: Path) -> None:
    for name, made in REFERENCES.items():
        folder = tmp_path / name
        made.save(folder)
        before = vm.load(folder).model
        rename_tensors(folder, r"^(transformer|bert|model)\.(?=h|w|ln|e\w*\.(?!layers)|layers|norm)", "")
        if name != "marian":  # its files always have one
            same(vm.load(folder).model, before)


BESIDES: dict[str, tuple[dict[str, str], Callable[[Tensors], Tensors]]] = {
    "gpt2": (
        {r"^transformer\.": ""},
        lambda tensors: {"h.0.attn.bias": torch.ones(1, 1, 16, 16).tril(), "lm_head.weight": tensors["wte.weight"]},
    ),
    "bert": (
        {r"LayerNorm\.weight": "LayerNorm.gamma", r"LayerNorm\.bias": "LayerNorm.beta"},
        lambda tensors: {
            "bert.embeddings.position_ids": torch.arange(16)[None],
            **{f"bert.pooler.dense.{end}": torch.zeros(24) for end in ("weight", "bias")},
            **{f"cls.seq_relationship.{end}": torch.zeros(2) for end in ("weight", "bias")},
            "cls.predictions.decoder.weight": tensors["bert.embeddings.word_embeddings.weight"],
            "cls.predictions.decoder.bias": tensors["cls.predictions.bias"],
        },
    ),
    "t5": (
        {},
        lambda tensors: {
            **dict.fromkeys(("encoder.embed_tokens.weight", "lm_head.weight"), tensors["shared.weight"]),
            "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": torch.ones(32, 3),
        },
    ),
    "llama": ({}, lambda tensors: {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}),
    "marian": (
        {},
        lambda tensors: {
            **dict.fromkeys(("model.decoder.embed_tokens.weight", "lm_head.weight"), tensors["model.shared.weight"]),
            **{f"model.{side}.embed_positions.weight": torch.ones(16, 24) for side in ("encoder", "decoder")},
        },
    ),
}
"""What published files of a family call otherwise, and what they hold besides."""


@pytest.mark.parametrize("family", BESIDES)
def test_what_published_files_hold_besides(tmp_path: Path, family: str) -> None:
    reference(family).save(tmp_path)
    before, (renamed, besides) = vm.load(tmp_path).model, BESIDES[family]
    for pattern, replacement in renamed.items():
        rename_tensors(tmp_path, pattern, replacement)
    change_tensors(tmp_path, lambda tensors: tensors.update(besides(tensors)))
    if family == "t5":
        absent = dict.fromkeys(("scale_decoder_outputs", "is_gated_act", "dense_act_fn"), ...)
        change_config(tmp_path, decoder_start_token_id=0, **absent)
    same(vm.load(tmp_path).model, before)
    if family == "bert":
        assert registry.load_folder(tmp_path).left_out == ("seq_relationship",)


def test_the_start_token_may_stand_beside_the_config(tmp_path: Path) -> None:
    reference("t5").save(tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps({"decoder_start_token_id": 7, "top_k": 3}))
    assert vm.load(tmp_path).model.config.start_id == 7
    (tmp_path / "generation_config.json").write_text("[]")
    refused(tmp_path, "generation_config.json", "object")


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


def test_shards_lie_in_the_folder_and_are_whole(folder: Path) -> None:
    before = vm.load(folder).model
    where = shard(folder)
    same(vm.load(folder).model, before)
    for outside in OUTSIDE:
        index(folder, {**where, "transformer.wte.weight": outside})
        refused(folder, "index.json", "weight_map", repr(outside))
    name, file = next(iter(where.items()))
    index(folder, {k: v for k, v in where.items() if k != name})
    refused(folder, file, name, "not in the index")
    index(folder, {**where, "extra": file})
    refused(folder, file, "extra", "missing")
    index(folder, {**where, name: "model-00003-of-00003.safetensors"})
    refused(folder, "model-0000")
    index(folder, {})
    refused(folder, "index.json", "weight_map")
    (folder / "model.safetensors.index.json").write_text("{")
    refused(folder, "index.json")
    index(folder, where)
    (folder / file).unlink()
    refused(folder, file)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth"])
def test_pickles_run_nothing(folder: Path, name: str) -> None:
    (folder / "model.safetensors").unlink()
    refused(folder, "model.safetensors", "no such file")
    (folder / name).write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    refused(folder, name, "pickle", "run code")
    if name.endswith(".bin"):
        (folder / name).write_bytes(b"abc")
        refused(folder, name, "damaged, or not as PyTorch saves tensors")
    reference("gpt2").save(folder)
    vm.load(folder)  # which has the same as safetensors


@pytest.mark.parametrize("how", ["one", "former", "shards", "module.", "_orig_mod."])
def test_tensors_are_read_from_a_bin_and_from_wrapped_names(folder: Path, how: str) -> None:
    expected = vm.load(folder).model.state_dict()
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
    found = vm.load(folder).model.state_dict()
    assert found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in expected)


def test_bart_without_a_head_is_read_as_transformers_reads_it(tmp_path: Path) -> None:
    Reference("BartModel").save(tmp_path)
    theirs: Any = transformers.BartForConditionalGeneration.from_pretrained(tmp_path, attn_implementation="eager")
    compared(theirs, vm.load(tmp_path).model, 5, close)


def test_what_changes_nothing_refuses_nothing(tmp_path: Path) -> None:
    Reference("LlamaForCausalLM").save(tmp_path)
    expected = vm.load(tmp_path).model.config
    change_config(
        tmp_path,
        attn_implementation="sdpa", model_max_length=7, keys_to_ignore_at_inference=["x"], license="mit",
        layer_types=["full_attention"] * 2, use_sliding_window=False, sentence_transformers={"version": "4"},
        cache_implementation="static", neftune_noise_alpha=5,
        auto_map={"AutoConfig": "configuration_llama.LlamaConfig", "AutoModel": "modeling_llama.LlamaModel"},
    )  # fmt: skip
    assert vm.load(tmp_path).model.config == expected


def test_tensors_that_are_missing_shaped_otherwise_or_too_many(family_folder: Path) -> None:
    before = load_file(family_folder / "model.safetensors")
    # Of tensors that differ in the number of their layer the last.
    for name in {re.sub(r"\d+", "#", name): name for name in before}.values():
        save_file({k: v for k, v in before.items() if k != name}, family_folder / "model.safetensors")
        refused(family_folder, "model.safetensors", repr(name), "missing")
        save_file({**before, name: torch.zeros(7, 5)}, family_folder / "model.safetensors")
        refused(family_folder, "model.safetensors", name, "[7, 5]", str(list(before[name].shape)))
    save_file({**before, "model.visual.weight": torch.zeros(1)}, family_folder / "model.safetensors")
    refused(family_folder, "model.safetensors", "'model.visual.weight'", "no place")
    change_config(family_folder, attention_sink_tokens=4)
    refused(family_folder, "config.json", "attention_sink_tokens", "not supported")


@pytest.mark.parametrize(
    ("family", "change", "said"),
    [
        ("gpt2", {"transformer.h.2.ln_1.weight": torch.zeros(24)}, "no place"),
        ("gpt2", {"transformer.wpe.weight": torch.zeros(16, 24, dtype=torch.int8)}, "I8"),
        ("gpt2", {"transformer.wpe.weight": torch.full((16, 24), torch.nan)}, "finite"),
        ("gpt2", {"transformer.wpe.weight": torch.full((16, 24), torch.inf)}, "finite"),
        ("t5", {"encoder.embed_tokens.weight": torch.zeros(53, 24)}, "copy"),
    ],
)
def test_a_tensor_that_is_none_of_its_kind(tmp_path: Path, family: str, change: Tensors, said: str) -> None:
    reference(family).save(tmp_path)
    change_tensors(tmp_path, lambda tensors: tensors.update(change))
    refused(tmp_path, "model.safetensors", *change, said)


@pytest.mark.parametrize("text", ["", "{", "[1]", "\x00", "[" * 100_000, '{"model_type": "gpt2"', " " * 2**20 + "{}"])
def test_a_damaged_config(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text)
    refused(folder, "config.json")


@pytest.mark.parametrize("name", absent.ABSENT)
def test_a_family_that_is_known_and_not_read(folder: Path, name: str) -> None:
    nearest, needed = absent.ABSENT[name]
    assert nearest in huggingface.FAMILIES and name not in huggingface.FAMILIES
    change_config(folder, model_type=name)
    refused(folder, "config.json", f"'{name}'", f"nearest that is read is {nearest}", needed)


def test_an_unknown_family_is_told_what_knows_most_of_its_attributes(folder: Path) -> None:
    for name in ("another", "x" * 10_000):
        change_config(folder, model_type=name)
        refused(folder, "is not read here; the nearest that is read is gpt2, which knows all its", "observe_model")
    made = {"AriaTextConfig": "llama", "VoxtralConfig": "llama, which does not know audio_config"}
    made |= {f"{name}Config": f"is {name.lower()}, which knows" for name in ("Bart", "Mixtral", "T5")}
    for name, said in made.items():
        plain = getattr(transformers, name)().to_dict()
        plain["model_type"] = f"{plain['model_type']}_of_mine"
        (folder / "config.json").write_text(json.dumps(plain, default=str), encoding="utf-8")
        refused(folder, f"'{plain['model_type']}' is not read here; the nearest", said)
    for model_type in (3, ...):
        change_config(folder, model_type=model_type)
        refused(folder, "config.json", "model_type: expected the name of a family")


def test_older_spellings_of_newer_families(tmp_path: Path) -> None:
    reference("gemma3_text").save(tmp_path / "gemma")
    old = {"sliding_window_pattern": 2, "rope_theta": 90.0, "rope_local_base_freq": 20.0}
    scaled = {"rope_type": "linear", "factor": 8.0}
    change_config(tmp_path / "gemma", layer_types=..., rope_parameters=..., rope_scaling=scaled, **old)
    found = vm.load(tmp_path / "gemma").model.config
    nearby, everywhere = Rope(base=20.0), Rope(base=90.0, scaling=LinearScaling(factor=8.0))
    assert found.windows == (3, 0, 3) and found.positions == (nearby, everywhere, nearby)
    reference("gpt_neox").save(tmp_path / "neox")
    change_config(tmp_path / "neox", rope_parameters=..., rotary_pct=0.75, rotary_emb_base=200)
    assert vm.load(tmp_path / "neox").model.config.position == Rope(base=200.0, fraction=0.75)
    reference("qwen2").save(tmp_path / "qwen")
    change_config(tmp_path / "qwen", rope_parameters=..., rope_theta=1e6, layer_types=..., use_sliding_window=True)
    assert vm.load(tmp_path / "qwen").model.config.windows == ()  # none from layer 28 on
    change_config(tmp_path / "qwen", max_window_layers=1, sliding_window=4)
    assert vm.load(tmp_path / "qwen").model.config.windows == (0, 4)


@pytest.mark.parametrize(
    ("model", "changes", "left_out"),
    [
        ("BertForMultipleChoice", {}, ("classifier",)),
        ("RobertaForTokenClassification", {"num_labels": 3}, ("classifier",)),
        ("DistilBertForMultipleChoice", {}, ("classifier", "pre_classifier")),
        ("DistilBertForQuestionAnswering", {}, ("qa_outputs",)),
        ("ModernBertForSequenceClassification", {}, ("classifier", "head")),
        ("BertForSequenceClassification", {"num_labels": 1}, ("classifier",)),
        ("DistilBertForSequenceClassification", {"num_labels": 1}, ("classifier", "pre_classifier")),
    ],
)
@torch.no_grad()
def test_a_head_is_left_out(tmp_path: Path, model: str, changes: dict[str, Any], left_out: tuple[str, ...]) -> None:
    theirs = Reference(model, changes).save(tmp_path)
    lm = registry.load_folder(tmp_path)
    assert lm.left_out == left_out and lm.config.has_logits == (not left_out)
    told = [sidebar.model("tiny", lm, Texts(language)) for language in ("en", "zh")]
    assert all(f"`{part}`" in text for text in told for part in left_out)
    ids = [5, 9, 12, 30]
    run, expected = lm.trace(ids=ids), theirs.base_model(torch.tensor([ids])).last_hidden_state[0]
    torch.testing.assert_close(run[run.leaving], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("made", [reference("gpt2"), Reference("LlamaForCausalLM", {"tie_word_embeddings": True})])
def test_another_head_beside_the_embedding(made: Reference, tmp_path: Path) -> None:
    made.save(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    (table,) = (tensor for name, tensor in tensors.items() if name.endswith(("wte.weight", "embed_tokens.weight")))
    flipped = tensors | {"lm_head.weight": table.flip(0).contiguous()}
    save_file(flipped, tmp_path / "model.safetensors", {"format": "pt"})
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="config.json says tie_word_embeddings, but the file holds another"):
        lm = registry.load(tmp_path)
    assert lm.notices == ("untied",) and not lm.config.tie_embeddings
    assert registry._read_config(tmp_path) == lm.config
    ids = [3, 1, 4, 1, 5]
    close(lm.trace(ids=ids)["logits"], logits_of(theirs, ids))
    save_file(tensors | {"lm_head.weight": table.clone()}, tmp_path / "model.safetensors", {"format": "pt"})
    assert registry.load(tmp_path).notices == ()
    Reference("LlamaModel", {"tie_word_embeddings": True}).save(tmp_path / "none")
    with pytest.warns(UserWarning, match="saved without a head"):
        assert registry.load(tmp_path / "none").notices == ("no_head",)


@pytest.mark.parametrize(
    ("family", "changes", "field"),
    [
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention"),
        ("gpt2", {"activation_function": "mish"}, "activation_function"),
        ("gpt2", {"n_head": 5}, "n_head"),
        ("gpt2", {"n_positions": 2**40}, "n_positions"),
        ("gpt2", {"pruned_heads": {"0": [1]}}, "pruned_heads"),
        ("gpt2", {"auto_map": {"AutoModel": "code.Model"}}, "auto_map"),
        ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ("t5", {"feed_forward_proj": "gated-exp"}, "feed_forward_proj"),
        ("t5", {"relative_attention_num_buckets": 30}, "relative_attention_num_buckets"),
        ("llama", {"head_dim": 7}, "rope"),
        ("llama", {"rope_parameters": {"rope_type": "longrope", "factor": 2.0}}, "0 factors for 4 pairs"),
        ("llama", {"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "attn_factor": 2.0}}, "attn_factor"),
        ("llama", {"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        ("llama", {"quantization_config": {"quant_method": "awq", "bits": 4}}, "AWQ of 4 bits"),
        ("llama", {"rope_parameters": {"rope_type": "linear"}}, "rope_parameters: factor: missing"),
        ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling"),
        ("qwen3", {"num_hidden_layers": 10**9, "use_sliding_window": True, "layer_types": None}, "num_hidden_layers"),
        ("qwen3", {"layer_types": ["sliding_attention", "full_attention"]}, "sliding_window"),
        ("phi3", {"rope_scaling": {"type": "longrope", "short_factor": [1.0]}, "rope_parameters": None}, "1 factors"),
        ("smollm3", {"no_rope_layers": [1, 0, 1, 2]}, "no_rope_layers"),
        ("gemma4_text", {"enable_moe_block": True}, "experts beside a network for all tokens are not read here"),
        ("gpt_neo", {"attention_types": [[["global"], 10**9]]}, "attention_types"),
        ("gpt_neo", {"attention_types": [[["global"], 3]], "attention_layers": None}, "attention_types"),
        ("gpt_neo", {"attention_layers": ["local", "global"]}, "attention_layers"),
        ("opt", {"word_embed_proj_dim": 12}, "word_embed_proj_dim"),
        ("gemma3_text", {"query_pre_attn_scalar": -24}, "query_pre_attn_scalar"),
        ("bloom", {"apply_residual_connection_post_layernorm": True}, "apply_residual_connection_post_layernorm"),
        ("bloom", {"slow_but_exact": True, "pretraining_tp": 2}, "slow_but_exact"),
        ("falcon", {"new_decoder_architecture": True, "parallel_attn": False}, "parallel_attn"),
        ("modernbert", {"local_attention": 0}, "local_attention"),
        ("gemma3_text", {"sliding_window": None}, "sliding_window"),
        ("gemma3_text", {"rope_parameters": {"chunked_attention": {}}}, "chunked_attention"),
        ("roberta", {"pad_token_id": 0}, "pad_token_id"),
        ("bart", {"decoder_ffn_dim": 30}, "decoder_ffn_dim"),
        ("mbart", {"add_final_layer_norm": False}, "add_final_layer_norm"),
        ("marian", {"decoder_attention_heads": 4}, "decoder_attention_heads"),
        ("qwen3_next", {"hidden_act": "gelu"}, "hidden_act"),
        ("deepseek_v3", {"head_dim": 2}, "head_dim"),
    ],
)
def test_a_config_of_something_else(tmp_path: Path, family: str, changes: dict[str, Any], field: str) -> None:
    reference(family).save(tmp_path)
    change_config(tmp_path, **changes)
    refused(tmp_path, "config.json", field)


@pytest.mark.full
@pytest.mark.parametrize(
    ("family", "changes", "part"),
    [
        # Within the limits of a config; built, they would take from 100 GB to 100 TB.
        ("gpt2", {"n_embd": 2**16, "n_head": 16, "n_inner": 2**18}, "shape"),
        ("t5", {"d_kv": 2**12, "num_heads": 2**10, "num_layers": 512}, "missing"),
        ("llama", {"num_hidden_layers": 512, "hidden_size": 2**16, "intermediate_size": 2**18}, "missing"),
        ("llama", {"max_position_embeddings": 2**20, "vocab_size": 2**20}, "shape"),
    ],
)
def test_too_large_a_config_costs_no_memory(tmp_path: Path, family: str, changes: dict[str, Any], part: str) -> None:
    reference(family).save(tmp_path)
    change_config(tmp_path, **changes)
    peak, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    refused(tmp_path, "model.safetensors", part)
    assert time.process_time() - began < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 100_000  # kB
