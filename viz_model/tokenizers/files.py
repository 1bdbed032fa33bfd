"""The files of a folder: what they say, and those older than ``tokenizer.json`` made such a description.

Every file is read by the functions here, which refuse what is damaged or too long.
"""

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from viz_model.checkpoints.weights import ModelError, one_line, read_file, read_json
from viz_model.tokenizers.chat import ChatTemplate
from viz_model.tokenizers.rules import BY_GPT2, PRE_TOKENIZERS

MAX_BYTES = 2**26
MASKS = ("[MASK]", "<mask>")
# What ends a text in models whose files do not say it.
ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>")
_USUAL = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
# A byte, as pieces in the manner of SentencePiece name it.
BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class Settings:
    """What a folder says of its tokenizer beside the vocabulary.

    Attributes:
        plain: ``tokenizer_config.json``, and over it ``special_tokens_map.json`` where that is read.
        model_type: of ``config.json``.
        eos_id: the id that ``config.json`` or a GGUF file gives to the end of a text.
        before, after: names of control tokens around a text, where no post-processor says them.
    """

    plain: Mapping[str, Any] = field(default_factory=dict)
    model_type: str = ""
    eos_id: int | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path) -> "Settings":
        """Raises ModelError where a file is damaged. Files that are missing say nothing."""
        names = ("special_tokens_map.json", "tokenizer_config.json", "config.json")
        mapped, plain, config = (read_object(folder / name) if (folder / name).exists() else {} for name in names)
        template = folder / "chat_template.jinja"
        if template.exists():
            plain = {**plain, "chat_template": _read_text(template)}
        if "added_tokens_decoder" in plain:  # newer than the map, which is then not read
            mapped = {}
        # The class, for folders that name it nowhere else.
        named = {name: config[name] for name in ("tokenizer_class",) if isinstance(config.get(name), str)}
        eos = config.get("eos_token_id")
        eos = eos[0] if isinstance(eos, list) and eos else eos
        return cls(
            plain={**named, **plain, **mapped},
            model_type=str(config.get("model_type", "")),
            eos_id=eos if isinstance(eos, int) else None,
        )

    def named(self, key: str, default: str = "") -> str:
        """The token called ``key``: written out, or an object with its content."""
        value = self.plain.get(key)
        if isinstance(value, dict):
            value = value.get("content")
        return value if isinstance(value, str) else default

    def flag(self, key: str, default: bool) -> bool:
        value = self.plain.get(key)
        return value if isinstance(value, bool) else default

    @property
    def chat(self) -> ChatTemplate | None:
        """How a conversation is written; of several ways, the one called default."""
        found = self.plain.get("chat_template")
        if isinstance(found, list):
            named = {entry.get("name"): entry.get("template") for entry in found if isinstance(entry, dict)}
            found = named.get("default")
        keys = [key for key in self.plain if key.endswith("_token")]
        return (
            ChatTemplate(found, {key: self.named(key) for key in keys if self.named(key)})
            if isinstance(found, str)
            else None
        )

    @property
    def kind(self) -> str:
        """The class that a folder names, without the endings by which Transformers' versions differ."""
        name = self.plain.get("tokenizer_class")
        return re.sub("(Tokenizer)?(Fast)?$", "", name, count=1) if isinstance(name, str) else ""

    def controls(
        self, defaults: Mapping[str, str] = MappingProxyType({}), more: Iterable[str] = ()
    ) -> dict[str, dict[str, bool]]:
        """The control tokens that a folder names, the usual ones in their order and more of its own, and how each is
        looked for in a text.

        Args:
            defaults: what the usual ones are called where the folder does not say it, by "bos", "eos", ….
            more: others that its class adds.
        """
        own = {f"{name}_token": content for name, content in defaults.items()}
        own |= {key: value for key, value in self.plain.items() if key.endswith("_token")}
        usual = [f"{name}_token" for name in _USUAL]
        given = (self.plain.get(key) for key in ("extra_special_tokens", "additional_special_tokens"))
        found = next((more for more in given if isinstance(more, dict | list) and more), [])
        values = [*(own.get(key) for key in usual), *(own[key] for key in own if key not in usual)]
        values += found.values() if isinstance(found, dict) else found
        listed: dict[str, dict[str, bool]] = {}
        for entry in (*values, *more):
            text = entry.get("content") if isinstance(entry, dict) else entry
            if isinstance(text, str) and text:
                listed.setdefault(text, _flags(entry if isinstance(entry, dict) else {}))
        return listed

    def added(self) -> list[dict[str, Any]]:
        """Tokens added to the vocabulary, in the format of ``tokenizer.json``."""
        table = self.plain.get("added_tokens_decoder")
        entries = table.items() if isinstance(table, dict) else ()
        return [
            {**added_token(int(id), entry["content"], special=entry.get("special") is True), **_flags(entry)}
            for id, entry in entries
            if id.isdecimal() and id.isascii() and isinstance(entry, dict) and isinstance(entry.get("content"), str)
        ]


