"""Tokenizers that come with checkpoints: files of a Hugging Face folder, or the metadata of GGUF.

Every kind of file but SentencePiece's own is first made a description in the format of
``tokenizer.json``, and what reads that is the library ``tokenizers``, whose format it is. A
byte-level BPE whose ids stand in the order of its merges becomes a
:class:`~viz_model.tokenizers.tokenizer.ByteLevel`, which can show how its tokens are merged.

Files are data here: nothing in a folder is run or unpickled, whatever it asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viz_model.checkpoints.weights import ModelError
from viz_model.tokenizers.fast import SAMPLES, FastTokenizer, build
from viz_model.tokenizers.files import (
    Settings,
    added_token,
    bpe_of_files,
    byte_level_bpe,
    read_object,
    wordpiece_of_file,
)
from viz_model.tokenizers.pieces import SentencePiece, marian_of_files, sentencepiece_of_file
from viz_model.tokenizers.rules import PRE_TOKENIZERS
from viz_model.tokenizers.tokenizer import IdTokenizer, Tokenizer

__all__ = ["SAMPLES", "FastTokenizer", "SentencePiece", "from_folder", "from_gguf"]


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
        return build(folder.name, path, read_object(path), settings, n_rows)
    if there("source.spm", "target.spm", "vocab.json"):
        return marian_of_files(folder, settings, n_rows)
    if there("vocab.json", "merges.txt"):
        description = bpe_of_files(folder, settings)
        return build(folder.name, folder / "vocab.json", description, settings, n_rows)
    if there("vocab.txt"):
        description = wordpiece_of_file(folder, settings)
        return build(folder.name, folder / "vocab.txt", description, settings, n_rows)
    for name in ("spiece.model", "tokenizer.model"):
        if there(name):
            return sentencepiece_of_file(folder, folder / name, settings, n_rows)
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
    added = [
        added_token(id, token, special=kinds[id] != _USER_DEFINED) for id, token in used if kinds[id] in _ADDED_KINDS
    ]
    normalizer = {"type": "NFC"} if pre in _NORMALISED else None
    description = byte_level_bpe({token: id for id, token in used}, merges, pre, added, normalizer)
    return build(path.stem, path, description, settings, n_rows)


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
