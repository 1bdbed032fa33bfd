"""Tokenizers as the fields of a GGUF file describe them: byte-level BPE, and SentencePiece's BPE."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viz_model.checkpoints.weights import ModelError
from viz_model.tokenizers.fast import build
from viz_model.tokenizers.files import Settings, added_token, byte_level_bpe
from viz_model.tokenizers.rules import PRE_TOKENIZERS
from viz_model.tokenizers.tokenizer import Tokenizer

# llama.cpp's types of tokens (llama.h, enum llama_token_type).
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED = 1, 2, 3, 4, 5
_ADDED_KINDS = (_UNKNOWN, _CONTROL, _USER_DEFINED)
_BEGIN_WITH_BOS = ("llama-bpe",)
_NORMALIZED = ("qwen2", "mpt", "olmo")
# Names that differ for reasons other than how a text is cut: mpt and olmo are the vocabulary of GPT-NeoX.
_SAME_RULES = {"mpt": "gpt-2", "olmo": "gpt-2", "dbrx": "llama-bpe", "smaug-bpe": "llama-bpe"}
RULES = {**{name: name for name in PRE_TOKENIZERS}, **_SAME_RULES}
_BLANK = "▁"
MAX_PIECE = 128
"""Characters of a piece, which is cut at each of them: SentencePiece's own have 16, and runs of spaces some 31."""