def _flags(entry: Mapping[str, Any]) -> dict[str, bool]:
    """How an added token is looked for in a text."""
    return {name: entry.get(name) is True for name in ("lstrip", "rstrip", "single_word", "normalized")}


def added_token(id: int, content: str, *, special: bool = True, lstrip: bool = False) -> dict[str, Any]:
    return {"id": id, "content": content, "special": special, **_flags({"lstrip": lstrip})}


def read_bytes(path: Path) -> bytes:
    return read_file(path, MAX_BYTES)


def _read_text(path: Path) -> str:
    try:
        return read_bytes(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: {one_line(error)}"[:500]) from None


def read_object(path: Path) -> dict[str, Any]:
    return read_json(path, MAX_BYTES)


def read_ids(path: Path) -> dict[str, int]:
    """A vocabulary written as {"token": id}."""
    vocabulary = read_object(path)
    check_ids(path, vocabulary)
    return vocabulary


def check_ids(path: Path, vocabulary: Mapping[str, Any]) -> None:
    for piece, id in vocabulary.items():
        if type(id) is not int or id < 0:
            raise ModelError(f"{path}: the id of {piece[:40]!r} is {id!r:.40}, expected a whole number of at least 0")
    if len(set(vocabulary.values())) < len(vocabulary):
        raise ModelError(f"{path}: two tokens have the same id")


def check_size(path: Path, ids: Iterable[int], n_rows: int) -> None:
    """Refuse the vocabulary of another model. Models round their rows up, but seldom far."""
    n_ids = max(ids, default=-1) + 1
    if not n_rows / 2 <= n_ids <= n_rows:
        raise ModelError(f"{path}: {n_ids} tokens, but the model has rows for {n_rows}")


def _check_kind(path: Path, settings: Settings, known: Sequence[str]) -> None:
    if settings.kind and settings.kind not in known:
        raise ModelError(
            f"{path}: how {settings.kind}Tokenizer reads it is not known here; save tokenizer.json beside it"
        )


def package(name: str, path: Path) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ModelError(f"{path}: to read it, the package {name} is needed: pip install {name}") from None


def byte_level_bpe(
    vocabulary: Mapping[str, int],
    merges: Sequence[str],
    pre: str,
    added: list[dict[str, Any]],
    normalizer: dict[str, str] | None = None,
    *,
    whole_words: bool = False,
) -> dict[str, Any]:
    """A byte-level BPE, cut by the rules ``pre``; with ``whole_words``, a word that is a token is not joined to it."""
    return {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": PRE_TOKENIZERS[pre]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": merges, "ignore_merges": whole_words},
    }


