"""Model folders as Hugging Face lays them out: ``config.json`` beside ``model.safetensors``.

A family is a module of :mod:`viz_model.checkpoints.families` with ``config`` (what the attributes
mean), ``renames`` (what the tensors are here) and ``NAMES`` (our fields as its files call them).
"""

import contextlib
import dataclasses
import functools
import pkgutil
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

from viz_model.checkpoints import families
from viz_model.checkpoints.families import absent, vit
from viz_model.checkpoints.families.attributes import NO_EFFECT, ONE_VALUE, Attributes
from viz_model.checkpoints.renames import Rename
from viz_model.checkpoints.room import ANYWHERE, Placing
from viz_model.checkpoints.weights import MAX_CONFIG_BYTES, Archive, ModelError, fill, read_json
from viz_model.config import ConfigError, LongScaling, ModelConfig
from viz_model.model.transformer import Transformer


@runtime_checkable
class Family(Protocol):
    """What a module of :mod:`viz_model.checkpoints.families` offers."""

    @property
    def NAMES(self) -> dict[str, str]:
        """Fields of ModelConfig by their name in the family's files, for messages."""

    def config(self, a: Attributes) -> ModelConfig:
        """What a config.json describes.

        Raises:
            ModelError: a value is not supported.
        """

    def renames(self, config: ModelConfig) -> list[Rename]:
        """What each tensor of its files is here."""


HEADS = ("lm_head.weight", "classifier.weight", "head.dense.weight")
"""Tensors of the heads that a family may need, for configs whose weights are not there."""


def _families() -> dict[str, Family]:
    """Every family by ``model_type``: its file is called like it, or lists several under ``TYPES``."""
    found: dict[str, Family] = {}
    for one in pkgutil.iter_modules(families.__path__):
        module = import_module(f"{families.__name__}.{one.name}")
        if isinstance(module, Family):
            found |= dict.fromkeys(getattr(module, "TYPES", (one.name,)), module)
        elif hasattr(module, "NAMES"):
            raise TypeError(f"{module.__name__}: a family has NAMES, config and renames")
    return found


FAMILIES = _families()


NOTICES = {
    "untied": "config.json says tie_word_embeddings, but the file holds another head beside the embedding: both are "
    "read, as Transformers does",
    "no_head": "the model was saved without a head: its logits are read with its embedding, as tie_word_embeddings "
    "says, and may never have been trained",
    "adapter": "peft has added an adapter to the weights of its base: this is the sum of both",
}
"""What is said of a checkpoint that can be read in more than one way."""


def config_of(folder: Path, plain: dict[str, Any], archive: Archive) -> ModelConfig:
    """The config of a folder, from its ``config.json`` as parsed and the tensors of ``archive``.

    Raises:
        ModelError: as of :func:`read_config`.
    """
    config = read_config(folder, plain, archive.shapes)
    untied = _is_untied(plain, folder / "config.json", config, archive)
    return dataclasses.replace(config, tie_embeddings=False) if untied else config


def load_archive(
    folder: Path,
    plain: dict[str, Any],
    archive: Archive,
    config: ModelConfig | None = None,
    *,
    where: Placing = ANYWHERE,
    in_place: bool = False,
) -> Transformer:
    """The model of a ``config.json`` as parsed, with the tensors of ``archive``; messages name files of ``folder``.

    Args:
        config: what :func:`config_of` reads of them, where it has been read.
        where: the type in which the weights are kept, and the device.
        in_place: keep the archive's own tensors as weights wherever they have the shape and the type of ours.

    Raises:
        ModelError: a tensor is missing or damaged, or the weights do not fit. The message names file and tensor.
    """
    path = folder / "config.json"
    config = config_of(folder, plain, archive) if config is None else config
    family = family_of(plain, path)
    try:
        rows = family.renames(config)
        if (multiplied := getattr(family, "multiplied", None)) is not None:  # by factors that its config.json names
            rows = multiplied(rows, Attributes(plain, path))
        return fill(config, archive, rows, where=where, in_place=in_place)
    except ModelError:
        _refuse_task(plain, path, config)
        raise


