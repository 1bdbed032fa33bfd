"""One vector by depth: of one word in two sentences, and how much of its own row is left in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.measures.stream import stream_sites
from viz_model.runs.trace import Trace
from viz_model.topics.embedding.numbers import Geometry

EQUAL = 1 - 1e-6
"""A cosine from here on is 1, but for rounding."""


def places(trace: Trace) -> tuple[str, ...]:
    """The S places at which a token's vector is followed: its row, then the stream, then what the head reads."""
    return tuple(dict.fromkeys(("embed.token", *stream_sites(trace), trace.leaving)))


def followed(trace: Trace, token: int) -> np.ndarray:
    """The vector of a position at all places: [S, D]."""
    return np.stack([trace.row(site, token).double().numpy() for site in places(trace)])


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of the vectors in the last axis; 0 with a vector of zeros."""
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    found: np.ndarray = (a * b).sum(-1) / np.where(lengths > 0, lengths, 1.0)
    return found


class TwoSentences(NamedTuple):
    """A token that two sentences share, at a position in each.

    Attributes:
        sites: the S places.
        same: cosine of its vectors in the two, [S].
        others: mean cosine of its vector in the first with those of all other tokens of the second, [S]: what
            vectors of different words have in common at that depth.
        positions: where it stands.
    """

    sites: tuple[str, ...]
    same: np.ndarray
    others: np.ndarray
    positions: tuple[int, int]

    @property
    def equal(self) -> int:
        """At how many places from the first on the two vectors are equal, but for rounding."""
        unequal = np.flatnonzero(self.same < EQUAL)
        return int(unequal[0]) if len(unequal) else len(self.same)


def shared(first: Trace, second: Trace) -> list[tuple[int, int]]:
    """The positions of the tokens that two sentences share, the longest word first, of equal ones the last."""
    places = [{id: n for n, id in enumerate(run.own_ids)} for run in (first, second)]
    controls = first.tokenizer.controls
    both = [id for id in places[0] if id in places[1] and id not in controls]
    both.sort(key=lambda id: (sum(map(str.isalpha, first.tokenizer.token(id).text)), places[0][id]), reverse=True)
    return [(places[0][id], places[1][id]) for id in both]


def two_sentences(first: Trace, second: Trace, positions: tuple[int, int]) -> TwoSentences:
    """A token of two sentences by depth."""
    here, there = followed(first, positions[0]), followed(second, positions[1])
    id = first.own_ids[positions[0]]
    others = [n for n, other in enumerate(second.own_ids) if other != id]
    apart = [cosine(here, followed(second, n)) for n in others] or [np.full(len(here), np.nan)]
    return TwoSentences(places(first), cosine(here, there), np.mean(apart, axis=0), positions)


class OwnPart(NamedTuple):
    """How much of a token's own row is in its vector by depth, and of those of the others.

    Attributes:
        sites: the S places.
        own: cosine of the vector with the token's row of the table, [S]; its square is the share of the vector's
            squared length that lies along the row.
        neighbour: the largest cosine with the row of another token of the sentence that it may have read, [S]; NaN
            where there is none.
        neighbours: whose row that is, [S] positions; −1 where there is none.
        rank: how many of the V rows have a larger cosine than its own, [S]: at 0 the vector decodes to the token.
    """

    sites: tuple[str, ...]
    own: np.ndarray
    neighbour: np.ndarray
    neighbours: np.ndarray
    rank: np.ndarray


def own_part(trace: Trace, geometry: Geometry, token: int) -> OwnPart:
    """The token's part, and that of the others that stand before it, or of an encoder's, anywhere."""
    vectors, ids = followed(trace, token), np.array(trace.own_ids)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    cosines = (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32) @ geometry.unit.T  # [S, V]
    own = cosines[:, ids[token]]
    seen = np.arange(len(ids) if trace.stack.side == "encoder" else token)
    seen = seen[ids[seen] != ids[token]]
    rank = (cosines > own[:, None] + 1e-5).sum(-1)  # but for rounding
    if not len(seen):
        return OwnPart(places(trace), own, np.full(len(own), np.nan), np.full(len(own), -1), rank)
    read = cosines[:, ids[seen]]
    return OwnPart(places(trace), own, read.max(-1), seen[read.argmax(-1)], rank)
