"""How a tokenizer comes to its pieces, step by step, and what the same word costs in another spelling."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from viz_model.tokenizers.merging import Join, joins
from viz_model.tokenizers.tokenizer import ByteLevel, Rule, RuleName, Tokenizer, token_of
from viz_model.topics.tokens import cutting

MOST_WORDS = 8
"""Stretches of a typed text that are taken apart."""

MOST_WAYS = 5
"""Ways to cut a word that a unigram vocabulary is asked for."""

UNKNOWN_BELOW = 10.0
"""A character that no entry holds costs so much more than the worst entry (SentencePiece, ``kUnkPenalty``)."""


class Pair(NamedTuple):
    """Two neighbors, and the rank of their join: None where it cannot be made."""

    left: str
    right: str
    rank: int | None


class Taken(NamedTuple):
    """One step of taking the longest entry from the left.

    ``entry`` as the vocabulary spells it; None where no entry fits, and the whole word is unknown. ``tried`` are the
    longer stretches that are no entry, in the order in which they were looked up.
    """

    entry: str | None
    tried: tuple[str, ...]


class Way(NamedTuple):
    """A way to cut a word: its pieces with log p of each, and the sum."""

    pieces: tuple[tuple[str, float], ...]
    total: float


class Split(NamedTuple):
    """How one stretch of text is cut.

    ``start`` are its smallest parts. Of the three, the one of the tokenizer's rule is filled: ``joins`` for pairs,
    ``taken`` for the longest entry, ``ways`` for unigram, the most probable one first. ``ids`` are the result;
    ``holds`` says whether the tokenizer itself comes to the same.
    """

    word: str
    rule: RuleName
    start: tuple[bytes, ...]
    joins: tuple[Join, ...] = ()
    taken: tuple[Taken, ...] = ()
    ways: tuple[Way, ...] = ()
    ids: tuple[int, ...] = ()
    holds: bool = True

    def parts(self, step: int = -1) -> tuple[bytes, ...]:
        """The pieces after so many joins; after all of them without a number."""
        return (self.start, *(join.parts for join in self.joins))[step]

    def pairs(self, step: int) -> tuple[Pair, ...]:
        """The neighbors after so many joins; none can be joined after the last."""
        labels = [token_of(-1, part).label for part in self.parts(step)]
        ranks = self.joins[step].ranks if step < len(self.joins) else itertools.repeat(None)
        return tuple(Pair(*both, rank) for both, rank in zip(itertools.pairwise(labels), ranks, strict=False))


def splits(tokenizer: Tokenizer, text: str) -> tuple[Split, ...]:
    """The first stretches of a text, each taken apart by the tokenizer's own rule; empty where none is known.

    Raises:
        TextError: the text cannot be written in this vocabulary.
    """
    if tokenizer.rule is None:
        return ()
    tokenizer.encode(text)  # says what is wrong with it
    words = [word for word in tokenizer.words(text) if word]
    cut = {"byte_pairs": _byte_pairs, "pairs": _pairs, "longest": _longest, "unigram": _unigram}[tokenizer.rule.name]
    found = [cut(tokenizer, word) for word in words[:MOST_WORDS]]
    together = [id for split in found for id in split.ids]
    given = tokenizer.encode(text, special=False)
    holds = given == together if len(words) <= MOST_WORDS else given[: len(together)] == together
    return tuple(split._replace(holds=split.holds and holds) for split in found)


def _byte_pairs(tokenizer: Tokenizer, word: str) -> Split:
    assert isinstance(tokenizer, ByteLevel)
    ranks = cutting.ranks(tokenizer)
    start = tuple(bytes([byte]) for byte in word.encode())
    split = Split(word, "byte_pairs", start, cutting.merges(ranks, word.encode()))
    return split._replace(ids=tuple(ranks[part] for part in split.parts()))


def _pairs(tokenizer: Tokenizer, word: str) -> Split:
    """Characters that are no entry are left to the tokenizer, which may write their bytes: then this does not hold."""
    rule = _rule(tokenizer)
    known = {piece.encode(): piece for piece in rule.ids}
    start = tuple(character.encode() for character in word)
    made = joins(start, lambda a, b: rule.ranks.get((known.get(a, ""), known.get(b, ""))))
    split = Split(word, "pairs", start, made)
    ids = tuple(rule.ids.get(part.decode(), -1) for part in split.parts())
    return split._replace(ids=ids, holds=-1 not in ids)


def _longest(tokenizer: Tokenizer, word: str) -> Split:
    """The longest entry from the left, again and again (Devlin et al. 2019, after Wu et al. 2016)."""
    rule, taken, at = _rule(tokenizer), [], 0
    while at < len(word):
        front = rule.continues if at else ""
        tries = [front + word[at:end] for end in range(len(word), at, -1)]
        place = next((n for n, piece in enumerate(tries) if piece in rule.ids), len(tries))
        taken.append(Taken(tries[place] if place < len(tries) else None, tuple(tries[:place])))
        if place == len(tries):
            break
        at += len(tries[place]) - len(front)
    entries = [step.entry for step in taken if step.entry is not None]
    ids = [rule.ids[entry] for entry in entries]
    if len(entries) < len(taken):  # one part without an entry makes the whole word unknown
        ids = [] if tokenizer.unknown_id is None else [tokenizer.unknown_id]
    return Split(word, "longest", (word.encode(),), taken=tuple(taken), ids=tuple(ids))


def _unigram(tokenizer: Tokenizer, word: str) -> Split:
    """The most probable ways to cut (Kudo 2018, section 3.2), by dynamic programming over the ends of pieces."""
    rule = _rule(tokenizer)
    lowest = min(rule.scores.values(), default=0.0) - UNKNOWN_BELOW
    longest = max(map(len, rule.scores), default=1)
    best: list[list[Way]] = [[Way((), 0.0)]]
    for end in range(1, len(word) + 1):
        found: list[Way] = []
        for start in range(max(0, end - longest), end):
            piece = word[start:end]
            score = rule.scores.get(piece, lowest if end - start == 1 else None)
            if score is not None:
                found += [Way((*way.pieces, (piece, score)), way.total + score) for way in best[start]]
        best.append(sorted(found, key=lambda way: -way.total)[:MOST_WAYS])
    ways = tuple(best[-1])
    ids: list[int] = []
    for piece, _ in ways[0].pieces:
        id = rule.ids[piece] if piece in rule.scores else tokenizer.unknown_id
        if id is not None and not (ids and id == ids[-1] == tokenizer.unknown_id):  # unknown neighbors are one token
            ids.append(id)
    return Split(word, "unigram", (word.encode(),), ways=ways, ids=tuple(ids))


def _rule(tokenizer: Tokenizer) -> Rule:
    assert tokenizer.rule is not None
    return tokenizer.rule


def shares(ways: Sequence[Way]) -> list[float]:
    """The probability of each way among those that are given."""
    powers = [math.exp(way.total - ways[0].total) for way in ways]
    return [power / sum(powers) for power in powers]
