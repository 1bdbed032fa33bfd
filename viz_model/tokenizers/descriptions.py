"""What a ``tokenizer.json`` describes, parsed by the library ``tokenizers``, whose format it is."""

import base64
import binascii
import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from viz_model.checkpoints.weights import ModelError, one_line
from viz_model.tokenizers.files import BYTE_PIECE, ENDS, MASKS, Settings, check_ids, package, surround
from viz_model.tokenizers.text import byte_symbols, is_panic
from viz_model.tokenizers.tokenizer import Rule, Token, token_of

MAX_GROWTH = 1000
"""How many times as long a text may become. NFKC makes 18 characters of one (U+FDFA); no table is known to do more."""
MAX_AROUND = 256
"""Control tokens that may be put around a text."""


def check_bounds(path: Path, plain: Mapping[str, Any]) -> None:
    """Refuse rules that make much of little.

    Raises:
        ModelError: a text could grow more than 1,000 times, more than 256 control tokens would stand around it, or a
            regular expression repeats a group, which may take time exponential in the text. That it takes less
            is not shown: a product of many plain repetitions is a polynomial of high degree.
    """
    for place in ("normalizer", "decoder"):
        growth = math.prod(_growth(part) for part in _nodes(plain.get(place)))
        if growth > MAX_GROWTH:
            raise ModelError(f"{path}: {place}: its rules make a text more than {MAX_GROWTH} times as long")
    if (n_around := sum(_n_around(part) for part in _nodes(plain.get("post_processor")))) > MAX_AROUND:
        raise ModelError(f"{path}: post_processor: {n_around} tokens around a text, expected at most {MAX_AROUND}")
    for place in ("normalizer", "pre_tokenizer", "decoder"):
        for part in _nodes(plain.get(place)):
            pattern = part.get("Regex")
            if isinstance(pattern, str) and repeats_a_group(pattern):
                raise ModelError(f"{path}: {place}: the regular expression {pattern[:80]!r} repeats a group")


def _nodes(root: Any) -> Iterator[Mapping[str, Any]]:
    """Every object within ``root``. Not recursive: files may be nested as deep as they like."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _growth(part: Mapping[str, Any]) -> int:
    """An upper bound of how many times as long a step makes a text, of which it changes every character."""
    match part:
        case {"type": "Prepend", "prepend": str(text)}:
            return 1 + len(text)
        case {"type": "Replace", "content": str(text), "pattern": {"String": str(pattern)}} if pattern:
            return max(1, -(-len(text) // len(pattern)))
        case {"type": "Replace", "content": str(text)}:
            return 1 + len(text)  # what matches nothing matches between any two characters
        case {"type": "Precompiled", "precompiled_charsmap": str(encoded)}:
            return _longest_entry(encoded)
    return 1


def _longest_entry(encoded: str) -> int:
    """Of SentencePiece's table: the size of a trie, the trie, and what its characters become, with a 0 after each."""
    try:
        table = base64.b64decode(encoded)
    except (binascii.Error, ValueError):
        return 1  # the library says what is wrong with it
    entries = table[4 + int.from_bytes(table[:4], "little") :].split(b"\0")
    return max(1, *map(len, entries))


def _n_around(part: Mapping[str, Any]) -> int:
    match part:
        case {"type": "TemplateProcessing", "single": list(pieces), "special_tokens": dict(special)}:
            return sum(_n_of(piece, special) for piece in pieces)
    return 0


def _n_of(piece: Any, special: Mapping[str, Any]) -> int:
    match piece:
        case {"SpecialToken": {"id": str(name)}}:
            match special.get(name):
                case {"ids": list(ids)}:
                    return len(ids)
    return 0


_SIGN = re.compile(r"\\.|\[\^?\]?|\]|\)(?=[*+{])|\)|.", re.DOTALL)


def repeats_a_group(pattern: str) -> bool:
    """Whether ``*``, ``+`` or ``{`` follows a group of a regular expression."""
    depth = 0  # of character classes, in which a bracket is only a character
    for sign in _SIGN.finditer(pattern):
        if sign[0].startswith("["):
            depth += 1
        elif sign[0] == "]":
            depth = max(0, depth - 1)
        elif sign[0] == ")" and not depth and pattern[sign.end() : sign.end() + 1] in ("*", "+", "{"):
            return True
    return False


_BYTE_OF = {symbol: byte for byte, symbol in byte_symbols().items()}
# Set before the names of control tokens, so that they do not match when a text holds them. The
# character is reserved to mean nothing.
UNTYPED = "\ufdd0" * 3


