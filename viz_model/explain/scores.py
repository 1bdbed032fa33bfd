r"""Why a head looks there: a score as an exact sum over who wrote what the query and the key are made of.

The stream that a head reads is a sum of what embeddings, earlier heads, feed-forward layers and biases wrote. With the
divisors of the norms held, queries and keys are linear in it, so that

.. math:: s_{ij} = \frac1{\sqrt{d_k}} \sum_a \sum_b q_i^a \cdot k_j^b

over the writers a of the query's stream and b of the key's (Elhage et al. 2021, A Mathematical Framework for
Transformer Circuits, "QK circuit"). What all keys of the row have in common cancels in the softmax and would drown the
rest: from each writer's part of the key its mean over the keys that the query sees is taken off, and what all of that
adds up to is one number, ``shared``.
"""

import functools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from viz_model.explain.written import Part, Scaled, decompose, in_front, refuse
from viz_model.model import masks
from viz_model.model.attention import Attention
from viz_model.model.norms import Norm
from viz_model.model.positions import rotates
from viz_model.runs.trace import Trace, counted

At = Literal["attn", "cross"]
MOST_NUMBERS = 20_000_000
"""Numbers of written vectors that are held at once, over all writers."""


class Term(NamedTuple):
    """A part of a score: of a writer of the query's stream and one of the key's; or of the places alone."""

    writers: tuple[Part, ...]
    value: float


@dataclass(frozen=True, eq=False)
class Score:
    """The score of one key for one query of a head, before any cap, as a sum.

    Attributes:
        queries, keys: the A writers of the query's stream, and the B writers of the key's.
        products: [A, B] what each pair adds, less its mean over the keys that the query sees.
        bias: what the position bias adds, less that mean; None where the head has none.
        shared: what the mean key of the row scores, and the mean bias: the same for each key.
        total: the score as the run has it, with the position bias.
    """

    queries: tuple[Part, ...]
    keys: tuple[Part, ...]
    products: np.ndarray
    bias: Term | None
    shared: float
    total: float

    @functools.cached_property
    def terms(self) -> tuple[Term, ...]:
        """All terms, the largest first; with ``shared`` they sum to ``total``."""
        pairs = [
            Term((query, key), value)
            for query, row in zip(self.queries, self.products.tolist(), strict=True)
            for key, value in zip(self.keys, row, strict=True)
        ]
        return tuple(sorted([*pairs, *([self.bias] if self.bias else [])], key=lambda term: -abs(term.value)))

    def __repr__(self) -> str:
        first = " ".join(
            f"{' × '.join(part.site for part in term.writers)} {term.value:+.3f}" for term in self.terms[:3]
        )
        return f"Score {self.total:.4f} = shared {self.shared:+.4f} and {len(self.terms)} terms: {first} …"


@dataclass(frozen=True, eq=False)
class Row:
    """The scores of all keys for one query of a head.

    Attributes:
        queries, keys: as in :class:`Score`.
        products: [A, B, Tk] what each pair of writers adds to the score of each key.
        bias: [Tk] the position bias, where there is one, and the part that stands for it.
        scores: [Tk] as the run has them, with the bias.
        visible: [Tk] which keys the query sees.
    """

    queries: tuple[Part, ...]
    keys: tuple[Part, ...]
    products: np.ndarray
    bias: tuple[Part, np.ndarray] | None
    scores: np.ndarray
    visible: np.ndarray

    @functools.cached_property
    def means(self) -> np.ndarray:
        """[A, B] over the keys that the query sees."""
        return self.products[..., self.visible].mean(-1)

    def at(self, key: int) -> Score:
        """The score of one key."""
        bias, shared = None, float(self.means.sum())
        if self.bias is not None:
            mean = float(self.bias[1][self.visible].mean())
            bias, shared = Term((self.bias[0],), float(self.bias[1][key]) - mean), shared + mean
        total = float(self.scores[key])
        return Score(self.queries, self.keys, self.products[..., key] - self.means, bias, shared, total)


def score(trace: Trace, *, layer: int, head: int, query: int, key: int, attention: At = "attn") -> Score:
    """Why the query at one position gives the key at another its score.

    Args:
        trace: a run; of a model with two stacks seen from one of them (:meth:`Trace.at`), or from its decoder.
        layer, head, query, key: counted from 0, or from the end where they are negative.
        attention: to the own stack, or ``"cross"`` from a decoder to its encoder: keys are then the source's.

    Raises:
        IndexError: no such layer, head or position. ValueError: this stack has no cross-attention.
    """
    found = row(trace, layer=layer, head=head, query=query, attention=attention)
    return found.at(counted("key", key, len(found.scores)))


class Sides(NamedTuple):
    """What is left of each writer in the queries and keys of a head: [A, Tq, K] and [B, Tk, K]."""

    asking: tuple[Part, ...]
    q: Tensor
    offering: tuple[Part, ...]
    k: Tensor


@torch.inference_mode()
def sides(trace: Trace, *, layer: int, head: int, attention: At = "attn") -> Sides:
    """What all rows of a head have in common (:func:`row`), of a stack."""
    projection = _Projection.of(trace, layer, attention, head)
    return Sides(*projection.all("q"), *projection.of_keys.all("k"))


