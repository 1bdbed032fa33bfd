"""Model folders as Hugging Face lays them out: ``config.json`` beside ``model.safetensors``.

A family is a module of :mod:`viz_model.checkpoints.families` with ``config`` (what the attributes
mean), ``renames`` (what the tensors are here) and ``NAMES`` (our fields as its files call them).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol

from viz_model.checkpoints.families import (
    absent,
    bart,
    bert,
    bloom,
    distilbert,
    falcon,
    gemma,
    gemma2,
    gemma3,
    gpt2,
    gpt_neo,
    gpt_neox,
    llama,
    marian,
    mbart,
    mistral,
    mixtral,
    modernbert,
    olmo2,
    olmoe,
    opt,
    phi3,
    qwen2,
    qwen3,
    qwen3_moe,
    roberta,
    smollm3,
    t5,
    vit,
)
from viz_model.checkpoints.families.attributes import NO_EFFECT, ONE_VALUE, Attributes
from viz_model.checkpoints.renames import Rename
from viz_model.checkpoints.weights import MAX_CONFIG_BYTES, ModelError, SafetensorsArchive, fill, read_json
from viz_model.config import ConfigError, ModelConfig
from viz_model.model.transformer import Transformer


class Family(Protocol):
    """What a module of :mod:`viz_model.checkpoints.families` offers."""

    @property
    def NAMES(self) -> dict[str, str]:
        """Fields of ModelConfig by their name in the family's files, for messages."""

    def config(self, a: Attributes, tensors: Collection[str]) -> ModelConfig:
        """What a config.json describes; ``tensors`` are the names in the weights beside it.

        Raises:
            ModelError: a value is not supported.
        """

    def renames(self, config: ModelConfig) -> list[Rename]:
        """What each tensor of its files is here."""


FAMILIES: dict[str, Family] = {
    "bart": bart,
    "bert": bert,
    "bloom": bloom,
    "camembert": roberta,
    "distilbert": distilbert,
    "falcon": falcon,
    "gemma": gemma,
    "gemma2": gemma2,
    "gemma3_text": gemma3,
    "gpt2": gpt2,
    "gpt_neo": gpt_neo,
    "gpt_neox": gpt_neox,
    "llama": llama,
    "marian": marian,
    "mbart": mbart,
    "mistral": mistral,
    "mixtral": mixtral,
    "modernbert": modernbert,
    "olmo2": olmo2,
    "olmoe": olmoe,
    "opt": opt,
    "phi3": phi3,
    "qwen2": qwen2,
    "qwen3": qwen3,
    "qwen3_moe": qwen3_moe,
    "roberta": roberta,
    "smollm3": smollm3,
    "t5": t5,
    "vit": vit,
    "xlm-roberta": roberta,
}


def load_folder(folder: Path) -> Transformer:
    """Load the weights of a folder.

    Raises:
        ModelError: a file is missing or damaged, the family is unknown, an attribute is not
            supported, or the weights do not fit. The message names file and field or tensor.
    """
    plain = read_json(folder / "config.json", MAX_CONFIG_BYTES)
    family = family_of(plain, folder / "config.json")
    archive = SafetensorsArchive(folder)
    config = read_config(folder, plain, archive.shapes)
    try:
        return fill(config, archive, family.renames(config))
    except ModelError:
        _refuse_task(plain, folder / "config.json", config)
        raise


_TASKS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice")


def _refuse_task(plain: dict[str, Any], path: Path, config: ModelConfig) -> None:
    """Raises ModelError for the weights of a decoder that is to answer another question than the next token."""
    names = plain.get("architectures")
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    is_bare = name.endswith("Model") and not name.endswith(("HeadModel", "MTModel"))  # GPT2Model, not GPT2LMHeadModel
    if not (name.endswith(_TASKS) or is_bare) or config.kind == "encoder":
        return
    read = "AutoModelForCausalLM" if config.kind == "decoder" else "AutoModelForSeq2SeqLM"
    raise ModelError(
        f"{path}: architectures: {name[:80]!r} has no head for tokens, or another; what is read of this family is "
        f"what {read} saves"
    )


def left_out(folder: Path, config: ModelConfig) -> tuple[str, ...]:
    """The parts of a folder's model that are not loaded, of which a visitor is told: ``("classifier",)``."""
    path = folder / "config.json"
    rows = [row for row in family_of(read_json(path, MAX_CONFIG_BYTES), path).renames(config) if row.told]
    names = SafetensorsArchive(folder).shapes if rows else ()
    told = (row.theirs.rpartition("]")[2] for row in rows if any(map(row.pattern.fullmatch, names)))
    return tuple(sorted({name.partition(".")[0] for name in told}))


def family_of(plain: dict[str, Any], path: Path) -> Family:
    """The family that ``model_type`` names. Raises ModelError for others."""
    name = plain.get("model_type")
    if not isinstance(name, str) or name not in FAMILIES:
        raise ModelError(f"{path}: model_type: {absent.told(name, FAMILIES)}")
    return FAMILIES[name]


def read_config(folder: Path, plain: dict[str, Any], tensors: Collection[str]) -> ModelConfig:
    """The config of a folder, from its ``config.json`` as parsed and the names of its tensors.

    Raises:
        ModelError: unknown family, an attribute that is not supported, or sizes of no model.
    """
    path = folder / "config.json"
    family = family_of(plain, path)
    attributes = Attributes({**_decoding(folder), **plain, **_processor(folder, family)}, path)
    attributes.no_effect(NO_EFFECT)
    for name, only in ONE_VALUE.items():
        attributes.one_value(name, only)
    try:
        config = family.config(attributes, tensors)
    except ConfigError as error:
        field, _, rest = str(error).partition(":")
        raise ModelError(f"{path}: {family.NAMES.get(field, field)}:{rest}") from None
    attributes.finish()
    return config


def _processor(folder: Path, family: Family) -> dict[str, Any]:
    """What the image processor of a model of pictures does, as one attribute."""
    path = folder / vit.PROCESSOR
    return {"preprocessor": read_json(path, MAX_CONFIG_BYTES)} if family is vit and path.exists() else {}


def _decoding(folder: Path) -> dict[str, Any]:
    """Newer files keep the token that a decoder starts from beside the config."""
    path = folder / "generation_config.json"
    plain = read_json(path, MAX_CONFIG_BYTES) if path.exists() else {}
    return {name: plain[name] for name in ("decoder_start_token_id",) if name in plain}