def _is_untied(plain: dict[str, Any], path: Path, config: ModelConfig, archive: Archive) -> bool:
    """Whether an archive holds another head beside an embedding that the config calls its head too."""
    if not (config.tie_embeddings and config.has_logits):
        return False
    heads, tables = _tables(plain, path, config, archive.shapes)
    return any(
        archive.shapes[one] == archive.shapes[two] and not _equal(archive, one, two)
        for one in heads
        for two in tables[:1]
    )


def _tables(
    plain: dict[str, Any], path: Path, config: ModelConfig, names: Collection[str]
) -> tuple[list[str], list[str]]:
    """The tensors that can be the head of a model, and those that can be its embedding."""
    try:
        untied = dataclasses.replace(config, tie_embeddings=False)
    except ConfigError:  # larger than any that may have a head of its own
        return [], []
    rows = family_of(plain, path).renames(untied)

    def of(place: str) -> list[str]:
        own = [row.pattern for row in rows if row.ours == (place,) and row.how == "same"]
        return [name for name in names if any(pattern.fullmatch(name) for pattern in own)]

    return of("head.unembedding.weight"), of("embedding.weight")


def _equal(archive: Archive, one: str, two: str) -> bool:
    first, second = archive.read(one), archive.read(two)
    return torch.equal(first, second.to(first))


def notices(plain: dict[str, Any], path: Path, loaded: ModelConfig, names: Collection[str]) -> tuple[str, ...]:
    """The names of those of :data:`NOTICES` that are to be said of a loaded model."""
    if not loaded.has_logits:
        return ()
    if plain.get("tie_word_embeddings") is True and not loaded.tie_embeddings:
        return ("untied",)
    if loaded.kind == "encoder":
        return ()
    heads, _ = _tables(plain, path, loaded, names)
    return ("no_head",) if not heads and loaded.tie_embeddings and _is_bare(plain) else ()


_TASKS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice")


def _refuse_task(plain: dict[str, Any], path: Path, config: ModelConfig) -> None:
    """Raises ModelError for the weights of a decoder that is to answer another question than the next token."""
    name = _architecture(plain)
    if not (name.endswith(_TASKS) or _is_bare(plain)) or config.kind == "encoder":
        return
    read = "AutoModelForCausalLM" if config.kind == "decoder" else "AutoModelForSeq2SeqLM"
    raise ModelError(
        f"{path}: architectures: {name[:80]!r} has no head for tokens, or another; what is read of this family is "
        f"what {read} saves"
    )


def _architecture(plain: dict[str, Any]) -> str:
    names = plain.get("architectures")
    return names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""


def _is_bare(plain: dict[str, Any]) -> bool:
    """Whether a model was saved without a head: GPT2Model, and not GPT2LMHeadModel."""
    name = _architecture(plain)
    return name.endswith("Model") and not name.endswith(("HeadModel", "MTModel"))


def left_out(plain: dict[str, Any], path: Path, config: ModelConfig, names: Collection[str]) -> tuple[str, ...]:
    """The parts of a model that are not loaded, of which a visitor is told: ``("classifier",)``."""
    rows = [row for row in family_of(plain, path).renames(config) if row.told]
    told = (row.theirs.rpartition("]")[2] for row in rows if any(map(row.pattern.fullmatch, names)))
    return tuple(sorted({name.partition(".")[0] for name in told}))


def family_of(plain: dict[str, Any], path: Path) -> Family:
    """The family that ``model_type`` names. Raises ModelError for others."""
    name = plain.get("model_type")
    if not isinstance(name, str) or name not in FAMILIES:
        raise ModelError(f"{path}: model_type: {absent.told(name, functools.partial(_nearest, plain, path))}")
    return FAMILIES[name]


_SIMPLEST = ("bart", "bert", "gpt2", "llama", "mixtral", "t5")


