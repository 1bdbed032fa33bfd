"""Where the numbers of a derivation are read: rows of a run and of its weights, never a whole table.

What a trace derives when somebody looks (scores, patterns, probabilities) is made here for one
row, by the same functions and in the same single precision.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from viz_model.config import Side
from viz_model.model import masks, norms, ops, positions, sites
from viz_model.model.attention import Attention
from viz_model.model.feedforward import Gated
from viz_model.model.sites import Site
from viz_model.model.transformer import Block, CrossBlock, Stack
from viz_model.runs.derivation.steps import Cell, Factor, Line, Operand, Weight, operand
from viz_model.runs.edits import Edit
from viz_model.runs.trace import Trace


@dataclass(frozen=True)
class Place:
    """A site and where it stands.

    Attributes:
        prefix: what stands before the names of its stack: "" or "decoder.".
        layer: its block, if it is in one.
        rest: its name in the block, or in the stack: "attn.q", "final.norm.out".
        group: "attn", "cross", "ffn", "resid", "embed", …
        last: "q", "out", "mean", …
    """

    full: str
    site: Site
    side: Side
    prefix: str
    layer: int | None
    rest: str

    @property
    def group(self) -> str:
        return self.rest.partition(".")[0]

    @property
    def last(self) -> str:
        return self.rest.rpartition(".")[2]

    @property
    def block(self) -> str:
        """What stands before the names of its block: "decoder.blocks.0."."""
        return f"{self.prefix}blocks.{self.layer}."

    @property
    def module(self) -> str:
        """What stands before the names of its block's weights."""
        return f"{self.side}.blocks.{self.layer}."


