"""Tokenizers that come with checkpoints: files of a Hugging Face folder, or the metadata of GGUF.

Every kind of file but SentencePiece's own is first made a description in the format of
``tokenizer.json``, and what reads that is the library ``tokenizers``, whose format it is. A
byte-level BPE whose ids stand in the order of its merges becomes a
:class:`~viz_model.tokenizer.ByteLevel`, which can show how its tokens are merged.

Files are data here: nothing in a folder is run or unpickled, whatever it asks for.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import tiktoken

from viz_model.checkpoints.weights import ModelError, one_line, read_json
from viz_model.tokenizer import (
    ByteLevel,
    IdTokenizer,
    TextError,
    Token,
    Tokenizer,
    as_text_error,
    byte_symbols,
    check_bytes,
    check_text,
    is_panic,
    missing_bytes,
    token_of,
)

MAX_BYTES = 2**26
MASKS = ("[MASK]", "<mask>")
# What ends a text in models whose files do not say it.
ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>")

_BYTE_OF = {symbol: byte for byte, symbol in byte_symbols().items()}
_BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")
_LANGUAGE = re.compile(r">>[^<>\s]+<<")
# Set before the names of control tokens, so that they do not match when a text holds them. The
# character is reserved to mean nothing.
_UNTYPED = "\ufdd0" * 3


def from_folder(folder: Path, n_rows: int) -> Tokenizer:
    """The tokenizer of a model folder; one that reads ids where the folder has none.

    Args:
        n_rows: of the model's embedding, which may have more than there are tokens.

    Raises:
        ModelError: a file is damaged, of a kind that is not supported, needs a package that is
            not installed, or does not fit the model. The message names the file.
    """
    settings = Settings.of(folder)

    def there(*names: str) -> bool:
        return all((folder / name).exists() for name in names)

    if there("tokenizer.json"):
        path = folder / "tokenizer.json"
        return _build(folder.name, path, read_json(path, MAX_BYTES), settings, n_rows)
    if there("source.spm", "target.spm", "vocab.json"):
        return _marian(folder, settings, n_rows)
    if there("vocab.json", "merges.txt"):
        description = _bpe_of_files(folder, settings)
        return _build(folder.name, folder / "vocab.json", description, settings, n_rows)
    if there("vocab.txt"):
        description = _wordpiece_of_file(folder, settings)
        return _build(folder.name, folder / "vocab.txt", description, settings, n_rows)
    for name in ("spiece.model", "tokenizer.model"):
        if there(name):
            return _sentencepiece(folder, folder / name, settings, n_rows)
    if there("sentencepiece.bpe.model"):
        raise ModelError(
            f"{folder / 'sentencepiece.bpe.model'}: its ids differ from the model's; save tokenizer.json beside it"
        )
    return IdTokenizer(n_rows)


def from_gguf(metadata: Mapping[str, Any], path: Path, n_rows: int) -> Tokenizer:
    """The tokenizer that the fields ``tokenizer.ggml.*`` of a GGUF file describe.

    Only byte-level BPE (``model`` "gpt2") is supported, with the rules for cutting a text
    (``pre``) named in :data:`PRE_TOKENIZERS`: under other rules the ids would be wrong.

    Raises:
        ModelError: another kind of vocabulary, or fields that are missing or do not fit together.
            The message names file and field.
    """
    fields = _Fields({k: v for k, v in metadata.items() if k.startswith("tokenizer.ggml.")}, path)
    if (model := fields.value("model", str, "")) != "gpt2":
        raise ModelError(f"{path}: tokenizer.ggml.model: expected gpt2 (byte-level BPE), got {model[:80]!r}")
    pre = fields.value("pre", str, "")
    if pre not in PRE_TOKENIZERS:
        known = ", ".join(sorted(PRE_TOKENIZERS))
        raise ModelError(f"{path}: tokenizer.ggml.pre: expected one of {known}, got {pre[:80]!r}")
    tokens, merges = fields.strings("tokens"), fields.strings("merges")
    kinds = fields.value("token_type", list, [_NORMAL] * len(tokens))
    if len(kinds) != len(tokens):
        raise ModelError(f"{path}: tokenizer.ggml.token_type: {len(kinds)} types for {len(tokens)} tokens")
    used = [(id, token) for id, (token, kind) in enumerate(zip(tokens, kinds, strict=True)) if kind != _UNUSED]
    if len({token for _, token in used}) < len(used):
        raise ModelError(f"{path}: tokenizer.ggml.tokens: two tokens are the same")
    eos = fields.value("eos_token_id", int, -1)
    settings = Settings(
        eos_id=eos if 0 <= eos < len(tokens) else None,
        before=fields.control("bos", tokens, default=pre in _BEGIN_WITH_BOS),
        after=fields.control("eos", tokens, default=False),
    )
    added = [_added(id, token, special=kinds[id] != _USER_DEFINED) for id, token in used if kinds[id] in _ADDED_KINDS]
    normalizer = {"type": "NFC"} if pre in _NORMALISED else None
    description = _byte_level_bpe({token: id for id, token in used}, merges, pre, added, normalizer)
    return _build(path.stem, path, description, settings, n_rows)


# llama.cpp's types of tokens (llama.h, enum llama_token_type).
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED = 1, 2, 3, 4, 5
_ADDED_KINDS = (_UNKNOWN, _CONTROL, _USER_DEFINED)
_BEGIN_WITH_BOS = ("llama-bpe",)
_NORMALISED = ("qwen2",)


@dataclass(frozen=True)
class _Fields:
    values: Mapping[str, Any]
    path: Path

    def value(self, name: str, kind: type, default: Any) -> Any:
        found = self.values.get(f"tokenizer.ggml.{name}", default)
        if not isinstance(found, kind):
            raise ModelError(f"{self.path}: tokenizer.ggml.{name}: expected {kind.__name__}, got {found!r:.80}")
        return found

    def strings(self, name: str) -> list[str]:
        found = self.value(name, list, [])
        if not found or not all(isinstance(entry, str) for entry in found):
            raise ModelError(f"{self.path}: tokenizer.ggml.{name}: expected a list of strings")
        return found

    def control(self, name: str, tokens: Sequence[str], *, default: bool) -> tuple[str, ...]:
        """The control token that texts are put behind or before, where the file asks for it."""
        if not self.value(f"add_{name}_token", bool, default):
            return ()
        id = self.value(f"{name}_token_id", int, -1)
        if not 0 <= id < len(tokens):
            raise ModelError(f"{self.path}: tokenizer.ggml.{name}_token_id: {id} is no token")
        return (tokens[id],)


# How texts are cut


def _split(pattern: str) -> list[dict[str, Any]]:
    return [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
    ]


_BY_GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SIGNS_AND_BLANKS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _SIGNS_AND_BLANKS
_QWEN2 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _SIGNS_AND_BLANKS

PRE_TOKENIZERS: dict[str, list[dict[str, Any]]] = {
    "gpt-2": [_BY_GPT2],
    "smollm": [{"type": "Digits", "individual_digits": True}, _BY_GPT2],
    "llama-bpe": _split(_LLAMA3),
    "qwen2": _split(_QWEN2),
}
"""The rules by llama.cpp's names, as the models' own ``tokenizer.json`` files write them."""

# The same rules for tiktoken, whose patterns drop what they do not match. Possessive (++) wherever
# it changes nothing, so that no text makes them backtrack.
_WORDS = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++"
_SIGNS = r"| ?[^\s\p{L}\p{N}]++"
_BLANKS = r"|\s++$|\s+(?!\S)|\s"
_ANY_CASE_WORDS = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++"
_LINES = r"[\r\n]*+|\s*[\r\n]"
TIKTOKEN_PATTERNS = {
    "gpt-2": _WORDS + r"| ?\p{N}++" + _SIGNS + _BLANKS,
    "smollm": _WORDS + r"|\p{N}" + _SIGNS + r"|\s++(?=\p{N})" + _BLANKS,
    "llama-bpe": _ANY_CASE_WORDS + r"|\p{N}{1,3}+" + _SIGNS + _LINES + _BLANKS,
    "qwen2": _ANY_CASE_WORDS + r"|\p{N}" + _SIGNS + _LINES + _BLANKS,
}


# Files of a folder


@dataclass(frozen=True)
class Settings:
    """What a folder says of its tokenizer beside the vocabulary.

    Attributes:
        plain: ``tokenizer_config.json``, with ``special_tokens_map.json`` below it.
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
    def of(cls, folder: Path) -> Settings:
        """Raises ModelError where a file is damaged. Files that are missing say nothing."""
        names = ("special_tokens_map.json", "tokenizer_config.json", "config.json")
        mapped, plain, config = (
            read_json(folder / name, MAX_BYTES) if (folder / name).exists() else {} for name in names
        )
        eos = config.get("eos_token_id")
        eos = eos[0] if isinstance(eos, list) and eos else eos
        return cls(
            plain={**mapped, **plain},
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
    def kind(self) -> str:
        """The class that a folder names, without the endings by which Transformers' versions differ."""
        name = self.plain.get("tokenizer_class")
        return re.sub("(Tokenizer)?(Fast)?$", "", name, count=1) if isinstance(name, str) else ""

    def added(self) -> list[dict[str, Any]]:
        """Tokens added to the vocabulary, in the format of ``tokenizer.json``."""
        table = self.plain.get("added_tokens_decoder")
        entries = table.items() if isinstance(table, dict) else ()
        return [
            {**_added(int(id), entry["content"], special=entry.get("special") is True), **_flags(entry)}
            for id, entry in entries
            if id.isdecimal() and id.isascii() and isinstance(entry, dict) and isinstance(entry.get("content"), str)
        ]


def _flags(entry: Mapping[str, Any]) -> dict[str, bool]:
    """How an added token is looked for in a text."""
    return {name: entry.get(name) is True for name in ("lstrip", "rstrip", "single_word", "normalized")}


def _added(id: int, content: str, *, special: bool = True, lstrip: bool = False) -> dict[str, Any]:
    return {"id": id, "content": content, "special": special, **_flags({"lstrip": lstrip})}


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) <= MAX_BYTES:
            return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: {one_line(error)}"[:500]) from None
    raise ModelError(f"{path}: longer than {MAX_BYTES} bytes")


