"""GGUF files, as llama.cpp reads them: what their metadata and tensors are to the families that are read here.

A family declares what is its own (:mod:`viz_model.checkpoints.families.attributes`). What the metadata say is put in
the words of its ``config.json``, and its table of tensors in those of ``gguf.get_tensor_name_map``; then the family
reads them like any folder. llama.cpp's converter writes every matrix [out, in], a norm's gain whole, all queries before
all keys before all values, and the experts of a layer in one tensor.
"""

import dataclasses
import re
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import gguf
import torch

from viz_model.checkpoints import huggingface
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.gguf_file import GgufArchive
from viz_model.checkpoints.renames import Rename, Stack
from viz_model.checkpoints.room import ANYWHERE, Placing
from viz_model.checkpoints.weights import ModelError, fill
from viz_model.config import ConfigError, Dense, Gated, Llama3Scaling, ModelConfig, Position, Rope
from viz_model.model import ops
from viz_model.model.rope_scaling import scale_frequencies
from viz_model.runs.language_model import LanguageModel
from viz_model.tokenizers import reading as tokenizers

ROPE_FACTORS = "rope_freqs.weight"
LONG_FACTORS = "rope_factors_long.weight"

# Fields of ModelConfig as the metadata call them, behind the name of the architecture.
SIZES = {
    "n_context": "context_length",
    "n_layers": "block_count",
    "d_model": "embedding_length",
    "n_heads": "attention.head_count",
    "n_kv_heads": "attention.head_count_kv",
    "d_head": "attention.key_length",
    "d_ffn": "feed_forward_length",
}
NAMES = {
    **SIZES,
    "position": "rope",
    "positions": "rope",
    "windows": "attention.sliding_window",
    "score_cap": "attn_logit_softcapping",
    "ffn": "expert_used_count",
}
# ε, by what families call it.
EPSILONS = {
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "layer_norm_eps": "attention.layer_norm_epsilon",
    "layer_norm_epsilon": "attention.layer_norm_epsilon",
}


@runtime_checkable
class InGguf(huggingface.Family, Protocol):
    """A family that GGUF files hold too."""

    @property
    def GGUF(self) -> Gguf:
        """How."""


FAMILIES = tuple(family for family in huggingface.FAMILIES.values() if isinstance(family, InGguf))
_ARCHITECTURES = {name: architecture for architecture, name in gguf.MODEL_ARCH_NAMES.items()}


def load_gguf(path: Path, where: Placing = ANYWHERE) -> LanguageModel:
    """Load a GGUF file of one of :data:`FAMILIES`.

    Raises:
        ModelError: not a GGUF file, or damaged; an architecture, a metadata field that changes the
            computation, or a quantization that is not supported; tensors that do not fit. The
            message names file and field or tensor.
    """
    archive = GgufArchive(path)
    config = read_config(archive)
    tokenizer = tokenizers.from_gguf(archive.metadata, path, config.n_vocab)
    model = fill(config, archive, renames(archive, config), where=where, packed=archive.packed)
    return LanguageModel(name=path.stem, model=model, tokenizer=tokenizer, twin=None, folder=path.parent)


def family_of(archive: GgufArchive) -> InGguf:
    """The family whose architecture the file names. Raises ModelError for others."""
    general = Attributes(archive.metadata, archive.path)
    name = general.choice("general.architecture", {family.GGUF.architecture: family.GGUF for family in FAMILIES})
    experts = archive.metadata.get(f"{name.architecture}.expert_count", 0)
    found = [family for family in FAMILIES if family.GGUF.architecture == name.architecture]
    chosen = [family for family in found if family.GGUF.has_experts == bool(experts)]
    if not chosen:
        expected = "above 0" if not experts else "0"
        raise ModelError(f"{archive.path}: {name.architecture}.expert_count: expected {expected}, got {experts!r:.80}")
    return chosen[0]