def bpe_of_files(folder: Path, settings: Settings, kind: str) -> dict[str, Any]:
    """GPT-2's ``vocab.json`` and ``merges.txt``, which RoBERTa, BART and Qwen share with it; ``kind`` is the class."""
    path = folder / "vocab.json"
    _check_kind(path, settings, ("GPT2", "Roberta", "Bart", "Qwen2"))
    vocabulary = read_ids(path)
    lines = _read_text(folder / "merges.txt").split("\n")
    merges = [line for line in (line.rstrip("\r") for line in lines) if line and not line.startswith("#version")]
    for line in merges:
        if line.count(" ") != 1:
            raise ModelError(f"{folder / 'merges.txt'}: expected two tokens on a line, got {line[:80]!r}")
    names = [settings.named(f"{key}_token") for key in ("bos", "eos", "unk", "pad")]
    # RoBERTa's files need not say what they are, but have both of these, as those of others may.
    wraps = kind in ("", "Roberta") and "<s>" in vocabulary and "<mask>" in vocabulary
    around = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if wraps else [ENDS[0]]
    listed = settings.added()
    contents = {entry["content"] for entry in listed}
    names = [name for name in dict.fromkeys([*names, *around]) if name in vocabulary and name not in contents]
    added = [*listed, *(added_token(vocabulary[name], name, lstrip=name == "<mask>") for name in names)]
    qwen = settings.kind == "Qwen2"
    description = byte_level_bpe(
        vocabulary, merges, "qwen2" if qwen else "gpt-2", added, {"type": "NFC"} if qwen else None
    )
    if settings.flag("add_prefix_space", False):
        description["pre_tokenizer"] = {**BY_GPT2, "add_prefix_space": True}
    if settings.flag("add_bos_token", False):
        surround(description, (settings.named("bos_token", ENDS[0]),), (), path)
    elif wraps:
        surround(description, ("<s>",), ("</s>",), path)
    return description


def bert_steps(settings: Settings) -> dict[str, Any]:
    """The normalizer and the pre-tokenizer of BERT, as its settings have them."""
    strip = settings.plain.get("strip_accents")
    return {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": settings.flag("tokenize_chinese_chars", True),
            "strip_accents": strip if isinstance(strip, bool) else None,
            "lowercase": settings.flag("do_lower_case", True),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
    }


def wordpiece_of_file(folder: Path, settings: Settings) -> dict[str, Any]:
    """BERT's ``vocab.txt``: a token a line, the number of the line its id (Devlin et al. 2019)."""
    path = folder / "vocab.txt"
    _check_kind(path, settings, ("Bert", "DistilBert", "Electra", "MobileBert"))
    lines = _read_text(path).split("\n")
    if not lines[-1]:
        lines.pop()
    vocabulary = {line.rstrip("\r"): id for id, line in enumerate(lines)}
    usual = {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"}
    names = {key: settings.named(f"{key}_token", name) for key, name in usual.items()}
    for key in ("unk", "cls", "sep"):
        if names[key] not in vocabulary:
            raise ModelError(f"{path}: the token {names[key]} is missing")
    description = {
        "version": "1.0",
        "added_tokens": [added_token(vocabulary[name], name) for name in names.values() if name in vocabulary],
        **bert_steps(settings),
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "vocab": vocabulary,
            "unk_token": names["unk"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        },
    }
    surround(description, (names["cls"],), (names["sep"],), path)
    return description


def surround(description: dict[str, Any], before: Sequence[str], after: Sequence[str], path: Path) -> None:
    """Let the post-processor put control tokens around a text."""
    ids = {entry["content"]: entry["id"] for entry in description["added_tokens"]}
    vocabulary = description["model"]["vocab"]
    for name in (*before, *after):
        if name not in ids and name not in vocabulary:
            raise ModelError(f"{path}: the token {name[:40]!r} is missing")
        if name not in ids:
            description["added_tokens"].append(added_token(vocabulary[name], name))
            ids[name] = vocabulary[name]

    def piece(kind: str, id: str) -> dict[str, Any]:
        return {kind: {"id": id, "type_id": 0}}

    single = [
        *(piece("SpecialToken", name) for name in before),
        piece("Sequence", "A"),
        *(piece("SpecialToken", name) for name in after),
    ]
    description["post_processor"] = {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in (*before, *after)},
    }