@torch.inference_mode()
def row(trace: Trace, *, layer: int, head: int, query: int, attention: At = "attn", known: Sides | None = None) -> Row:
    """The scores of one query, all keys at once; the arguments are those of :func:`score`.

    Args:
        known: of the same layer and head, where other rows are asked for too.
    """
    if trace.side is None:
        trace = trace.at(trace.config.sides[-1])
    refuse(trace)
    layer, head = counted("layer", layer, trace.n_layers), counted("head", head, trace.config.n_heads)
    query = counted("query", query, len(trace))
    if attention == "cross" and trace.stack.block(layer).cross is None:
        raise ValueError("attention: this stack has no cross-attention")
    projection = _Projection.of(trace, layer, attention, head)
    asking, q, offering, k = known or Sides(*projection.query(query), *projection.of_keys.all("k"))
    products = projection.used.scale * torch.einsum("ak,btk->abt", q[:, 0 if q.shape[1] == 1 else query], k)
    at = f"blocks.{layer}.{attention}"
    scores, bias = trace.row(f"{at}.scores", query, head).double(), None
    if f"{at}.bias" in trace.sites:
        added = trace.row(f"{at}.bias", query, head).double()
        scores, bias = scores + added, (Part("distance", layer, None, attention), added.numpy())
    seen = trace.mask(layer)[query] if attention == "attn" else masks.everything(1, k.shape[1])[0]
    return Row(asking, offering, products.numpy(), bias, scores.numpy(), seen.numpy())


class _Projection(NamedTuple):
    """The way from a stream to the queries and keys of one head."""

    trace: Trace
    layer: int
    attention: At
    used: Attention
    head: int

    @classmethod
    def of(cls, trace: Trace, layer: int, attention: At, head: int) -> "_Projection":
        block = trace.stack.block(layer)
        used = block.attn if block.cross is None or attention == "attn" else block.cross
        return cls(trace, layer, attention, used, head)

    @property
    def of_keys(self) -> "_Projection":
        """The same where the keys are made: another layer may make them."""
        if self.attention == "cross" or self.used.kind.keys_of is None:
            return self
        source = self.used.kind.keys_of
        return self._replace(layer=source, used=self.trace.stack.block(source).attn)

    def query(self, position: int) -> tuple[tuple[Part, ...], Tensor]:
        """The writers, and what is left of each in the query: [A, 1, K]."""
        where = slice(position, position + 1)
        parts, vectors = self._read(self.trace, where)
        return self._through("q", self.head, parts, vectors, where)

    def all(self, letter: Literal["q", "k"]) -> tuple[tuple[Part, ...], Tensor]:
        """The writers, and what is left of each in every query or key: [B, T, K]."""
        of_source = self.attention == "cross" and letter == "k"
        trace = self.trace.at("encoder") if of_source else self.trace
        one = decompose(trace, slice(0, 1))
        step = max(1, MOST_NUMBERS // (len(one.parts) * trace.config.d_model))
        made = []
        for start in range(0, len(trace), step):
            where = slice(start, min(start + step, len(trace)))
            read = _end(trace, where) if of_source else self._read(trace, where)
            head = self.head if letter == "q" else trace.config.kv_head(self.head, self.used.n_kv_heads)
            made.append(self._through(letter, head, *read, where))
        return made[0][0], torch.cat([vectors for _, vectors in made], dim=1)

    def _read(self, trace: Trace, where: slice) -> tuple[list[Part], Tensor]:
        """What the sub-layer reads of each writer: [P, T, D]."""
        found, norm = decompose(trace, where), in_front(trace, where, self.layer, self.attention)
        n_parts, n_maps = found.reads[self.layer, self.attention]
        parts = list(found.parts[:n_parts])
        vectors = [found.carry(found.written[n], found.passed[n], n_maps) for n in range(n_parts)]
        vectors = [norm.forward(vector) for vector in vectors]
        if norm.shift is not None:
            parts.append(Part("shift", self.layer, None, self.attention))
            vectors.append(norm.shift.double().expand_as(vectors[0]))
        return parts, torch.stack(vectors)

    def _through(
        self, letter: Literal["q", "k"], head: int, parts: list[Part], vectors: Tensor, where: slice
    ) -> tuple[tuple[Part, ...], Tensor]:
        """Through the matrix, the norm and the rotation of queries or keys: [P, T, D] -> [P', T, K]."""
        used, width = self.used, self.used.d_head
        linear: nn.Linear = getattr(used, letter)
        norm: Norm | None = None if used.qk_norm is None else getattr(used.qk_norm, letter)
        own = slice(head * width, (head + 1) * width)
        # A norm over the values of all heads is not known of one head alone.
        needed = slice(None) if used.qk_norm is not None and used.qk_norm.over_heads else own
        made = vectors @ linear.weight.detach()[needed].double().T
        if linear.bias is not None:
            parts = [*parts, Part("projection", self.layer, None, f"{self.attention}.{letter}")]
            made = _with(made, linear.bias.detach()[needed])
        if norm is not None:
            held = Scaled(*norm.held(made.sum(0)))
            made = held.forward(made)
            if held.shift is not None:
                parts = [*parts, Part("shift", self.layer, None, f"{self.attention}.{letter}")]
                made = _with(made, held.shift)
        made = made if needed == own else made[..., own]
        scheme = self.trace.stack.position_of(self.layer)
        if self.attention == "attn" and rotates(scheme):
            turn = scheme.rotate if letter == "q" else scheme.rotate_keys
            made = turn(made[:, None], where.start)[:, 0]
        return tuple(parts), made


def _with(vectors: Tensor, constant: Tensor) -> Tensor:
    """Vectors [P, T, K] and one more, the same at each position: [P + 1, T, K]."""
    return torch.cat((vectors, constant.double().expand_as(vectors[:1])))


def _end(trace: Trace, where: slice) -> tuple[list[Part], Tensor]:
    """What leaves a stack, of each writer: [P, T, D]."""
    found = decompose(trace, where)
    return list(found.parts), torch.stack([found.carry(v, n) for v, n in zip(found.written, found.passed, strict=True)])
