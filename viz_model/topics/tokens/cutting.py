"""How byte-pair encoding builds a token, and how two vocabularies cut the same bytes."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from viz_model.runs.trace import Trace
from viz_model.tokenizers.merging import Join, joins
from viz_model.tokenizers.tokenizer import ByteLevel, Token, Tokenizer


def merges(ranks: Mapping[bytes, int], piece: bytes) -> tuple[Join, ...]:
    """Byte-pair encoding of ``piece``, step by step, from single bytes."""
    return joins([bytes([byte]) for byte in piece], lambda a, b: ranks.get(a + b))


class Written(NamedTuple):
    """A text as tokens, without the control tokens around it: token i stands at position ``first`` + i."""

    text: str
    tokens: tuple[Token, ...]
    first: int


def written(trace: Trace) -> Written:
    """What of a run's tokens spells its text."""
    tokens, controls = trace.tokens, trace.own_tokenizer.controls
    inside = [i for i, token in enumerate(tokens) if token.id not in controls]
    first, stop = (inside[0], inside[-1] + 1) if inside else (0, 0)
    text = trace.target if trace.prefix and trace.side == "decoder" else trace.text
    return Written(text or "", tokens[first:stop], first)


def ranks(tokenizer: ByteLevel) -> Mapping[bytes, int]:
    """The vocabulary as {bytes: rank}. Control tokens are not in it: nothing is merged into them."""
    return tokenizer.encoding._mergeable_ranks


def spans(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """The bytes [start, stop) of each token in the text that they spell."""
    edges = [0]
    for token in tokens:
        edges.append(edges[-1] + len(token.bytes))
    return list(itertools.pairwise(edges))


def recut(tokens: Sequence[Token], tokenizer: Tokenizer) -> tuple[Token, ...]:
    """The text that ``tokens`` spell, cut by another vocabulary.

    A text that was cut to a model's context may end in the middle of a character; what is left
    of that character is no text, and is left out.
    """
    raw = b"".join(token.bytes for token in tokens)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        text = raw[: error.start].decode()
    return tokenizer.tokens(tokenizer.encode(text, special=False))


def characters(tokens: Sequence[Token]) -> list[str]:
    """For each token the characters that its bytes belong to, whole or in part."""
    raw = b"".join(token.bytes for token in tokens)
    starts = character_starts(raw)
    touched = []
    for start, stop in spans(tokens):
        first = max(s for s in starts if s <= start)
        after = min((s for s in starts if s >= stop), default=len(raw))
        touched.append(raw[first:after].decode(errors="backslashreplace"))
    return touched


def character_starts(raw: bytes) -> list[int]:
    """Where characters begin in UTF-8: at every byte that does not continue one (10xxxxxx)."""
    return [i for i, byte in enumerate(raw) if byte & 0xC0 != 0x80 or i == 0]


def broken(tokens: Sequence[Token]) -> int:
    """How many characters are spread over more than one token."""
    inner = {stop for _, stop in spans(tokens)[:-1]}
    starts = character_starts(b"".join(token.bytes for token in tokens))
    inside = inner.difference(starts)
    return len({max(s for s in starts if s < edge) for edge in inside})


Kind = Literal["bytes", "space", "blank", "text", "control", "tag", "mask", "continues", "row"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def kind(token: Token, tokenizer: Tokenizer) -> Kind:
    """What stands in a token.

    A sign to the model (control, tag of a language, mask), a row of the table without bytes, no whole character, a
    space with its word, only blanks, the continuation of a word (WordPiece), or plain text.
    """
    if token.id == tokenizer.mask_id:
        return "mask"
    if token.id in tokenizer.languages.values():
        return "tag"
    if token.id in tokenizer.controls:
        return "control"
    if not token.bytes:
        return "row"
    if token.label.startswith("##") and not token.bytes.startswith(b"##"):
        return "continues"
    try:
        text = token.bytes.decode()
    except UnicodeDecodeError:
        return "bytes"
    if text.isspace():
        return "blank"
    return "space" if text[0] == " " else "text"