def read_config(archive: GgufArchive) -> ModelConfig:
    """The config that the metadata describe.

    Raises:
        ModelError: an unknown architecture, a field that is not supported, or sizes of no model.
    """
    family = family_of(archive)
    Attributes(archive.metadata, archive.path).one_value("general.type", "model")
    if archive.metadata.get("split.count", 1) not in (0, 1):
        raise ModelError(f"{archive.path}: split.count: one part of several; join them with llama-gguf-split --merge")
    if LONG_FACTORS in archive.shapes:
        raise ModelError(f"{archive.path}: tensor {LONG_FACTORS!r}: a rotation that depends on how long the text is")
    within = f"{family.GGUF.architecture}."
    own = {key.removeprefix(within): value for key, value in archive.metadata.items() if key.startswith(within)}
    a = Attributes(own, archive.path, within)
    plain, called = _attributes(a, family, archive)
    attributes = Attributes(plain, archive.path, within, called, archive.shapes)
    try:
        config = _with_seen(family.config(attributes), family.GGUF, archive)
    except ConfigError as error:
        field, _, rest = str(error).partition(":")
        place = NAMES.get(field) or called.get(family.NAMES.get(field, ""))
        raise ModelError(f"{archive.path}: {within + place if place else field}:{rest}") from None
    attributes.finish()
    _check_derived(a, config)
    a.finish()
    return config