def _read_ids(path: Path) -> dict[str, int]:
    """A vocabulary written as {"token": id}."""
    vocabulary = read_json(path, MAX_BYTES)
    _check_ids(path, vocabulary)
    return vocabulary


def _check_ids(path: Path, vocabulary: Mapping[str, Any]) -> None:
    for piece, id in vocabulary.items():
        if type(id) is not int or id < 0:
            raise ModelError(f"{path}: the id of {piece[:40]!r} is {id!r:.40}, expected a whole number of at least 0")
    if len(set(vocabulary.values())) < len(vocabulary):
        raise ModelError(f"{path}: two tokens have the same id")


def _check_kind(path: Path, settings: Settings, known: Sequence[str]) -> None:
    if settings.kind and settings.kind not in known:
        raise ModelError(
            f"{path}: how {settings.kind}Tokenizer reads it is not known here; save tokenizer.json beside it"
        )


def _byte_level_bpe(
    vocabulary: Mapping[str, int],
    merges: Sequence[str],
    pre: str,
    added: list[dict[str, Any]],
    normalizer: dict[str, str] | None = None,
) -> dict[str, Any]:
    return {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": PRE_TOKENIZERS[pre]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        "model": {
            "type": "BPE",
            "vocab": vocabulary,
            "merges": merges,
            "ignore_merges": pre == "llama-bpe",
        },
    }