def from_gguf(metadata: Mapping[str, Any], path: Path, n_rows: int) -> Tokenizer:
    """The tokenizer that the fields ``tokenizer.ggml.*`` of a GGUF file describe.

    Two kinds are supported. Of byte-level BPE (``model`` "gpt2") the rules for cutting a text (``pre``) must be one of
    :data:`RULES`: under others the ids would be wrong. Of SentencePiece's BPE (``model`` "llama") the file holds the
    score of every piece; neighbors whose join has the highest score are joined first.

    Raises:
        ModelError: another kind of vocabulary, or fields that are missing or do not fit together.
            The message names file and field.
    """
    fields = _Fields({key: value for key, value in metadata.items() if key.startswith("tokenizer.ggml.")}, path)
    model = fields.value("model", str, "")
    if model not in ("gpt2", "llama"):
        expected = "gpt2 (byte-level BPE) or llama (SentencePiece's BPE)"
        raise ModelError(f"{path}: tokenizer.ggml.model: expected {expected}, got {model[:80]!r}")
    vocabulary = _Vocabulary.of(fields)
    pre = fields.value("pre", str, "") if model == "gpt2" else ""
    eos = fields.value("eos_token_id", int, -1)
    template = metadata.get("tokenizer.chat_template")
    settings = Settings(
        plain={"chat_template": template, **fields.names(vocabulary.tokens)} if isinstance(template, str) else {},
        eos_id=eos if 0 <= eos < len(vocabulary.tokens) else None,
        before=fields.control("bos", vocabulary.tokens, default=model == "llama" or pre in _BEGIN_WITH_BOS),
        after=fields.control("eos", vocabulary.tokens, default=False),
    )
    description = _byte_level(fields, vocabulary, pre) if model == "gpt2" else _sentence_pieces(fields, vocabulary)
    return build(path.stem, path, description, settings, n_rows)


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

    def names(self, tokens: Sequence[str]) -> dict[str, str]:
        """The control tokens that a chat template may name."""
        ids = {name: self.values.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos")}
        return {f"{name}_token": tokens[id] for name, id in ids.items() if type(id) is int and 0 <= id < len(tokens)}

    def control(self, name: str, tokens: Sequence[str], *, default: bool) -> tuple[str, ...]:
        """The control token that texts are put behind or before, where the file asks for it."""
        if not self.value(f"add_{name}_token", bool, default):
            return ()
        id = self.value(f"{name}_token_id", int, -1)
        if not 0 <= id < len(tokens):
            raise ModelError(f"{self.path}: tokenizer.ggml.{name}_token_id: {id} is not a token")
        return (tokens[id],)


@dataclass(frozen=True)
class _Vocabulary:
    """``tokens`` and their ``kinds`` by id; ``used`` are the ids of those that stand for something."""

    tokens: Sequence[str]
    kinds: Sequence[int]
    used: Mapping[str, int]

    @classmethod
    def of(cls, fields: _Fields) -> "_Vocabulary":
        tokens = fields.strings("tokens")
        kinds = fields.value("token_type", list, [_NORMAL] * len(tokens))
        if len(kinds) != len(tokens):
            raise ModelError(f"{fields.path}: tokenizer.ggml.token_type: {len(kinds)} types for {len(tokens)} tokens")
        used = [(token, id) for id, (token, kind) in enumerate(zip(tokens, kinds, strict=True)) if kind != _UNUSED]
        if len(dict(used)) < len(used):
            raise ModelError(f"{fields.path}: tokenizer.ggml.tokens: two tokens are the same")
        return cls(tokens, kinds, dict(used))

    def added(self) -> list[dict[str, Any]]:
        """Those that are found in a text before it is cut."""
        kinds = self.kinds
        return [
            added_token(id, token, special=kinds[id] != _USER_DEFINED)
            for token, id in self.used.items()
            if kinds[id] in _ADDED_KINDS
        ]


def _byte_level(fields: _Fields, vocabulary: _Vocabulary, pre: str) -> dict[str, Any]:
    if pre not in RULES:
        known = ", ".join(sorted(RULES))
        raise ModelError(f"{fields.path}: tokenizer.ggml.pre: expected one of {known}, got {pre[:80]!r}")
    normalizer = {"type": "NFC"} if pre in _NORMALIZED else None
    merges, whole = fields.strings("merges"), pre == "llama-bpe"
    return byte_level_bpe(vocabulary.used, merges, RULES[pre], vocabulary.added(), normalizer, whole_words=whole)


def _sentence_pieces(fields: _Fields, vocabulary: _Vocabulary) -> dict[str, Any]:
    """SentencePiece's BPE as the hub writes it: a list of pairs in the order of the score of what they join to."""
    used, kinds = vocabulary.used, vocabulary.kinds
    scores = fields.value("scores", list, [])
    if len(scores) != len(kinds) or not all(type(score) is float for score in scores):
        raise ModelError(f"{fields.path}: tokenizer.ggml.scores: expected a number for each of {len(kinds)} tokens")
    if fields.value("remove_extra_whitespaces", bool, False):
        raise ModelError(f"{fields.path}: tokenizer.ggml.remove_extra_whitespaces: expected false, got True")
    if (longest := max(map(len, used))) > MAX_PIECE:
        raise ModelError(f"{fields.path}: tokenizer.ggml.tokens: a piece of {longest} characters, {MAX_PIECE} at most")
    unknown = fields.value("unknown_token_id", int, 0)
    if not 0 <= unknown < len(kinds) or kinds[unknown] == _UNUSED:
        raise ModelError(f"{fields.path}: tokenizer.ggml.unknown_token_id: {unknown} is not a token")
    joined = sorted((piece for piece, id in used.items() if kinds[id] == _NORMAL), key=lambda p: -scores[used[p]])
    merges = [
        (piece[:cut], piece[cut:])
        for piece in joined
        for cut in range(1, len(piece))
        if _is_part(piece[:cut], vocabulary) and _is_part(piece[cut:], vocabulary)
    ]
    blank = {"type": "Replace", "pattern": {"String": " "}, "content": _BLANK}
    begins = fields.value("add_space_prefix", bool, True)
    before = [{"type": "Prepend", "prepend": _BLANK}] if begins else []
    after = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if begins else []
    spelled = {"type": "Replace", "pattern": {"String": _BLANK}, "content": " "}
    return {
        "version": "1.0",
        "added_tokens": vocabulary.added(),
        "normalizer": {"type": "Sequence", "normalizers": [*before, blank]},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [spelled, {"type": "ByteFallback"}, {"type": "Fuse"}, *after]},
        "model": {
            "type": "BPE",
            "vocab": dict(used),
            "merges": [list(pair) for pair in merges],
            "unk_token": vocabulary.tokens[unknown],
            "fuse_unk": True,
            "byte_fallback": True,
        },
    }


def _is_part(piece: str, vocabulary: _Vocabulary) -> bool:
    id = vocabulary.used.get(piece)
    return id is not None and vocabulary.kinds[id] == _NORMAL
