"""What the page says of a run's tokens, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import ByteLevel, IdTokenizer, Token, Tokenizer
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.pictures.cuts import CutsView


class Facts(NamedTuple):
    """What the page says of a run's tokens.

    ``keeps`` is whether this vocabulary keeps the text as it was typed. ``view`` lays both vocabularies over the
    same bytes; it is None where this one does not keep the text as it was typed, or spells no text at all.
    ``finding``, ``rule`` and ``kind`` choose the words, ``hand`` those on how the token came to be; ``text_values``
    and ``literals`` (what the visitor typed) fill them. ``over`` are the tokens of the other vocabulary that hold
    bytes of the selected one, and ``shares`` whether that is one of the same bytes. ``snippet`` is the code that
    cuts the text.
    """

    view: CutsView | None
    keeps: bool
    finding: Literal["cuts", "apart", "ids"]
    rule: Literal["pairs", "pieces", "ids"]
    kind: cutting.Kind
    shares: bool
    over: list[Token]
    hand: Literal["pairs", "single", "pieces", "ids", "sign"]
    snippet: Literal["tokens", "tokens_library"]
    text_values: dict[str, str]
    literals: dict[str, str]


def facts(trace: Trace, other: Tokenizer, position: int) -> Facts:
    """The tokens of a run beside those that ``other`` makes of the same text, one position selected."""
    tokenizer, token, written = trace.tokenizer, trace.tokens[position], cutting.written(trace)
    place: int | None = position - written.first
    if place is None or not 0 <= place < len(written.tokens):
        place = None
    view = None
    keeps = tokenizer.is_lossless or isinstance(tokenizer, ByteLevel)
    if written.tokens and keeps:
        names = (tokenizer.name, other.name)
        theirs = cutting.recut(written.tokens, other)
        if _same_bytes(written.tokens, theirs):
            view = CutsView.of(written.tokens, theirs, names, place)
    over = view.over(place) if view and place is not None else []
    rule: Literal["pairs", "pieces", "ids"] = "pairs" if isinstance(tokenizer, ByteLevel) else "pieces"
    kind = cutting.kind(token, tokenizer)
    hand: Literal["pairs", "single", "pieces", "ids", "sign"] = rule
    if rule == "pairs":
        is_sign = kind in ("control", "tag", "mask")
        hand = "sign" if is_sign else "single" if len(token.bytes) == 1 else "pairs"
    finding: Literal["cuts", "apart", "ids"] = "apart"
    if isinstance(tokenizer, IdTokenizer):
        rule, finding = "ids", "ids"
    elif view:
        finding = "cuts"
    n_bytes = len(written.text.encode()) if view is None else view.n_bytes
    shares = view is not None and place is not None and bool(view.upper.shared[place])
    return Facts(
        view=view,
        keeps=keeps,
        finding=finding,
        rule=rule,
        kind=kind,
        hand=hand,
        # A mask that was typed is found before any merge, which the code of the merges does not show.
        snippet="tokens" if rule == "pairs" and tokenizer.mask_id not in trace.own_ids else "tokens_library",
        shares=shares,
        over=over,
        text_values={
            "n": str(len(written.tokens)),
            "m": str(len(other.encode(written.text, special=False))),
            "shared": str(view.n_shared if view else 0),
            "bytes_n": str(n_bytes),
            "per": f"{n_bytes / max(1, len(written.tokens)):.2f}",
            "id": f"{token.id:,}",
            "n_vocab": f"{tokenizer.n_vocab:,}",
            "over_id": f"{over[0].id:,}" if over else "",
            "n_merges": str(max(0, len(token.bytes) - 1)),
        },
        literals={
            "token": token.label,
            "name": tokenizer.name,
            "other_name": other.name,
            "bytes": token.bytes.hex(" ").upper() or "–",
            "characters": view.characters[place] if view and place is not None else token.label,
        },
    )


def _same_bytes(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """Whether both rows spell the same, but for the beginning of a character at the end of a text that was cut."""
    own, other = (b"".join(token.bytes for token in tokens) for tokens in (ours, theirs))
    return own[: len(other)] == other and len(own) - len(other) < 4


def tables(trace: Trace, other: Tokenizer) -> dict[str, Sequence[Token]]:
    """The tokens of each vocabulary, by its name."""
    if isinstance(trace.tokenizer, IdTokenizer):
        return {trace.tokenizer.name: trace.tokens}
    text = cutting.written(trace).text
    return {trace.tokenizer.name: trace.tokens, other.name: other.tokens(other.encode(text, special=False))}


def counts(text: str, tokenizer: Tokenizer) -> tuple[int, float, float]:
    """Of a text in a vocabulary: its tokens, and how many bytes and characters there are in one."""
    n = len(tokenizer.encode(text, special=False))
    return n, len(text.encode()) / max(1, n), len(text) / max(1, n)
