"""Tokens joined into words: what a picture of attention between words is made of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.tokenizers.text import CONTINUES
from viz_model.tokenizers.tokenizer import Token, Tokens

if TYPE_CHECKING:
    from viz_model.runs.trace import Trace


class Words(NamedTuple):
    """A value whose positions are words.

    Attributes:
        labels: the words, in order.
        spans: of each, its first token and the one behind its last.
        value: [W, …], or with heads before: rows averaged over a word's tokens, columns of attention summed.
    """

    labels: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    value: Tensor


def words(trace: "Trace", name: str, by: Sequence[str] | Sequence[tuple[int, int]] | None = None) -> Words:
    """A site with the tokens of each word joined.

    Of attention, what a word's tokens receive is summed, and what they give is averaged: rows sum to 1 as before.

    Args:
        name: a site whose positions are those of :attr:`Trace.tokens`, such as ``blocks.0.attn.pattern``.
        by: the words of the text, in order, as a segmentation of Chinese gives them: tokens that reach into a word
            belong to it; or the span of each, (first token, one behind its last). By default words begin at blanks, and
            a control token is a word of its own.

    Raises:
        KeyError: no such site. ValueError: it has no positions, or the words are not those of the text.
    """
    site = trace.site(name)
    axis = site.before
    value, n = trace[name], len(trace)
    if value.dim() <= axis or value.shape[axis] != n:
        raise ValueError(f"site {name!r} has no positions of this text: its axes are {' '.join(site.axes)}")
    spans = spans_of(trace, by)
    labels = tuple(spelled(trace.tokens[start:stop]) for start, stop in spans)
    if site.has_heads and value.dim() == 3 and site.axes[-1] == "Tk" and value.shape[-1] == n:
        return Words(labels, spans, torch.from_numpy(joined(value.numpy(), spans)))
    rows = [value.narrow(axis, start, stop - start).float().mean(axis) for start, stop in spans]
    return Words(labels, spans, torch.stack(rows, axis))


def joined(patterns: np.ndarray, spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """Weights between tokens [..., T, T] as weights between words [..., W, W]: columns summed, rows averaged."""
    starts, sizes = [start for start, _ in spans], np.array([stop - start for start, stop in spans])
    summed = np.add.reduceat(patterns, starts, -1)
    found: np.ndarray = np.add.reduceat(summed, starts, -2) / sizes[:, None].astype(patterns.dtype)
    return found


def spelled(tokens: Sequence[Token]) -> str:
    """A word as its bytes spell it; of a token that stands for no text, as it is read."""
    return b"".join(token.bytes or token.text.encode() for token in tokens).decode("utf-8", "replace").strip() or "·"


def spans_of(trace: "Trace", by: Sequence[str] | Sequence[tuple[int, int]] | None) -> tuple[tuple[int, int], ...]:
    tokens, controls = trace.tokens, trace.own_tokenizer.controls
    if by is None:
        starts = [n for n, token in enumerate(tokens) if n == 0 or _begins(tokens, n, controls)]
    elif by and all(isinstance(one, str) for one in by):
        starts = _starts_of([str(one) for one in by], tokens, controls)
    else:
        try:
            pairs: Sequence[Any] = by
            given = [(int(start), int(stop)) for start, stop in pairs]
        except (TypeError, ValueError):
            raise ValueError(
                f"by: expected words, or of each word (first token, one behind its last), got {by!r:.80}"
            ) from None
        edges = [0, *(stop for _, stop in given)]
        if [start for start, _ in given] != edges[:-1] or edges[-1] != len(tokens) or edges != sorted(set(edges)):
            raise ValueError(f"by: spans of words follow one another from 0 to {len(tokens)}, got {given[:8]}")
        return tuple(given)
    return tuple(zip(starts, [*starts[1:], len(tokens)], strict=True))


def _begins(tokens: Tokens, n: int, controls: frozenset[int]) -> bool:
    """Whether a word begins at a token that is not the first."""
    token, before = tokens[n], tokens[n - 1]
    if token.id in controls or before.id in controls:
        return True
    if token.text.startswith(CONTINUES) and token.text != CONTINUES:
        return False
    # Where pieces that go on are marked so, all others begin a word.
    is_marked = any(one.text.startswith(CONTINUES) and len(one.text) > len(CONTINUES) for one in tokens)
    return is_marked or token.text[:1].isspace() or before.text[-1:].isspace()


def _starts_of(by: list[str], tokens: Tokens, controls: frozenset[int]) -> list[int]:
    """Where words begin, by the bytes that both spell without their blanks."""
    begins = [0]
    for word in by:
        begins.append(begins[-1] + len(_plain(word)))
    ends, at, starts = begins.pop(), 0, []
    for n, token in enumerate(tokens):
        if token.id in controls:
            starts.append(n)
            continue
        size = len(_plain(token.bytes.decode("utf-8", "surrogateescape")))
        reached = [begin for begin in begins if begin < at + max(size, 1)]
        if reached or n == 0 or tokens[n - 1].id in controls:
            starts.append(n)
        begins = begins[len(reached) :]
        at += size
    if at != ends:
        raise ValueError(f"by: the words have {ends} bytes without blanks, and the text {at}: they are not its words")
    return starts


def _plain(text: str) -> bytes:
    return "".join(text.split()).encode("utf-8", "surrogateescape")