def _bpe_of_files(folder: Path, settings: Settings) -> dict[str, Any]:
    """GPT-2's ``vocab.json`` and ``merges.txt``, which RoBERTa, BART and Qwen share with it."""
    path = folder / "vocab.json"
    _check_kind(path, settings, ("GPT2", "Roberta", "Bart", "Qwen2"))
    vocabulary = _read_ids(path)
    lines = _read_text(folder / "merges.txt").split("\n")
    merges = [line for line in (line.rstrip("\r") for line in lines) if line and not line.startswith("#version")]
    for line in merges:
        if line.count(" ") != 1:
            raise ModelError(f"{folder / 'merges.txt'}: expected two tokens on a line, got {line[:80]!r}")
    names = [settings.named(f"{key}_token") for key in ("bos", "eos", "unk", "pad")]
    # RoBERTa's files need not say what they are, but only they have both of these.
    wraps = "<s>" in vocabulary and "<mask>" in vocabulary
    around = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if wraps else [ENDS[0]]
    listed = settings.added()
    contents = {entry["content"] for entry in listed}
    names = [name for name in dict.fromkeys([*names, *around]) if name in vocabulary and name not in contents]
    added = [*listed, *(_added(vocabulary[name], name, lstrip=name == "<mask>") for name in names)]
    qwen = settings.kind == "Qwen2"
    description = _byte_level_bpe(
        vocabulary, merges, "qwen2" if qwen else "gpt-2", added, {"type": "NFC"} if qwen else None
    )
    if settings.flag("add_prefix_space", False):
        description["pre_tokenizer"] = {**_BY_GPT2, "add_prefix_space": True}
    if settings.flag("add_bos_token", False):
        _surround(description, (settings.named("bos_token", ENDS[0]),), (), path)
    elif wraps:
        _surround(description, ("<s>",), ("</s>",), path)
    return description


