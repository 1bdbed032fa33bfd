"""GGUF files as llama.cpp's converter writes them, of models of the `transformers` library.

What is done to each tensor, and which metadata an architecture has, follows ``convert_hf_to_gguf.py`` of
https://github.com/ggml-org/llama.cpp; the names are those of ``gguf.get_tensor_name_map``, as there.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
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

ARCHITECTURES = {
    "mistral": "llama",
    "mixtral": "llama",
    "gemma3_text": "gemma3",
    "gpt_neox": "gptneox",
    "qwen3_moe": "qwen3moe",
}
"""By ``model_type``, where the two differ."""


def permuted(weight: np.ndarray, n_heads: int) -> np.ndarray:
    """Rows as the converter orders Llama's: pairs i and i + half become neighbors."""
    rows = weight.reshape(n_heads, 2, len(weight) // n_heads // 2, -1)
    return np.ascontiguousarray(rows.swapaxes(1, 2).reshape(weight.shape))


def back(weight: np.ndarray, n_heads: int) -> np.ndarray:
    """The inverse of :func:`permuted`."""
    rows = weight.reshape(n_heads, len(weight) // n_heads // 2, 2, -1)
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
    if kind in ("llama", "mistral", "mixtral", "smollm3") and (n_heads := heads(c, theirs)):
        return permuted(value, n_heads)
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


def heads(c: Any, theirs: str) -> int:
    """How many heads the rows of a query or key projection have; 0 for other tensors."""
    return {"q_proj": c.num_attention_heads, "k_proj": c.num_key_value_heads}.get(theirs.split(".")[-2], 0)


def _like_llama(c: Any, d_head: int) -> dict[str, Any]:
    return {
        "context_length": c.max_position_embeddings,
        "attention.head_count_kv": c.num_key_value_heads,
        "attention.key_length": d_head,
        "attention.value_length": d_head,
        "attention.layer_norm_rms_epsilon": c.rms_norm_eps,
        "vocab_size": c.vocab_size,
    }


def _turned(c: Any, d_head: int) -> dict[str, Any]:
    return {"rope.freq_base": float(c.rope_parameters["rope_theta"]), "rope.dimension_count": d_head}


def _experts(c: Any) -> dict[str, Any]:
    n_experts = getattr(c, "num_local_experts", None) or c.num_experts
    return {"expert_count": n_experts, "expert_used_count": c.num_experts_per_tok}


def _llama(c: Any, d_head: int) -> dict[str, Any]:
    return {**_like_llama(c, d_head), **_turned(c, d_head)}


def _gemma2(c: Any, d_head: int) -> dict[str, Any]:
    return {
        **_like_llama(c, d_head),
        "attention.sliding_window": c.sliding_window,
        "attn_logit_softcapping": c.attn_logit_softcapping,
        "final_logit_softcapping": c.final_logit_softcapping,
    }


def _gemma3(c: Any, d_head: int) -> dict[str, Any]:
    bases = {kind: float(c.rope_parameters[kind]["rope_theta"]) for kind in ("full_attention", "sliding_attention")}
    return {
        **_like_llama(c, d_head),
        "attention.sliding_window": c.sliding_window,
        "rope.freq_base": bases["full_attention"],
        "rope.freq_base_swa": bases["sliding_attention"],
    }


def _phi3(c: Any, d_head: int) -> dict[str, Any]:
    share = c.rope_parameters.get("partial_rotary_factor", 1.0)
    plain = {key: value for key, value in _llama(c, d_head).items() if "_length" not in key or key == "context_length"}
    return {
        **plain,
        "rope.dimension_count": int(share * d_head),
        "rope.scaling.original_context_length": c.max_position_embeddings,
        "attention.sliding_window": c.sliding_window or 0,
    }


def _plain(c: Any, d_head: int) -> dict[str, Any]:
    """GPT-2's, BLOOM's and Falcon's, without positions that turn."""
    return {
        "context_length": getattr(c, "max_position_embeddings", None) or c.hidden_size,
        "attention.layer_norm_epsilon": c.layer_norm_epsilon,
    }


def _falcon(c: Any, d_head: int) -> dict[str, Any]:
    n_kv_heads = c.num_kv_heads if c.new_decoder_architecture else 1
    return {**_plain(c, d_head), "attention.head_count_kv": n_kv_heads, "tensor_data_layout": "jploski"}


def _neox(c: Any, d_head: int) -> dict[str, Any]:
    return {
        "context_length": c.max_position_embeddings,
        "attention.layer_norm_epsilon": c.layer_norm_eps,
        "rope.freq_base": float(c.rope_parameters["rope_theta"]),
        "rope.dimension_count": int(d_head * c.rope_parameters["partial_rotary_factor"]),
        "use_parallel_residual": c.use_parallel_residual,
    }


METADATA: dict[str, Callable[[Any, int], dict[str, Any]]] = {
    "bloom": lambda c, d_head: {**_plain(c, d_head), "attention.head_count_kv": c.num_attention_heads},
    "falcon": _falcon,
    "gemma": _like_llama,
    "gemma2": _gemma2,
    "gemma3_text": _gemma3,
    "gpt2": _plain,
    "gpt_neox": _neox,
    "llama": _llama,
    "mistral": _llama,
    "mixtral": lambda c, d_head: {**_llama(c, d_head), **_experts(c)},
    "olmo2": _llama,
    "olmoe": lambda c, d_head: {**_llama(c, d_head), **_experts(c)},
    "phi3": _phi3,
    "qwen2": _llama,
    "qwen3": _llama,
    "qwen3_moe": lambda c, d_head: {
        **_llama(c, d_head),
        **_experts(c),
        "expert_feed_forward_length": c.moe_intermediate_size,
    },
    "smollm3": _llama,
}


@torch.no_grad()
def write(
    path: Path,
    model: Any,
    kind: Kind = Kind.F32,
    extra: Mapping[str, np.ndarray] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Path:
    """A file as converter and quantizer write it; ``model`` gets the numbers that were stored, unless it has experts.

    ``changes`` are metadata, ``...`` to leave one out; ``extra`` are tensors.
    """
    c = model.config
    architecture = ARCHITECTURES.get(c.model_type, c.model_type)
    d_head = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
    d_ffn = getattr(c, "intermediate_size", None) or getattr(c, "n_inner", None) or 4 * c.hidden_size
    metadata: dict[str, Any] = {
        "general.type": "model",
        "general.name": "tiny",
        f"{architecture}.block_count": c.num_hidden_layers,
        f"{architecture}.embedding_length": c.hidden_size,
        f"{architecture}.feed_forward_length": d_ffn,
        f"{architecture}.attention.head_count": c.num_attention_heads,
        **{f"{architecture}.{key}": value for key, value in METADATA[c.model_type](c, d_head).items()},
        **(changes or {}),
    }
    writer = gguf.GGUFWriter(path, metadata.pop("general.architecture", architecture))
    for key, value in metadata.items():
        if value is not ...:
            add(writer, key, value)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = stored(c, load_file(f"{folder}/model.safetensors"))
    kinds = {name: kind if value.ndim > 1 else Kind.F32 for name, value in tensors.items()}
    packed = {name: gguf.quants.quantize(value, kinds[name]) for name, value in tensors.items()}
    for name, value in packed.items():
        writer.add_tensor(name, value, raw_dtype=kinds[name])
    if kind is not Kind.F32 and "num_experts_per_tok" not in c:
        _take_back(model, {name: gguf.quants.dequantize(value, kinds[name]) for name, value in packed.items()})
    for name, tensor in (extra or {}).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _take_back(model: Any, numbers: Mapping[str, np.ndarray]) -> None:
    """Give a model of Llama's kind, or one whose tensors are stored as they are, the numbers of a file."""
    c = model.config
    for theirs, value in model.state_dict().items():
        (name,) = stored(c, {theirs: value.numpy()}) or [None]
        if name is not None:
            n_heads = heads(c, theirs) if c.model_type == "llama" else 0
            value.copy_(torch.from_numpy(back(numbers[name], n_heads) if n_heads else numbers[name].copy()))


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