def _nearest(plain: dict[str, Any], path: Path) -> tuple[str, list[str]]:
    """The family that knows most of a config's attributes, which name what a model computes; and those left over.

    Of a model that reads sound or pictures too, the family of the part that reads texts.
    """
    if isinstance(inner := plain.get("text_config"), dict):
        name = inner.get("model_type")
        best = name if isinstance(name, str) and name in FAMILIES else _nearest({**inner, "text_config": None}, path)[0]
        return best, sorted(name for name in plain if any(part in name for part in ("audio", "image", "vision")))
    left: dict[str, tuple[list[str], int]] = {}
    for name, family in FAMILIES.items():
        attributes = Attributes({**plain, "model_type": name}, path, tensors=HEADS)
        attributes.no_effect([*NO_EFFECT, *ONE_VALUE, "auto_map"])
        with contextlib.suppress(ModelError, ConfigError):  # it has asked for what it knows until then
            family.config(attributes)
        left[name] = attributes.left, attributes.n_lacking
    # Of those that know as many, the one that asks for the fewest others, and of these the one that others build on.
    best = min(left, key=lambda name: (len(left[name][0]), left[name][1], name not in _SIMPLEST))
    return best, left[best][0]


def read_config(folder: Path, plain: dict[str, Any], tensors: Collection[str]) -> ModelConfig:
    """The config of a folder, from its ``config.json`` as parsed and the names of its tensors.

    Raises:
        ModelError: unknown family, an attribute that is not supported, or sizes of no model.
    """
    path = folder / "config.json"
    family = family_of(plain, path)
    attributes = Attributes({**_decoding(folder), **plain, **_processor(folder, family)}, path, tensors=tensors)
    attributes.no_effect(NO_EFFECT)
    _refuse_quantized(plain, path)
    for name, only in ONE_VALUE.items():
        if name not in family.NAMES.values():
            attributes.one_value(name, only)
    try:
        config = family.config(attributes)
    except ConfigError as error:
        field, _, rest = str(error).partition(":")
        raise ModelError(f"{path}: {family.NAMES.get(field, field)}:{rest}") from None
    attributes.no_effect(["auto_map"] if _is_standard(plain) else [])
    attributes.finish()
    scalings = [getattr(position, "scaling", None) for position in (config.position, *config.positions)]
    read = [scaling.original_context for scaling in scalings if isinstance(scaling, LongScaling)]
    return dataclasses.replace(config, n_context=min(config.n_context, *read)) if read else config


def _is_standard(plain: dict[str, Any]) -> bool:
    """Whether the code that a folder names is called like the classes of Transformers for its ``model_type``.

    Code is never run here: what is read is what Transformers computes with its own class of that name.
    """
    named, family = plain.get("auto_map"), str(plain.get("model_type")).replace("_", "").replace("-", "")
    if not isinstance(named, dict):
        return False
    classes = [str(one).rpartition(".")[2].lower() for one in named.values()]
    return all(name.startswith(family) for name in classes)


def _refuse_quantized(plain: dict[str, Any], path: Path) -> None:
    given = plain.get("quantization_config")
    if isinstance(given, dict) and given:
        method, bits = (str(given.get(name, ""))[:40] for name in ("quant_method", "bits"))
        stored = method.upper() + (f" of {bits} bits" if bits else "")
        raise ModelError(
            f"{path}: quantization_config: the weights are stored as {stored}, which is not read here; take the model "
            "they were made from, or a GGUF file of it"
        )


def check_config(folder: Path, ignore: Collection[str] = ()) -> None:
    """Refuse by its ``config.json`` a model that cannot be read, before its weights are there.

    Raises:
        ModelError: as :func:`read_config`, whatever heads the weights may turn out to have.
    """
    plain = read_json(folder / "config.json", MAX_CONFIG_BYTES)
    plain = {name: value for name, value in plain.items() if name not in ignore}
    if "config" in plain:
        return
    try:
        read_config(folder, plain, ())
    except ModelError as error:
        try:
            read_config(folder, plain, HEADS)
        except ModelError:
            raise error from None


def _processor(folder: Path, family: Family) -> dict[str, Any]:
    """What the image processor of a model of pictures does, as one attribute."""
    path = folder / vit.PROCESSOR
    return {"preprocessor": read_json(path, MAX_CONFIG_BYTES)} if family is vit and path.exists() else {}


def _decoding(folder: Path) -> dict[str, Any]:
    """Newer files keep the token that a decoder starts from beside the config."""
    path = folder / "generation_config.json"
    plain = read_json(path, MAX_CONFIG_BYTES) if path.exists() else {}
    return {name: plain[name] for name in ("decoder_start_token_id",) if name in plain}