def _wordpiece_of_file(folder: Path, settings: Settings) -> dict[str, Any]:
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
    strip_accents = settings.plain.get("strip_accents")
    description = {
        "version": "1.0",
        "added_tokens": [_added(vocabulary[name], name) for name in names.values() if name in vocabulary],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": settings.flag("tokenize_chinese_chars", True),
            "strip_accents": strip_accents if isinstance(strip_accents, bool) else None,
            "lowercase": settings.flag("do_lower_case", True),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
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
    _surround(description, (names["cls"],), (names["sep"],), path)
    return description


def _surround(description: dict[str, Any], before: Sequence[str], after: Sequence[str], path: Path) -> None:
    """Let the post-processor put control tokens around a text."""
    ids = {entry["content"]: entry["id"] for entry in description["added_tokens"]}
    vocabulary = description["model"]["vocab"]
    for name in (*before, *after):
        if name not in ids and name not in vocabulary:
            raise ModelError(f"{path}: the token {name[:40]!r} is missing")
        if name not in ids:
            description["added_tokens"].append(_added(vocabulary[name], name))
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


# What a description becomes


def _build(name: str, path: Path, description: dict[str, Any], settings: Settings, n_rows: int) -> Tokenizer:
    parsed = _Description(path, description, settings)
    _check_size(path, parsed.pieces, n_rows)
    fast = FastTokenizer(name, parsed, n_rows)
    return _as_byte_level(name, parsed, fast, n_rows) or fast


def _check_size(path: Path, ids: Iterable[int], n_rows: int) -> None:
    """Refuse the vocabulary of another model. Models round their rows up, but seldom far."""
    n_ids = max(ids, default=-1) + 1
    if not n_rows / 2 <= n_ids <= n_rows:
        raise ModelError(f"{path}: {n_ids} tokens, but the model has rows for {n_rows}")


class _Description:
    """A ``tokenizer.json``, parsed, and what tokens are by it.

    Attributes:
        pieces: what stands in the vocabulary, by id.
        added: ids of tokens that are found in a text before it is cut.
        controls: ids of control tokens, without the mask and the unknown token.
        library: the ``tokenizers.Tokenizer``, for which control tokens in a text are text.

    Raises:
        ModelError: damaged, or written in another way than the library writes it.
    """

    def __init__(self, path: Path, plain: dict[str, Any], settings: Settings) -> None:
        self.path = path
        model, added = plain.get("model"), plain.get("added_tokens") or []
        if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict | list):
            raise ModelError(f"{path}: model.vocab: expected the tokens")
        if not isinstance(added, list) or not all(_is_added(entry) for entry in added):
            raise ModelError(f"{path}: added_tokens: expected objects with id and content")
        vocabulary = model["vocab"]
        if isinstance(vocabulary, dict):
            _check_ids(path, vocabulary)
            self.pieces = {id: piece for piece, id in vocabulary.items()}
        else:
            if not all(isinstance(entry, list) and entry and isinstance(entry[0], str) for entry in vocabulary):
                raise ModelError(f"{path}: model.vocab: expected pairs of token and score")
            self.pieces = {id: entry[0] for id, entry in enumerate(vocabulary)}
        for entry in added:
            if self.pieces.setdefault(entry["id"], entry["content"]) != entry["content"]:
                raise ModelError(f"{path}: added_tokens: the id {entry['id']} is that of another token")
        ids = {entry["content"]: entry["id"] for entry in added}
        special = {entry["content"] for entry in added if entry.get("special") is True}

        unknown = model.get("unk_token")
        if isinstance(index := model.get("unk_id"), int):
            unknown = self.pieces.get(index)
        mask = next((name for name in (settings.named("mask_token"), *MASKS) if name in ids), None)
        self.mask_id = None if mask is None else ids[mask]
        ends = [ids.get(settings.named("eos_token")), settings.eos_id, *(ids[name] for name in ENDS if name in special)]
        self.end_of_text = next((id for id in ends if id in self.pieces), None)
        self.added = frozenset(ids.values())
        # The mask and the unknown token stand for a part of the text; GPT-2 calls its end of text unknown too.
        words = {self.mask_id, *(ids[name] for name in special if name == unknown)} - {self.end_of_text}
        self.controls = frozenset(ids[name] for name in special).difference(words)

        if settings.before or settings.after:
            plain = {**plain, "added_tokens": list(added)}
            _surround(plain, settings.before, settings.after, path)
        self.plain = _with_typed_controls_as_text(plain, special.difference({mask}), mask)
        self.library = _parsed(path, self.plain)
        for entry in self.plain["added_tokens"]:
            if self.library.token_to_id(entry["content"]) != entry["id"]:
                content = entry["content"].removeprefix(_UNTYPED)
                raise ModelError(f"{path}: added_tokens: {content[:40]!r} does not have the id {entry['id']}")

    @cached_property
    def pre_tokenizers(self) -> list[dict[str, Any]]:
        return list(_parts(self.plain.get("pre_tokenizer")))

    @cached_property
    def is_byte_level(self) -> bool:
        return any(part["type"] == "ByteLevel" for part in self.pre_tokenizers)

    @cached_property
    def is_lossless(self) -> bool:
        """Whether nothing on the way from a text to ids changes or drops a part of it."""
        keeping = all(
            part["type"] in ("ByteLevel", "Digits") or (part["type"] == "Split" and part["behavior"] != "Removed")
            for part in self.pre_tokenizers
        )
        unchanged = not any(part.get("add_prefix_space") for part in self.pre_tokenizers)
        exact = not any(entry.get("lstrip") or entry.get("rstrip") for entry in self.plain["added_tokens"])
        return self.is_byte_level and keeping and unchanged and exact and self.plain.get("normalizer") is None

    @cached_property
    def _blank(self) -> str | None:
        """What stands for a space in pieces: ▁ in vocabularies in the manner of SentencePiece."""
        for part in (*self.pre_tokenizers, *_parts(self.plain.get("decoder"))):
            if part["type"] == "Metaspace":
                return str(part.get("replacement", "▁"))
            if part["type"] == "Replace" and part.get("content") == " ":
                pattern = part.get("pattern")
                return pattern.get("String") if isinstance(pattern, dict) else None
        return None

    @cached_property
    def _bytes_are_named(self) -> bool:
        """Whether a piece like <0xE6> is a byte."""
        decoders = _parts(self.plain.get("decoder"))
        return self.plain["model"].get("byte_fallback") is True or any(p["type"] == "ByteFallback" for p in decoders)

    def token(self, id: int) -> Token:
        """The token of an id that :attr:`pieces` has."""
        piece = self.pieces[id]
        if id in self.added:
            return Token(id, piece.encode(), piece)
        model = self.plain["model"]
        within = piece.removeprefix(model.get("continuing_subword_prefix") or "")
        within = within.removesuffix(model.get("end_of_word_suffix") or "")
        raw = self._raw(within)
        # The marks of a word's parts are no text, but without them parts look like words.
        return token_of(id, raw) if within == piece else Token(id, raw, piece)

    def _raw(self, piece: str) -> bytes:
        if self.is_byte_level:
            return _from_symbols(piece) or piece.encode()
        if self._bytes_are_named and (match := _BYTE_PIECE.fullmatch(piece)):
            return bytes.fromhex(match[1])
        return (piece.replace(self._blank, " ") if self._blank else piece).encode()


