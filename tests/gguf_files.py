"""GGUF files of models of the `transformers` library, as ``convert_hf_to_gguf.py`` of
https://github.com/ggml-org/llama.cpp writes them; the names are those of ``gguf.get_tensor_name_map``, as there."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from safetensors.numpy import load_file

from viz_model.checkpoints.gguf import read_config, renames
from viz_model.checkpoints.gguf_file import GgufArchive
from viz_model.checkpoints.weights import ModelError, fill
from viz_model.model.transformer import Transformer

ARCHITECTURES = {"gemma3_text": "gemma3", "gpt_neox": "gptneox", "qwen3_moe": "qwen3moe"}
ARCHITECTURES |= dict.fromkeys(("mistral", "mixtral"), "llama")
"""By ``model_type``, where the two differ."""


def permuted(weight: np.ndarray, n_heads: int) -> np.ndarray:
    """Rows as the converter orders Llama's: pairs i and i + half become neighbors."""
    rows = weight.reshape(n_heads, 2, len(weight) // n_heads // 2, -1)
    return np.ascontiguousarray(rows.swapaxes(1, 2).reshape(weight.shape))


def by_kind(fused: np.ndarray, n_groups: int, per_group: int) -> np.ndarray:
    """All queries, then all keys, then all values, of a matrix or bias that has them group by group."""
    groups = fused.reshape(n_groups, per_group + 2, -1, *fused.shape[1:])
    parts = (groups[:, :per_group], groups[:, per_group], groups[:, per_group + 1])
    return np.concatenate([part.reshape(-1, *fused.shape[1:]) for part in parts])


def stored(config: Any, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The tensors of a checkpoint under the names and in the layout of GGUF."""
    kind, n_layers = config.model_type, config.num_hidden_layers
    architecture = ARCHITECTURES.get(kind, kind)
    known = {name: key for key, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(known[architecture], n_layers)
    found: dict[str, np.ndarray] = {}
    experts: dict[str, dict[int, np.ndarray]] = {}
    for theirs, value in tensors.items():
        stem, _, end = theirs.rpartition(".")
        if theirs in ("lm_head.weight", "embed_out.weight") and config.tie_word_embeddings:
            continue
        if match := re.search(r"\.experts\.(\d+)\.", stem):
            merged = stem.replace(match[0], ".experts.")
            experts.setdefault(merged, {})[int(match[1])] = value
            continue
        name = names.get_name(stem) or names.get_name(stem.partition(".")[2])
        assert name is not None, theirs
        found[f"{name}.{end}"] = _changed(config, kind, theirs, value)
    for merged, by_number in experts.items():
        name = names.get_name(merged)
        assert name is not None, merged
        found[f"{name}.weight"] = np.stack([by_number[n] for n in range(len(by_number))])
    return found


def _changed(c: Any, kind: str, theirs: str, value: np.ndarray) -> np.ndarray:
    if kind in ("llama", "mistral", "mixtral", "smollm3") and theirs.split(".")[-2] in ("q_proj", "k_proj"):
        return permuted(value, c.num_attention_heads if "q_proj" in theirs else c.num_key_value_heads)
    if kind.startswith("gemma") and theirs.endswith("norm.weight"):
        return np.asarray(value + 1)
    if kind == "gpt2" and theirs.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
        return np.ascontiguousarray(value.T)
    if "query_key_value" in theirs:
        groups = c.num_attention_heads
        if kind == "falcon":
            groups = c.num_kv_heads if c.new_decoder_architecture else 1 if c.multi_query else groups
        return by_kind(value, groups, c.num_attention_heads // groups)
    return value


def metadata(c: Any, d_head: int) -> dict[str, Any]:
    """What a file says of a config besides its sizes."""
    kind, ropes = c.model_type, getattr(c, "rope_parameters", None) or {}
    found = {"context_length": getattr(c, "max_position_embeddings", None) or c.hidden_size}
    if kind in ("bloom", "falcon", "gpt2", "gpt_neox"):
        found["attention.layer_norm_epsilon"] = getattr(c, "layer_norm_epsilon", None) or c.layer_norm_eps
    else:
        kv_heads = {"attention.head_count_kv": c.num_key_value_heads, "vocab_size": c.vocab_size}
        found |= {"attention.layer_norm_rms_epsilon": c.rms_norm_eps, **kv_heads}
        if kind != "phi3":
            found |= {"attention.key_length": d_head, "attention.value_length": d_head}
    if "rope_theta" in ropes and not kind.startswith("gemma"):
        turned = int(d_head * ropes.get("partial_rotary_factor", 1.0))
        found |= {"rope.freq_base": float(ropes["rope_theta"]), "rope.dimension_count": turned}
    if "num_experts_per_tok" in c:
        n_experts = getattr(c, "num_local_experts", None) or c.num_experts
        found |= {"expert_count": n_experts, "expert_used_count": c.num_experts_per_tok}
    if kind.startswith(("gemma2", "gemma3")):
        found["attention.sliding_window"] = c.sliding_window
    match kind:
        case "bloom":
            found["attention.head_count_kv"] = c.num_attention_heads
        case "falcon":
            n_kv_heads = c.num_kv_heads if c.new_decoder_architecture else 1
            found |= {"attention.head_count_kv": n_kv_heads, "tensor_data_layout": "jploski"}
        case "gemma2":
            found |= {name: getattr(c, name) for name in ("attn_logit_softcapping", "final_logit_softcapping")}
        case "gemma3_text":
            found["rope.freq_base"] = float(ropes["full_attention"]["rope_theta"])
            found["rope.freq_base_swa"] = float(ropes["sliding_attention"]["rope_theta"])
        case "gpt_neox":
            found["use_parallel_residual"] = c.use_parallel_residual
        case "phi3":
            found["rope.scaling.original_context_length"] = c.max_position_embeddings
            found["attention.sliding_window"] = c.sliding_window or 0
        case "qwen3_moe":
            found["expert_feed_forward_length"] = c.moe_intermediate_size
    return found


@torch.no_grad()
def write(
    path: Path,
    model: Any,
    kind: Kind = Kind.F32,
    extra: Mapping[str, np.ndarray] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Path:
    """A file as converter and quantizer write it; ``model`` gets the numbers that were stored. Of ``changes`` of its
    metadata ``...`` leaves one out; ``extra`` are tensors."""
    c = model.config
    architecture = ARCHITECTURES.get(c.model_type, c.model_type)
    d_head = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
    d_ffn = getattr(c, "intermediate_size", None) or getattr(c, "n_inner", None) or 4 * c.hidden_size
    fields: dict[str, Any] = {
        "general.type": "model",
        "general.name": "tiny",
        f"{architecture}.block_count": c.num_hidden_layers,
        f"{architecture}.embedding_length": c.hidden_size,
        f"{architecture}.feed_forward_length": d_ffn,
        f"{architecture}.attention.head_count": c.num_attention_heads,
        **{f"{architecture}.{key}": value for key, value in metadata(c, d_head).items()},
        **(changes or {}),
    }
    writer = gguf.GGUFWriter(path, fields.pop("general.architecture", architecture))
    for key, value in fields.items():
        if value is not ...:
            add(writer, key, value)
    for tensor in model.state_dict().values():  # what a row becomes does not depend on where it stands
        if tensor.dim() > 1 and tensor.shape[-1] % 32 == 0:
            tensor.copy_(torch.from_numpy(gguf.quants.dequantize(gguf.quants.quantize(tensor.numpy(), kind), kind)))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = stored(c, load_file(f"{folder}/model.safetensors"))
    kinds = {name: kind if value.ndim > 1 else Kind.F32 for name, value in tensors.items()}
    packed = {name: gguf.quants.quantize(value, kinds[name]) for name, value in tensors.items()}
    for name, value in packed.items():
        writer.add_tensor(name, value, raw_dtype=kinds[name])
    for name, array in (extra or {}).items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def read(path: Path) -> Transformer:
    """The model that a file holds."""
    archive = GgufArchive(path)
    config = read_config(archive)
    return fill(config, archive, renames(archive, config))


def refused(path: Path, *parts: str) -> None:
    """Loading fails with one line that names the file and holds every one of ``parts``."""
    with pytest.raises(ModelError) as error:
        read(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ") and message.isprintable() and len(message) < len(str(path)) + 600
    for part in parts:
        assert part in message


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
