"""What a folder's settings change of its ``tokenizer.json``: as Transformers' tokenizer classes read both.

A class that a folder names builds the steps before a vocabulary from the settings beside it, and takes from
``tokenizer.json`` the vocabulary and what stands around a text. A folder of no such class is read as its
``tokenizer.json`` says. Tokens that the settings name are added to those that are found in a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from viz_model.checkpoints.weights import ModelError
from viz_model.tokenizers.files import Settings, added_token, bert_steps, read_object
from viz_model.tokenizers.rules import BY_GPT2

# The class of a model type, where its folder names none, or one that is known to be wrong.
CLASSES = {
    "bart": "Roberta",
    "bert": "Bert",
    "camembert": "Camembert",
    "distilbert": "Bert",
    "gemma": "Gemma",
    "gemma2": "Gemma",
    "gemma3_text": "Gemma",
    "gpt2": "GPT2",
    "gpt_neo": "GPT2",
    "gpt_neox": "GPTNeoX",
    "olmoe": "GPTNeoX",
    "opt": "GPT2",
    "qwen2": "Qwen2",
    "qwen3": "Qwen2",
    "qwen3_moe": "Qwen2",
    "roberta": "Roberta",
    "t5": "T5",
    "xlm-roberta": "XLMRoberta",
}
_MISNAMED = ("phi3", "modernbert", "modernbert-decoder", "qwen2")
"""Model types whose folders name a class that does not read them."""
_AS_WRITTEN = ("mistral", "mixtral", "olmo2", "phi3", "modernbert", "modernbert-decoder")
"""Model types whose ``tokenizer.json`` is read as it is, whatever class a folder names."""
_ALSO = {"DistilBert": "Bert", "Electra": "Bert", "MobileBert": "Bert", "Bart": "Roberta", "GPTNeo": "GPT2"}
_NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_REFUSED = ("fix_mistral_regex",)


def overridden(path: Path, plain: dict[str, Any], settings: Settings, n_rows: int) -> dict[str, Any]:
    """The description of ``path`` as the settings beside it change it.

    Raises:
        ModelError: a setting changes how a text is cut in a way that is not known here, or ``added_tokens.json`` is
            damaged.
    """
    for name in _REFUSED:
        if settings.plain.get(name):
            raise ModelError(f"{path.parent / 'tokenizer_config.json'}: {name}: expected false, got true")
    if not isinstance(plain.get("model"), dict):
        return plain
    steps = _steps(_class_of(plain, settings), plain, settings)
    return {**plain, **steps, "added_tokens": _added(path, plain, settings, n_rows, rebuilt=bool(steps))}


def _class_of(plain: Mapping[str, Any], settings: Settings) -> str:
    """The class that reads a folder, "" where its ``tokenizer.json`` says everything."""
    kind = _ALSO.get(settings.kind, settings.kind)
    if settings.model_type in _AS_WRITTEN or (kind == "Llama" and _is_byte_level(plain)):
        return ""
    usual = CLASSES.get(settings.model_type, "")
    return usual if settings.model_type in _MISNAMED or not kind else kind


def _is_byte_level(plain: Mapping[str, Any]) -> bool:
    parts = plain.get("pre_tokenizer")
    inner = parts.get("pretokenizers") or [parts] if isinstance(parts, dict) else []
    return any(isinstance(part, dict) and part.get("type") == "ByteLevel" for part in inner)


def _steps(kind: str, plain: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The normalizer and the pre-tokenizer that a class builds; nothing where the vocabulary is of another kind."""
    model = str(plain["model"].get("type", ""))
    match kind:
        case "Bert" if model == "WordPiece":
            return bert_steps(settings)
        case "GPT2" | "Roberta" | "GPTNeoX" | "Qwen2" if model == "BPE" and _is_byte_level(plain):
            begins = settings.flag("add_prefix_space", False)
            return {"pre_tokenizer": _with_prefix(plain["pre_tokenizer"], begins)}
        case "Llama" if model == "BPE":
            begins = settings.flag("add_prefix_space", True)
            always = "always" if settings.flag("legacy", False) else "first"
            metaspace = {"type": "Metaspace", "replacement": "▁", "split": False}
            return {
                "normalizer": None,
                "pre_tokenizer": {**metaspace, "prepend_scheme": always if begins else "never"},
                "decoder": _llama_decoder(begins),
            }
    return {}


def _with_prefix(part: dict[str, Any], begins: bool) -> dict[str, Any]:
    """A byte-level pre-tokenizer that puts a space before a text, or does not."""
    if part.get("type") == "ByteLevel":
        return {**BY_GPT2, **part, "add_prefix_space": begins}
    inner = part.get("pretokenizers") or []
    return {**part, "pretokenizers": [_with_prefix(one, begins) for one in inner]} if inner else part


def _llama_decoder(begins: bool) -> dict[str, Any]:
    spelled = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if begins else []
    return {"type": "Sequence", "decoders": [spelled, {"type": "ByteFallback"}, {"type": "Fuse"}, *strip]}


def _added(path: Path, plain: Mapping[str, Any], settings: Settings, n_rows: int, *, rebuilt: bool) -> Any:
    """The tokens that are found in a text: those of the description, and those that the settings name.

    A class that builds its steps anew knows those of ``added_tokens_decoder`` alone, where there is such a table.
    """
    own = plain.get("added_tokens") or []
    listed = settings.added()
    if not isinstance(own, list) or not all(isinstance(entry, dict) for entry in own):
        return own  # what reads it says what is wrong with it
    found = {entry.get("content"): entry for entry in (listed if rebuilt and listed else own)}
    vocabulary = _ids(plain["model"].get("vocab"))
    if not listed:
        later = path.parent / "added_tokens.json"
        for name, id in (read_object(later) if later.exists() else {}).items():
            if type(id) is not int:
                raise ModelError(f"{later}: the id of {name[:40]!r}: expected a whole number, got {id!r:.40}")
            special = name in settings.names()
            entry = {**added_token(id, name, special=special), "normalized": not special}
            found.setdefault(name, entry)
    known = {entry["content"]: entry for entry in own if isinstance(entry.get("content"), str)}
    for entry in listed:
        found.setdefault(entry["content"], entry)
    for name in settings.names():
        if name in found:
            found[name] = {**found[name], "special": True}
            continue
        id = known[name]["id"] if name in known else vocabulary.get(name)
        if id is None:
            taken = [*vocabulary.values(), *(entry["id"] for entry in found.values() if type(entry.get("id")) is int)]
            id = max(taken, default=-1) + 1
        if id < n_rows:
            found[name] = added_token(id, name)
    return list(found.values())


def _ids(vocabulary: object) -> dict[str, int]:
    if isinstance(vocabulary, dict):
        return {name: id for name, id in vocabulary.items() if type(id) is int}
    rows: Iterable[Any] = vocabulary if isinstance(vocabulary, list) else ()
    return {row[0]: id for id, row in enumerate(rows) if isinstance(row, list) and row and isinstance(row[0], str)}