def _is_added(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and type(entry.get("id")) is int
        and entry["id"] >= 0
        and isinstance(entry.get("content"), str)
    )


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    """The steps of a pre-tokenizer, normalizer or decoder, in order."""
    if isinstance(node, dict):
        if node.get("type") == "Sequence":
            for key in ("pretokenizers", "normalizers", "decoders"):
                for child in node.get(key) or []:
                    yield from _parts(child)
        else:
            yield node


def _from_symbols(piece: str) -> bytes | None:
    """The bytes that a piece in GPT-2's alphabet spells, None where it is in no such alphabet."""
    try:
        return bytes(_BYTE_OF[symbol] for symbol in piece)
    except KeyError:
        return None


def _with_typed_controls_as_text(plain: dict[str, Any], controls: set[str], mask: str | None) -> dict[str, Any]:
    """The description with other names for control tokens, and a mask that is an ordinary added token.

    The library can be told to leave special tokens in a text alone, which the mask must not be.
    Still, some models would find the names of the others among the pieces of their vocabulary.
    """
    model = dict(plain["model"])

    def renamed(piece: str) -> str:
        return _UNTYPED + piece if piece in controls else piece

    if isinstance(model["vocab"], dict):
        model["vocab"] = {renamed(piece): id for piece, id in model["vocab"].items()}
    else:
        model["vocab"] = [[renamed(entry[0]), *entry[1:]] for entry in model["vocab"]]
    if isinstance(model.get("unk_token"), str):
        model["unk_token"] = renamed(model["unk_token"])
    if isinstance(model.get("merges"), list):
        pairs = [_pair(merge) for merge in model["merges"]]
        model["merges"] = [pair for pair in pairs if controls.isdisjoint((*pair, pair[0] + pair[1]))]
    if model.get("dropout"):  # which would cut the same text in another way each time
        model["dropout"] = None
    added = [
        {**entry, "content": renamed(entry["content"]), "special": entry.get("special") is True}
        | ({"special": False} if entry["content"] == mask else {})
        for entry in plain.get("added_tokens") or []
    ]
    return {**plain, "model": model, "added_tokens": added, "truncation": None, "padding": None}