class Run:
    """A trace, read by rows."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.model, self.config = trace, trace.model, trace.config

    # Places

    def place(self, name: str) -> Place:
        """Where a site stands; ``name`` is a full name, or one of the trace's view.

        Raises:
            ValueError: this model has no such site; the message names it and suggests the nearest.
        """
        known = sites.table(self.config)
        full = name if name in known else self.trace.full_name(name)
        try:
            site = sites.find(full, self.config)
        except KeyError as unknown:
            raise ValueError(unknown.args[0]) from None
        side, rest = sites.split_side(full)
        layer, rest = sites.split_name(rest)
        prefix = f"{side}." if side is not None else ""
        return Place(full, site, side or self.config.sides[-1], prefix, layer, rest)

    def index(self, place: Place, index: Sequence[int]) -> tuple[int, ...]:
        """The index as plain numbers.

        Raises:
            ValueError: it does not fit the site's shape in this run.
        """
        shape = self.shape(place)
        found = tuple(operator.index(i) for i in index)
        if len(found) != len(shape) or not all(0 <= i < size for i, size in zip(found, shape, strict=True)):
            axes = ", ".join(f"{axis} {size}" for axis, size in zip(place.site.axes, shape, strict=True))
            raise ValueError(f"index {list(found)} of {place.full}: expected one number from 0 for each of [{axes}]")
        return found

    def shape(self, place: Place) -> tuple[int, ...]:
        if place.full in self.trace.values:
            return tuple(self.trace.values[place.full].shape)
        n_queries = self.length(place.prefix)
        n_keys = self.length("encoder.") if place.group == "cross" else n_queries
        return place.site.shape(self.config, n_queries, n_keys)

    def length(self, prefix: str) -> int:
        """How many tokens a stack reads; the output's names have no prefix, and are the last stack's."""
        own = prefix or (f"{self.config.sides[-1]}." if len(self.config.sides) > 1 else "")
        return len(self.trace.values[f"{own}tokens.ids"])

    def is_edited(self, full: str) -> bool:
        return bool(self.edits(full))

    def edits(self, full: str) -> tuple[Edit, ...]:
        """The interventions in a value."""
        return self.trace.changes.get(full, ())

    # Modules

    def stack(self, place: Place) -> Stack:
        return self.model.stack(place.side)

    def in_block(self, place: Place) -> Block:
        assert place.layer is not None
        return self.stack(place).block(place.layer)

    def attention(self, place: Place) -> Attention:
        block = self.in_block(place)
        return block.cross if place.group == "cross" and isinstance(block, CrossBlock) else block.attn

    def group_of(self, head: int) -> int:
        """The key–value head that a query head reads (Ainslie et al. 2023, figure 2)."""
        return head * self.config.n_kv_heads // self.config.n_heads

    # Weights

    def parameter(self, name: str) -> Tensor:
        return self.model.get_parameter(name).detach()

    def weight(self, symbol: str, name: str, *index: int) -> Operand:
        return operand(symbol, float(self.parameter(name)[index]), Weight(name, index))

    def weights(self, symbol: str, name: str, *index: int | None, start: int = 0, length: int | None = None) -> Factor:
        """Neighbours in a weight: index None, from ``start``, ``length`` of them or all."""
        stop = None if length is None else start + length
        where = tuple(slice(start, stop) if i is None else i for i in index)
        return Factor(symbol, numbers(self.parameter(name)[where]), Line(Weight, name, index, start))

    @property
    def unembedding(self) -> str:
        return "embedding.weight" if self.config.tie_embeddings else "head.unembedding.weight"

    # Values

    def cell(self, symbol: str, full: str, *index: int) -> Operand:
        return operand(symbol, self.value(self.place(full), index), Cell(full, index))

    def cells(self, symbol: str, full: str, *index: int | None) -> Factor:
        """A row or column: index None where it runs."""
        return Factor(symbol, numbers(self._row(self.place(full), index)), Line(Cell, full, index))

    def value(self, place: Place, index: tuple[int, ...]) -> float:
        """The number that the trace has there."""
        if place.full in self.trace.values:
            return float(self.trace.values[place.full][index])
        return float(self._row(place, (*index[:-1], None))[index[-1]])

    def _row(self, place: Place, index: tuple[int | None, ...]) -> Tensor:
        full = place.full
        if full in self.trace.values:
            return self.trace.values[full][tuple(slice(None) if i is None else i for i in index)]
        if full in ("logits", "probs"):
            row = self.trace.row(full, _given(index[0]))
            return row if index[1] is None else row[index[1]]
        if place.last in ("mean", "scale"):
            norm, parts, _ = self.norm(place)
            read = torch.stack([self.trace.values[part][_given(index[0])] for part in parts]).sum(0)
            return norm.statistics(read)[place.last].detach()
        if place.last == "gate_act":
            ffn = cast(Gated, self.in_block(place).ffn)
            return ffn.activation(self.trace.values[f"{place.block}ffn.gate"][_given(index[0])])
        if place.last == "head_out":
            return self._head_out(place, index)
        return self._attention_row(place, _given(index[0]), _given(index[1]))

    def _head_out(self, place: Place, index: tuple[int | None, ...]) -> Tensor:
        """A row [D] of one head, or the column [H] of one dimension."""
        head, t, d = index
        z = self.trace.values[f"{place.block}{place.group}.z"][:, _given(t)]  # [H, K]
        w_o = self.attention(place).o.weight.detach().unflatten(1, z.shape)  # [D, H, K]
        return (z * w_o[_given(d)]).sum(-1) if head is None else w_o[:, head] @ z[head]

    def _attention_row(self, place: Place, head: int, query: int) -> Tensor:
        """One query's row [Tk] of a T×T step of attention."""
        at = f"{place.block}{place.group}."
        q, k = self.last_form(at, "q"), self.last_form(at, "k")
        keys = self.trace.values[k][self.group_of(head)]
        n_keys = len(keys)
        if place.last == "bias":
            return self.bias_row(place, head, query, n_keys)
        if place.last == "mask":
            return ops.additive(self.visible_row(place, query, n_keys))
        if place.last == "scores":
            return ops.scores(self.trace.values[q][head, query : query + 1], keys, self.attention(place).scale)[0]
        masked = self._row(self.place(f"{at}scores"), (head, query, None))
        if f"{at}bias" in sites.table(self.config):
            masked = masked + self._row(self.place(f"{at}bias"), (head, query, None))
        masked = masked + self._row(self.place(f"{at}mask"), (head, query, None))
        if place.last == "masked":
            return masked
        recorded = self.trace.values.get(f"{at}masked")
        return ops.pattern(masked if recorded is None else recorded[head, query])

    def bias_row(self, place: Place, head: int, query: int, n_keys: int) -> Tensor:
        distance = torch.arange(n_keys) - query
        match self.stack(place).position:
            case positions.Alibi(slopes=slopes):
                return -slopes[head] * distance.abs()
            case positions.T5Bias() as scheme:
                return scheme.buckets.weight.detach()[scheme.bucket(distance), head]
        raise AssertionError("or the registry has no such site")

    def visible_row(self, place: Place, query: int, n_keys: int) -> Tensor:
        """Which keys a query may look at: boolean [Tk]."""
        if place.group == "cross":
            return torch.ones(n_keys, dtype=torch.bool)
        if place.side in self.trace.visible:
            return masks.of_layer(self.trace.visible[place.side], cast(int, place.layer))[query]
        stack, layer = self.stack(place), cast(int, place.layer)
        # A mask's last row is that of its last position, and in two-way attention the keys after
        # a query are those before it, mirrored: so one row is made without the others.
        past = stack.visible(layer, 1, query + 1)[0]
        later = stack.visible(layer, 1, n_keys - query)[0].flip(0)[1:]
        is_two_way = bool(stack.visible(layer, 2, 2)[0, 1])
        return torch.cat((past, later & is_two_way))

    def last_form(self, at: str, letter: str) -> str:
        """The queries or keys that the scores are made of: rotated, normalised, or plain."""
        names = (f"{at}{letter}{form}" for form in ("_rotated", "_normed", ""))
        return next(name for name in names if name in self.trace.values)

    # What reads what

    def norm(self, place: Place) -> tuple[norms.Norm, tuple[str, ...], str]:
        """The norm of a site, the values whose sum it reads, and the name before its weights'."""
        if place.group == "head":
            return cast(norms.Norm, self.model.get_submodule("head.norm")), ("head.act",), "head.norm"
        if place.group == "embed":
            name, parts = f"{place.side}.embed_norm", self.embeddings(place)
        elif place.layer is None:
            name, parts = f"{place.side}.final_norm", (self.last_stream(place.side),)
        else:
            name = f"{place.module}{place.group}_norm"
            parts = self.left_by(place) if self.config.norm_at == "post" else (self.stream_before(place),)
        module: nn.Module = self.model.get_submodule(name)
        return cast(norms.Norm, module), parts, name

    def embeddings(self, place: Place) -> tuple[str, ...]:
        """The parts of the embedding that this model has."""
        names = (f"{place.prefix}embed.{part}" for part in ("token", "segment", "position"))
        return tuple(name for name in names if name in self.trace.values)

    def stream_before(self, place: Place) -> str:
        """The residual stream that a sub-layer adds to; ``place`` is one of its sites."""
        before = {"attn": ("in",), "cross": ("mid",), "ffn": ("cross", "mid")}[place.group]
        names = (f"{place.block}resid.{name}" for name in before)
        return next(name for name in names if name in self.trace.values)

    def left_by(self, place: Place) -> tuple[str, ...]:
        """The values whose sum a sub-layer leaves, before a norm that follows it."""
        out = f"{place.block}{place.group}.out"
        return (self.stream_before(place), out) if self.config.residual else (out,)

    def reads(self, place: Place) -> str:
        """What the first matrices of a sub-layer read."""
        if self.config.norm_at == "pre":
            return f"{place.block}{place.group}.norm.out"
        return self.stream_before(place)

    def last_stream(self, side: Side) -> str:
        prefix = f"{side}." if len(self.config.sides) > 1 else ""
        return f"{prefix}blocks.{self.config.depth(side) - 1}.resid.out"

    def vectors(self, side: Side) -> str:
        """What a stack hands on: to the output, or to a decoder's cross-attention."""
        return sites.leaving(self.config, side)


def numbers(values: Tensor) -> np.ndarray:
    """A tensor as float64."""
    return values.detach().double().numpy()


def _given(index: int | None) -> int:
    assert index is not None
    return index
