"""The T×T steps of one attention layer, which no run keeps: rebuilt from its queries and keys when somebody looks."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from viz_model.config import Side
from viz_model.model import masks, ops, sites
from viz_model.model.attention import Attention
from viz_model.model.positions import Position, biases, reads_content
from viz_model.model.transformer import Stack, Transformer
from viz_model.runs.recompute import Recomputed

STEPS = frozenset({"scores", "capped", "bias", "mask", "masked", "pattern"})
"""What is rebuilt here; all other derived values are evaluated by their declarations."""


@dataclass(frozen=True)
class AttentionSteps:
    """An attention layer of a run.

    Attributes:
        values: what was recorded, by full name.
        at: the layer's full name, like ``decoder.blocks.0.cross``.
        n_queries: positions of its stack.
        given: masks that stood in for the model's own, by side.
    """

    model: Transformer
    values: Mapping[str, Tensor]
    at: str
    n_queries: int
    given: Mapping[Side, Tensor]

    @property
    def stack(self) -> Stack:
        return self.model.stack(sites.split_side(self.at)[0] or self.model.config.sides[0])

    @property
    def layer(self) -> int:
        layer, _ = sites.split_name(sites.split_side(self.at)[1])
        assert layer is not None
        return layer

    @property
    def is_cross(self) -> bool:
        return self.at.endswith("cross")

    @property
    def attention(self) -> Attention:
        block = self.stack.block(self.layer)
        return block.cross if self.is_cross and block.cross is not None else block.attn

    @property
    def scheme(self) -> Position:
        """How self-attention here knows of positions."""
        return self.stack.position_of(self.layer)

    @property
    def looks_back(self) -> bool:
        """Whether no query sees a key behind it, by the model's own mask."""
        return self.stack.side == "decoder" and not self.is_cross and self.stack.side not in self.given

    @functools.cached_property
    def visible(self) -> Tensor:
        """Who may look at whom, boolean [Tq, Tk]."""
        if self.is_cross:
            return masks.everything(self.n_queries, self.values[f"{self.at}.k"].shape[-2])
        if self.stack.side in self.given:
            return masks.of_layer(self.given[self.stack.side], self.layer)
        return self.stack.visible(self.layer, self.n_queries, self.n_queries)

    @functools.cached_property
    def bias(self) -> Tensor | None:
        """What the scheme adds to all scores of self-attention, [H, T, T]."""
        return None if self.is_cross else self.scheme.bias(self.n_queries, self.n_queries)

    def step(self, which: str, head: int | None, rows: slice) -> Tensor:
        """One of :data:`STEPS` of all heads [H, Tq, Tk], or of one [1, Tq, Tk]; of all queries, or of ``rows``."""
        if which == "pattern":
            q, k = self._scored(head, rows)
            return self._pattern(q, k, head, rows.indices(self.n_queries)[0])
        heads = slice(None) if head is None else slice(head, head + 1)
        if which == "mask":
            additive = ops.additive(self.visible[rows])
            return additive.expand(self.model.config.n_heads if head is None else 1, *additive.shape)
        q, k = self._scored(head, rows)
        scores = ops.scores(q, k, self.attention.scale)
        if which == "scores":
            return scores
        scores = ops.cap(scores, self.attention.cap)
        if which == "capped":
            return scores
        bias = None if self.bias is None else self.bias[heads, rows]
        if bias is None and not self.is_cross and reads_content(self.scheme):
            bias = self._of_content(head, rows, k.shape[-2])
        if which == "bias":
            assert bias is not None  # or the registry has no such site
            return bias
        return ops.hide(scores if bias is None else scores + bias, self.visible[rows])

    def patterns(self, rows: int) -> Iterator[Tensor]:
        """The pattern of all heads, some queries at a time, in order: [H, ≤ rows, Tk]."""
        q, k = self._scored(None, slice(None))
        for start in range(0, self.n_queries, rows):
            yield self._pattern(q[:, start : start + rows], k, None, start).detach()

    def _pattern(self, q: Tensor, k: Tensor, head: int | None, start: int) -> Tensor:
        """Of queries [H or 1, r, K] from ``start`` on and all keys: [H or 1, r, Tk].

        What looks back is given no keys that it cannot see.
        """
        attention, stop, n_keys = self.attention, start + q.shape[-2], k.shape[-2]
        heads, rows = slice(None) if head is None else slice(head, head + 1), slice(start, stop)
        adds, by_content = not self.is_cross and biases(self.scheme), not self.is_cross and reads_content(self.scheme)
        if not self.looks_back:
            bias, visible = None if self.bias is None else self.bias[heads, rows], self.visible[rows]
        elif not (
            adds
            or by_content
            or attention.sink is not None
            or self.stack.layers[self.layer].window
            or attention.cap is not None
        ):
            return ops.causal_pattern(q, k, attention.scale, start=start)
        else:
            k = k[..., :stop, :]
            bias = self.scheme.bias(stop - start, stop) if adds else None
            bias, visible = None if bias is None else bias[heads], self.stack.visible(self.layer, stop - start, stop)
        if bias is None and by_content:
            bias = self._of_content(head, rows, k.shape[-2])
        scores = ops.cap(ops.scores(q, k, attention.scale), attention.cap)
        sink = None if attention.beside is None else attention.beside[heads]
        pattern = ops.pattern(ops.hide(scores if bias is None else scores + bias, visible), sink)
        return torch.nn.functional.pad(pattern, (0, n_keys - k.shape[-2]))

    def _of_content(self, head: int | None, rows: slice, n_keys: int) -> Tensor | None:
        """What a scheme adds that does not follow from the places alone, of all heads."""
        q, k = self._scored(None, rows)
        start = rows.indices(self.n_queries)[0]
        bias = self.scheme.content_bias(q, k[..., :n_keys, :], start, self.attention.scale)
        return bias if bias is None or head is None else bias[head : head + 1]

    def _scored(self, head: int | None, rows: slice) -> tuple[Tensor, Tensor]:
        """What scores are made of, queries at ``rows``: of every query head [H, T, K], or of one [1, T, K]."""
        config = self.model.config
        if isinstance(self.values, Recomputed) and not self.is_cross:
            q, k = self.values.queries_and_keys(self.at.removesuffix(".attn"), head, rows)
            return q, ops.share_heads(k, config.n_heads) if head is None else k
        names = sites.scored(self.at, config)
        q, k = (self.values[name] for name in names)
        if head is None:
            return q[:, rows], ops.share_heads(k, config.n_heads)
        group = config.kv_head(head, len(k))
        return q[head : head + 1, rows], k[group : group + 1]