def _pair(merge: Any) -> tuple[str, str]:
    """A merge, written as "a b" or as ["a", "b"]."""
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if isinstance(parts, list) and len(parts) == 2 and all(isinstance(part, str) for part in parts):
        return parts[0], parts[1]
    return "", ""


def _parsed(path: Path, description: dict[str, Any]) -> Any:
    library = _library("tokenizers", path)
    try:
        parsed = library.Tokenizer.from_str(json.dumps(description))
        parsed.encode_special_tokens = True
    except BaseException as error:
        if isinstance(error, Exception) or is_panic(error):
            raise ModelError(f"{path}: {one_line(error)}"[:500]) from None
        raise
    return parsed


def _library(name: str, path: Path) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ModelError(f"{path}: to read it, the package {name} is needed: pip install {name}") from None


class FastTokenizer(Tokenizer):
    """A tokenizer that the library ``tokenizers`` runs."""

    def __init__(self, name: str, description: _Description, n_rows: int) -> None:
        self.name = name
        self.n_vocab = n_rows
        self.end_of_text = description.end_of_text
        self.mask_id = description.mask_id
        self.controls = description.controls
        self._description = description
        self._library = description.library
        self._missing: frozenset[int] = frozenset()
        if description.is_byte_level:
            single = (id for id, piece in description.pieces.items() if len(piece) == 1)
            self._missing = missing_bytes(description.token(id).bytes for id in single)
        self.is_lossless = description.is_lossless
        around = self._library.encode("", add_special_tokens=True).ids
        if (highest := max(around, default=0)) >= n_rows:
            raise ModelError(f"{description.path}: post_processor: the model has no token {highest}")

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        check_text(text)
        check_bytes(text, self._missing, self.name)
        with as_text_error():
            ids: list[int] = self._library.encode(text, add_special_tokens=special).ids
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        ids = list(ids)
        if self._description.is_byte_level:
            return self._spelled(ids)
        named = [token.id for token in self.tokens(ids) if token.bytes and token.id not in self.controls]
        text: str = self._library.decode(named, skip_special_tokens=False)
        return text.replace(_UNTYPED, "")

    def token(self, id: int) -> Token:
        id = int(id)
        return self._description.token(id) if self._description.pieces.get(id) else self._unused(id)


def _as_byte_level(name: str, description: _Description, fast: FastTokenizer, n_rows: int) -> ByteLevel | None:
    """The same vocabulary as a :class:`tiktoken.Encoding`, where that gives the same ids.

    tiktoken joins any neighbours whose join is a token, and those of the lowest id first; the
    library joins the pairs in its list, and the first in the list first. Both come to the same
    if the pairs stand in the order of the ids of what they join to, and if every token, given
    alone, is joined from its bytes: then whichever neighbours can join to it are a pair in the list.
    """
    model = description.plain["model"]
    pattern = _tiktoken_pattern(description.pre_tokenizers)
    ordinary = {id: piece for id, piece in description.pieces.items() if id not in description.added}
    if pattern is None or not fast.is_lossless or model.get("type") != "BPE":
        return None
    if description.added != description.controls or not ordinary:
        return None
    ranks = {raw: id for id, piece in ordinary.items() if (raw := _from_symbols(piece))}
    pairs = model["merges"]
    joins = [model["vocab"].get(left + right, -1) for left, right in pairs]
    if len(ranks) < len(ordinary) or any(first > second for first, second in pairwise(joins)):
        return None
    bpe = _library("tokenizers", description.path).models.BPE(model["vocab"], pairs)
    if any(len(bpe.tokenize(piece)) != 1 for piece in ordinary.values()):
        return None

    controls = {piece: id for id, piece in description.pieces.items() if id in description.controls}
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=controls)
    before, after = _around(fast, ranks)
    result = ByteLevel(encoding, n_rows=n_rows, end_of_text=description.end_of_text, before=before, after=after)
    return result if all(_ids(result, text) == _ids(fast, text) for text in SAMPLES) else None