class Description:
    """A ``tokenizer.json``, parsed, and what tokens are by it.

    Attributes:
        pieces: what stands in the vocabulary, by id.
        added: ids of tokens that are found in a text before it is cut.
        controls: ids of control tokens, without the mask and the unknown token.
        library: the ``tokenizers.Tokenizer``, which finds control tokens in a text.
        splits_controls: whether the folder asks that control tokens in a text are text.

    Raises:
        ModelError: damaged, written in another way than the library writes it, or with rules that make much of little
            (:mod:`.bounds`).
    """

    def __init__(self, path: Path, plain: dict[str, Any], settings: Settings) -> None:
        self.path = path
        check_bounds(path, plain)
        model, added = plain.get("model"), plain.get("added_tokens") or []
        if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict | list):
            raise ModelError(f"{path}: model.vocab: expected the tokens")
        if not isinstance(added, list) or not all(_is_added(entry) for entry in added):
            raise ModelError(f"{path}: added_tokens: expected objects with id and content")
        vocabulary = model["vocab"]
        if isinstance(vocabulary, dict):
            check_ids(path, vocabulary)
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
        self.unknown_id = next((id for id, piece in self.pieces.items() if piece == unknown), None)
        ends = [ids.get(settings.named("eos_token")), settings.eos_id, *(ids[name] for name in ENDS if name in special)]
        self.end_of_text = next((id for id in ends if id in self.pieces), None)
        self.added = frozenset(ids.values())
        # The mask and the unknown token stand for a part of the text; GPT-2 calls its end of text unknown too.
        words = {self.mask_id, *(ids[name] for name in special if name == unknown)} - {self.end_of_text}
        self.controls = frozenset(ids[name] for name in special).difference(words)

        if settings.before or settings.after:
            plain = {**plain, "added_tokens": list(added)}
            surround(plain, settings.before, settings.after, path)
        self._special = special
        self.plain = _same_each_time(plain)
        self.library = _parsed(path, self.plain)
        self.splits_controls = settings.flag("split_special_tokens", False)
        self.library.encode_special_tokens = self.splits_controls
        for entry in self.plain["added_tokens"]:
            if self.library.token_to_id(entry["content"]) != entry["id"]:
                raise ModelError(f"{path}: added_tokens: {entry['content'][:40]!r} does not have the id {entry['id']}")

    @cached_property
    def library_of_text(self) -> Any:
        """Like :attr:`library`, for which control tokens in a text are text; built when it is first asked for."""
        parsed = _parsed(self.path, _with_controls_as_text(self.plain, self._special))
        parsed.encode_special_tokens = True
        return parsed

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
            part["type"] in ("ByteLevel", "Digits")
            or (part["type"] in ("Split", "Punctuation") and part.get("behavior") != "Removed")
            for part in self.pre_tokenizers
        )
        unchanged = not any(part.get("add_prefix_space") for part in self.pre_tokenizers)
        flags = ("lstrip", "rstrip", "single_word")
        exact = not any(entry.get(flag) for entry in self.plain["added_tokens"] for flag in flags)
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

    @cached_property
    def rule(self) -> Rule | None:
        """How the library cuts a word, without the pieces that are found before anything is cut."""
        model, names = self.plain["model"], {"WordPiece": "longest", "Unigram": "unigram", "BPE": "pairs"}
        name = names.get(str(model.get("type")))
        if name == "longest":
            return Rule("longest", model["vocab"], continues=str(model.get("continuing_subword_prefix") or ""))
        if name == "unigram":
            ids = {entry[0]: id for id, entry in enumerate(model["vocab"])}
            return Rule("unigram", ids, scores={entry[0]: float(entry[1]) for entry in model["vocab"]})
        if name == "pairs" and not self.is_byte_level and not model.get("continuing_subword_prefix"):
            return Rule("pairs", model["vocab"], ranks={pair: n for n, pair in enumerate(model["merges"])})
        return None

    def words(self, text: str) -> tuple[str, ...]:
        """A text as its rule reads it, after the normalizer and the pre-tokenizer."""
        library = self.library
        normal = library.normalizer.normalize_str(text) if library.normalizer else text
        if not library.pre_tokenizer:
            return (normal,)
        return tuple(word for word, _ in library.pre_tokenizer.pre_tokenize_str(normal))

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
            return from_symbols(piece) or piece.encode()
        if self._bytes_are_named and (match := BYTE_PIECE.fullmatch(piece)):
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


def from_symbols(piece: str) -> bytes | None:
    """The bytes that a piece in GPT-2's alphabet spells, None where it is in no such alphabet."""
    try:
        return bytes(_BYTE_OF[symbol] for symbol in piece)
    except KeyError:
        return None


def _same_each_time(plain: dict[str, Any]) -> dict[str, Any]:
    """The description with its merges as pairs, without what depends on chance or on other texts."""
    model = dict(plain["model"])
    if isinstance(model.get("merges"), list):
        model["merges"] = [_pair(merge) for merge in model["merges"]]
    if model.get("dropout"):  # which would cut the same text in another way each time
        model["dropout"] = None
    added = [{**entry, "special": entry.get("special") is True} for entry in plain.get("added_tokens") or []]
    return {**plain, "model": model, "added_tokens": added, "truncation": None, "padding": None}


def _with_controls_as_text(plain: dict[str, Any], controls: set[str]) -> dict[str, Any]:
    """The description with other names for control tokens.

    The library can be told to leave special tokens in a text alone. Still, some models would find their names among
    the pieces of their vocabulary.
    """
    model = dict(plain["model"])

    def renamed(piece: str) -> str:
        return UNTYPED + piece if piece in controls else piece

    if isinstance(model["vocab"], dict):
        model["vocab"] = {renamed(piece): id for piece, id in model["vocab"].items()}
    else:
        model["vocab"] = [[renamed(entry[0]), *entry[1:]] for entry in model["vocab"]]
    if isinstance(model.get("unk_token"), str):
        model["unk_token"] = renamed(model["unk_token"])
    if isinstance(model.get("merges"), list):
        model["merges"] = [pair for pair in model["merges"] if controls.isdisjoint((*pair, pair[0] + pair[1]))]
    added = [{**entry, "content": renamed(entry["content"])} for entry in plain["added_tokens"]]
    return {**plain, "model": model, "added_tokens": added}


def _pair(merge: Any) -> tuple[str, str]:
    """A merge, written as "a b" or as ["a", "b"]."""
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if isinstance(parts, list) and len(parts) == 2 and all(isinstance(part, str) for part in parts):
        return parts[0], parts[1]
    return "", ""


def _parsed(path: Path, description: dict[str, Any]) -> Any:
    library = package("tokenizers", path)
    try:
        parsed = library.Tokenizer.from_str(json.dumps(description))
    except BaseException as error:
        if isinstance(error, Exception) or is_panic(error):
            raise ModelError(f"{path}: {one_line(error)}"[:500]) from None
        raise
    return parsed
