"""Tokenizers that the library ``tokenizers`` runs, and which of them tiktoken can run as well."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import tiktoken

from viz_model.checkpoints.weights import ModelError
from viz_model.tokenizers.descriptions import Description, from_symbols
from viz_model.tokenizers.files import Settings, check_size, package
from viz_model.tokenizers.rules import tiktoken_pattern
from viz_model.tokenizers.text import TextError, as_text_error, check_bytes, check_text, missing_bytes
from viz_model.tokenizers.tokenizer import ByteLevel, Token, Tokenizer

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


def build(name: str, path: Path, description: dict[str, Any], settings: Settings, n_rows: int) -> Tokenizer:
    parsed = Description(path, description, settings)
    check_size(path, parsed.pieces, n_rows)
    fast = FastTokenizer(name, parsed, n_rows)
    tokenizer = _as_byte_level(name, parsed, fast, n_rows) or fast
    tokenizer.chat_template = settings.chat
    return tokenizer


class FastTokenizer(Tokenizer):
    """A tokenizer that the library ``tokenizers`` runs."""

    def __init__(self, name: str, description: Description, n_rows: int) -> None:
        self.name = name
        self.n_vocab = n_rows
        self.end_of_text = description.end_of_text
        self.mask_id = description.mask_id
        self.controls = description.controls
        self.unknown_id = description.unknown_id
        self.rule = description.rule
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

    def encode(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        check_text(text)
        check_bytes(text, self._missing, self.name)
        with as_text_error():
            library = self._description.library_of_text if as_text else self._library
            ids: list[int] = library.encode(text, add_special_tokens=special).ids
        return ids

    def words(self, text: str) -> tuple[str, ...]:
        check_text(text)
        with as_text_error():
            return self._description.words(text)

    def decode(self, ids: Iterable[int]) -> str:
        ids = list(ids)
        if self._description.is_byte_level:
            return self._spelled(ids)
        named = [token.id for token in self.tokens(ids) if token.bytes and token.id not in self.controls]
        text: str = self._library.decode(named, skip_special_tokens=False)
        return text

    def token(self, id: int) -> Token:
        id = int(id)
        return self._description.token(id) if self._description.pieces.get(id) else self._unused(id)


def _as_byte_level(name: str, description: Description, fast: FastTokenizer, n_rows: int) -> ByteLevel | None:
    """The same vocabulary as a :class:`tiktoken.Encoding`, where that gives the same ids.

    tiktoken joins any neighbors whose join is a token, and those of the lowest id first; the
    library joins the pairs in its list, and the first in the list first. Both come to the same
    if the pairs stand in the order of the ids of what they join to, and if every token, given
    alone, is joined from its bytes: then whichever neighbors can join to it are a pair in the list.
    """
    model = description.plain["model"]
    pattern = tiktoken_pattern(description.pre_tokenizers)
    ordinary = {id: piece for id, piece in description.pieces.items() if id not in description.added}
    if pattern is None or not fast.is_lossless or model.get("type") != "BPE":
        return None
    if description.added != description.controls or not ordinary:
        return None
    ranks = {raw: id for id, piece in ordinary.items() if (raw := from_symbols(piece))}
    pairs = model["merges"]
    joins = [model["vocab"].get(left + right, -1) for left, right in pairs]
    if len(ranks) < len(ordinary) or any(first > second for first, second in pairwise(joins)):
        return None
    bpe = package("tokenizers", description.path).models.BPE(model["vocab"], pairs)
    if any(len(bpe.tokenize(piece)) != 1 for piece in ordinary.values()):
        return None

    controls = {piece: id for id, piece in description.pieces.items() if id in description.controls}
    names = sorted(controls)
    if any(second.startswith(first) for first, second in pairwise(names)):
        return None  # the library takes the longest name that stands in a text, tiktoken any
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=controls)
    before, after = _around(fast, ranks)
    result = ByteLevel(
        encoding,
        n_rows=n_rows,
        end_of_text=description.end_of_text,
        before=before,
        after=after,
        reads_controls=not description.splits_controls,
    )
    samples = (*SAMPLES, " x".join(controls), "".join(controls))
    return result if all(_ids(result, text) == _ids(fast, text) for text in samples) else None


def _around(tokenizer: Tokenizer, ranks: Iterable[bytes]) -> tuple[list[int], list[int]]:
    """The control tokens before and after a text."""
    character = next((raw.decode() for raw in ranks if len(raw) == 1 and raw < b"\x80"), "")
    whole, inner = tokenizer.encode(character), tokenizer.encode(character, special=False)
    at = next(i for i in range(len(whole) + 1) if whole[i : i + len(inner)] == inner)
    return whole[:at], whole[at + len(inner) :]


def _ids(tokenizer: Tokenizer, text: str) -> list[int] | None:
    """None where the vocabulary cannot write the text."""
    try:
        return tokenizer.encode(text)
    except TextError:
        return None