def _around(tokenizer: Tokenizer, ranks: Iterable[bytes]) -> tuple[list[int], list[int]]:
    """The control tokens before and after a text."""
    character = next((raw.decode() for raw in ranks if len(raw) == 1 and raw < b"\x80"), "")
    whole, inner = tokenizer.encode(character), tokenizer.encode(character, special=False)
    at = next(i for i in range(len(whole) + 1) if whole[i : i + len(inner)] == inner)
    return whole[:at], whole[at + len(inner) :]


def _tiktoken_pattern(parts: Sequence[Mapping[str, Any]]) -> str | None:
    def rule(part: Mapping[str, Any]) -> dict[str, Any]:
        # Offsets into the text are not used here, and the library's defaults may be left out.
        defaults = {"add_prefix_space": True, "use_regex": True} if part["type"] == "ByteLevel" else {}
        return {**defaults, **{key: value for key, value in part.items() if key != "trim_offsets"}}

    own = [rule(part) for part in parts]
    known = {name: [rule(part) for part in steps] for name, steps in PRE_TOKENIZERS.items()}
    return next((TIKTOKEN_PATTERNS[name] for name, steps in known.items() if steps == own), None)


SAMPLES = (
    "",
    "Once upon a time, there was a little girl. She'll say: \"I'm here!\" IT'S LATE",
    "我爱深度学习。\u3000很久很久以前，有一只小猫……",
    "  two  spaces\ttab\n\n  indented\r\n   \n",
    "1 12 123 1234567 3.14 ٣٤ Ⅷ ½",
    "def f(x):\n    return x**2  # ¡hé!\n",
    "👩‍👩‍👧‍👦 é ﷽ \u200b\u00a0x",
    "<|endoftext|> </s> [MASK] trailing   ",
)
"""What two ways of encoding are compared on."""


def _ids(tokenizer: Tokenizer, text: str) -> list[int] | None:
    """None where the vocabulary cannot write the text."""
    try:
        return tokenizer.encode(text)
    except TextError:
        return None


# SentencePiece