def _attributes(a: Attributes, family: InGguf, archive: GgufArchive) -> tuple[dict[str, Any], dict[str, str]]:
    """The metadata in the words of the family's ``config.json``, and by these words what the file calls them."""
    if len(table := archive.shapes.get("token_embd.weight", ())) != 2:
        raise ModelError(f"{archive.path}: tensor 'token_embd.weight' is missing, or is not a table")
    names, declared = family.NAMES, family.GGUF
    sizes = {field: a.size(SIZES[field]) for field in ("n_context", "n_layers", "d_model", "n_heads", "d_ffn")}
    n_heads, d_model = sizes["n_heads"], sizes["d_model"]
    if SIZES["d_head"] not in a and d_model % n_heads:
        raise ModelError(
            f"{archive.path}: {declared.architecture}.attention.head_count: {n_heads} heads do not divide {d_model}"
        )
    sizes["n_kv_heads"] = a.size(SIZES["n_kv_heads"], n_heads)
    sizes["d_head"] = a.size(SIZES["d_head"], d_model // n_heads)
    called = {names[field]: SIZES[field] for field in sizes if field in names}
    plain: dict[str, Any] = {names[field]: size for field, size in sizes.items() if field in names}
    plain |= {names["n_vocab"]: table[0], "tie_word_embeddings": "output.weight" not in archive.shapes}
    called[names["norm"]] = EPSILONS[names["norm"]]
    plain[names["norm"]] = a.number(called[names["norm"]])
    if "position" in names:
        turned = _rotation(a, archive, sizes["d_head"])
        if declared.partial:
            turned["partial_rotary_factor"] = a.size("rope.dimension_count", sizes["d_head"]) / sizes["d_head"]
        plain |= turned
    if declared.has_experts:
        plain |= {"num_experts": a.size("expert_count"), "num_experts_per_tok": a.size("expert_used_count")}
        a.one_value("expert_gating_func", int(gguf.ExpertGatingFuncType.SOFTMAX))
    for key, name in declared.fields.items():
        called[name] = key
        if key in a:
            plain[name] = a.plain[key] or None if key == NAMES["windows"] else a.plain[key]
        elif key in declared.required:
            raise ModelError(f"{archive.path}: {declared.architecture}.{key}: missing")
        a.no_effect([key])
    plain |= declared.fixed
    return plain | dict(declared.seen(plain, archive.shapes)), called


def _rotation(a: Attributes, archive: GgufArchive, d_head: int) -> dict[str, Any]:
    """``rope_theta`` and ``rope_scaling``. A base that no file names is llama.cpp's."""
    base = a.number("rope.freq_base", 10_000.0)
    scaling = _scaling(a)
    if ROPE_FACTORS in archive.shapes:
        if scaling is not None:
            raise ModelError(
                f"{archive.path}: tensor {ROPE_FACTORS!r} stands beside rope.scaling, expected one of them"
            )
        scaling = _llama3_scaling(archive, base, d_head)
    return {"rope_theta": base, "rope_scaling": scaling}


def _scaling(a: Attributes) -> dict[str, Any] | None:
    """What the metadata say of stretched positions. A factor without a type is linear, as in llama.cpp."""
    kind = a.choice("rope.scaling.type", {word: word for word in ("none", "linear", "yarn")}, "linear")
    factor = a.number("rope.scaling.factor", 1.0)
    for name, only in {"attn_factor": 1.0, "yarn_beta_fast": 32.0, "yarn_beta_slow": 1.0}.items():
        a.one_value(f"rope.scaling.{name}", only)
    original = a.size("rope.scaling.original_context_length", a.size("context_length"))
    if kind == "yarn":
        return {"rope_type": kind, "factor": factor, "original_max_position_embeddings": original}
    # 0 stands for no factor.
    return {"rope_type": kind, "factor": factor} if kind == "linear" and factor not in (0, 1) else None


def _llama3_scaling(archive: GgufArchive, base: float, d_head: int) -> dict[str, Any] | None:
    """The scaling of Llama 3.1 and later, of which a file holds only what it does to each frequency.

    Raises:
        ModelError: these are not the numbers that Llama 3.1's settings give.
    """
    if archive.shapes[ROPE_FACTORS] != (d_head // 2,):
        found = list(archive.shapes[ROPE_FACTORS])
        raise ModelError(f"{archive.path}: {ROPE_FACTORS} has shape {found}, expected [{d_head // 2}]")
    stored = archive.read(ROPE_FACTORS).double()
    if (stored == 1).all():
        return None
    frequencies = ops.rotary_frequencies(2 * len(stored), base)
    scaling = Llama3Scaling(factor=float(stored[-1]), low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192)
    scaled, _ = scale_frequencies(frequencies, base, scaling)
    if not torch.allclose(frequencies / scaled, stored, rtol=1e-5, atol=0):
        raise ModelError(f"{archive.path}: tensor {ROPE_FACTORS!r} holds other factors than those of Llama 3.1")
    plain = dataclasses.asdict(scaling)
    return {"rope_type": "llama3", "original_max_position_embeddings": plain.pop("original_context"), **plain}


def _with_seen(config: ModelConfig, declared: Gguf, archive: GgufArchive) -> ModelConfig:
    """The config, with the biases that are there, and with pairs as they are stored."""

    def has_bias(*names: str) -> bool:
        return any(f"blk.0.{name}.bias" in archive.shapes for name in names)

    def paired(position: Position) -> Position:
        return dataclasses.replace(position, pairing=declared.pairing) if isinstance(position, Rope) else position

    ffn = config.ffn
    if isinstance(ffn, Dense | Gated):
        ffn = dataclasses.replace(ffn, bias=has_bias("ffn_up"))
    return dataclasses.replace(
        config,
        position=paired(config.position),
        positions=tuple(map(paired, config.positions)),
        ffn=ffn,
        attention_bias=has_bias("attn_q", "attn_qkv"),
        attention_out_bias=has_bias("attn_output"),
    )


def _check_derived(a: Attributes, config: ModelConfig) -> None:
    """Compare what is stored, and what the family derives, with what it came to. Raises ModelError."""
    for name, only in {"attention.causal": True, "expert_count": 0, "expert_used_count": 0}.items():
        if not (name.startswith("expert") and not isinstance(config.ffn, Dense | Gated)):
            a.one_value(name, only)
    # The table of embeddings says how many tokens there are.
    a.no_effect(["vocab_size", "tensor_data_layout", "rope.scaling.finetuned"])
    for field, key in SIZES.items():
        a.one_value(key, getattr(config, field))
    a.one_value("attention.value_length", config.d_head)
    if isinstance(config.position, Rope):
        a.one_value("rope.dimension_count", config.position.rotated(config.d_head))


def renames(archive: GgufArchive, config: ModelConfig) -> list[Rename]:
    """The family's table with llama.cpp's names."""
    family = family_of(archive)
    names = gguf.get_tensor_name_map(_ARCHITECTURES[family.GGUF.architecture], 1)
    rows = [found for row in family.renames(config) if (found := _as_stored(row, names)) is not None]
    return [*rows, Rename(ROPE_FACTORS, (), because="read for the config")]


def _as_stored(row: Rename, names: gguf.TensorNameMap) -> Rename | None:
    """A row of a family's table as the converter writes its tensor; None for a name that the architecture lacks."""
    stem, _, end = row.theirs.rpartition(".")
    if not row.ours or (row.share is not None and row.share.number):
        return None
    stem = re.sub(r"\.experts\.\d+\.", ".experts.", stem).replace("{layer}", "0")
    for known in (stem.replace("[", "").replace("]", ""), re.sub(r"\[.*?\]", "", stem)):
        if (name := names.get_name(known)) is not None:
            stack = None if row.share is None else Stack(row.share.of, row.share.axis)
            return Rename(f"{name.replace('blk.0.', 'blk.{layer}.')}.{end}", row.ours, stack=stack)
    return None