class SentencePiece(Tokenizer):
    """SentencePiece's own files (Kudo & Richardson 2018), and the ids that a model gives their pieces.

    Args:
        ids: the model's id of each of the processor's pieces.
        pieces: what stands in the vocabulary, by the model's id.
        before, after: control tokens that the model expects around a text.
        target: processor and ids of the language that a decoder speaks, where it is another.
    """

    def __init__(
        self,
        name: str,
        processor: Any,
        ids: Sequence[int],
        *,
        pieces: Mapping[int, str],
        n_rows: int,
        controls: Iterable[int],
        before: Sequence[int] = (),
        after: Sequence[int] = (),
        end_of_text: int | None = None,
        mask_id: int | None = None,
        target: tuple[Any, Sequence[int]] | None = None,
    ) -> None:
        self.name = name
        self.n_vocab = n_rows
        self.end_of_text = end_of_text
        self.mask_id = mask_id
        self.controls = frozenset(controls) - {mask_id}
        self._source = (processor, ids)
        self._target = target or self._source
        self._pieces = pieces
        self._before, self._after = list(before), list(after)
        self._languages = {piece: id for id, piece in pieces.items() if target and _LANGUAGE.fullmatch(piece)}

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """Token ids of ``text``. A language that begins it, like ``>>fra<<``, is asked for by its token."""
        check_text(text)
        begin = []
        if (match := _LANGUAGE.match(text)) and match[0] in self._languages:
            begin = [self._languages[match[0]]]
            text = text[match.end() :]
        return self._around([*begin, *self._ids(text, self._source)], special)

    def encode_target(self, text: str, *, special: bool = True) -> list[int]:
        check_text(text)
        return self._around(self._ids(text, self._target), special)

    def _around(self, ids: list[int], special: bool) -> list[int]:
        return [*self._before, *ids, *self._after] if special else ids

    def _ids(self, text: str, side: tuple[Any, Sequence[int]]) -> list[int]:
        processor, ids = side
        parts = [text] if self.mask_id is None else text.split(self._pieces[self.mask_id])
        found: list[int] = []
        for number, part in enumerate(parts):
            if number and self.mask_id is not None:
                found.append(self.mask_id)
            with as_text_error():
                found += [ids[id] for id in processor.encode(part)]
        return found

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``, without the space that stands before every first word."""
        return self._spelled(ids).removeprefix(" ")

    def token(self, id: int) -> Token:
        id = int(id)
        if not (piece := self._pieces.get(id)):
            return self._unused(id)
        if id in self.controls or id == self.mask_id:
            return Token(id, piece.encode(), piece)
        match = _BYTE_PIECE.fullmatch(piece)
        return token_of(id, bytes.fromhex(match[1]) if match else piece.replace("▁", " ").encode())


def _processor(path: Path) -> Any:
    library = _library("sentencepiece", path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ModelError(f"{path}: longer than {MAX_BYTES} bytes")
        processor = library.SentencePieceProcessor()
        processor.LoadFromSerializedProto(data)
        if not processor.get_piece_size():
            raise ModelError(f"{path}: no pieces")
    except (OSError, RuntimeError, TypeError) as error:
        raise ModelError(f"{path}: no SentencePiece model: {one_line(error)}"[:500]) from None
    return processor


def _sentencepiece(folder: Path, path: Path, settings: Settings, n_rows: int) -> Tokenizer:
    """The ``spiece.model`` of T5 and ALBERT, or the ``tokenizer.model`` of Llama 2."""
    usual = "T5" if path.name == "spiece.model" else "Llama"
    by_model = {"t5": "T5", "mt5": "T5", "llama": "Llama", "mistral": "Llama", "albert": "Albert"}
    kind = settings.kind or by_model.get(settings.model_type, usual)
    if kind not in ("T5", "Llama", "Albert"):
        raise ModelError(f"{path}: how {kind}Tokenizer reads it is not known here; save tokenizer.json beside it")
    processor = _processor(path)
    size = processor.get_piece_size()
    pieces = {id: processor.id_to_piece(id) for id in range(size)}
    controls = {id for id in pieces if processor.is_control(id)}
    if kind == "T5":
        # T5 counts the gaps that it was trained to fill from the end of its vocabulary.
        n_extra = settings.plain.get("extra_ids", 100)
        n_extra = min(n_extra if isinstance(n_extra, int) else 0, n_rows - size)
        gaps = {size + n_extra - 1 - n: f"<extra_id_{n}>" for n in range(n_extra)}
        pieces |= gaps
        controls |= set(gaps)
    for entry in settings.added():
        if entry["id"] < n_rows:
            pieces[entry["id"]] = entry["content"]
            controls |= {entry["id"]} - {processor.unk_id()} if entry["special"] else set()
    _check_size(path, [size - 1, *pieces], n_rows)

    id_of = {piece: id for id, piece in pieces.items()}
    eos = settings.named("eos_token", "[SEP]" if kind == "Albert" else "</s>")
    bos = settings.named("cls_token" if kind == "Albert" else "bos_token", "[CLS]" if kind == "Albert" else "<s>")
    with_bos = settings.flag("add_bos_token", kind != "T5")
    with_eos = settings.flag("add_eos_token", kind != "Llama")
    for name, wanted in ((bos, with_bos), (eos, with_eos)):
        if wanted and name not in id_of:
            raise ModelError(f"{path}: the token {name[:40]!r} is missing")
    mask = next((id_of[name] for name in (settings.named("mask_token"), *MASKS) if name in id_of), None)
    return SentencePiece(
        folder.name,
        processor,
        range(size),
        pieces=pieces,
        n_rows=n_rows,
        controls=controls,
        before=[id_of[bos]] if with_bos else [],
        after=[id_of[eos]] if with_eos else [],
        end_of_text=id_of.get(eos),
        mask_id=mask,
    )


def _marian(folder: Path, settings: Settings, n_rows: int) -> Tokenizer:
    """Marian's two SentencePiece models, with the one vocabulary that gives both their ids."""
    path = folder / "vocab.json"
    vocabulary = _read_ids(path)
    _check_size(path, vocabulary.values(), n_rows)
    eos, unknown, pad = (
        settings.named(f"{key}_token", usual) for key, usual in (("eos", "</s>"), ("unk", "<unk>"), ("pad", "<pad>"))
    )
    for name in (eos, unknown):
        if name not in vocabulary:
            raise ModelError(f"{path}: the token {name[:40]!r} is missing")

    def side(name: str) -> tuple[Any, list[int]]:
        processor = _processor(folder / name)
        pieces = (
            unknown if processor.is_unknown(id) else processor.id_to_piece(id)
            for id in range(processor.get_piece_size())
        )
        return processor, [vocabulary.get(piece, vocabulary[unknown]) for piece in pieces]

    languages = {id for piece, id in vocabulary.items() if _LANGUAGE.fullmatch(piece)}
    return SentencePiece(
        folder.name,
        *side("source.spm"),
        pieces={id: piece for piece, id in vocabulary.items()},
        n_rows=n_rows,
        controls={*languages, *(vocabulary[name] for name in (eos, pad) if name in vocabulary)},
        after=[vocabulary[eos]],
        end_of_text=vocabulary[eos],
        target=side("target.spm"),
    )
