"""The values of a long run: the residual stream is kept, and a block is run again when somebody looks into it.

Beside the stream a block has queries, keys, values, hidden layers: of GPT-2 and 1,024 tokens ten
times as much. All of it follows from the vectors that enter the block, by the very code of the
forward pass, so that what is read here is what the run had (cf. Chen et al. 2016, "Training Deep
Nets with Sublinear Memory Cost", which does the same between forward and backward pass).
"""

import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from viz_model.config import ModelConfig, Side
from viz_model.model import ops, sites, stored
from viz_model.model.attention import Attention, BlockCache, Given, Source
from viz_model.model.block import Block
from viz_model.model.feedforward import TokenMixing
from viz_model.model.transformer import Stack, Transformer
from viz_model.runs.edits import ValueEdit
from viz_model.runs.recorder import recorder


@functools.cache
def kept(config: ModelConfig) -> frozenset[str]:
    """The full names of what is kept of a long run.

    The stream where it enters and leaves each block, one tensor under two names, and what stands
    outside the blocks: a few vectors a position.
    """
    rest = ((name, *sites.split_name(sites.split_side(name)[1])) for name in sites.recorded(config))
    return frozenset(name for name, layer, own in rest if layer is None or own in ("resid.in", "resid.out"))


class Noted(NamedTuple):
    """What is told of the vectors of one site as a whole.

    Attributes:
        lengths: ‖x‖ of each, [T].
        first: the value of dimension 0, [T].
        alike: the mean cosine of all pairs of different vectors.
    """

    lengths: Tensor
    first: Tensor
    alike: float


def note(vectors: Tensor) -> Noted:
    """Of vectors [T, D]."""
    return Noted(vectors.norm(dim=-1), vectors[:, 0].clone(), ops.mean_similarity(vectors))


_NOTED = tuple(f".{part}.{made}" for part in ("attn", "cross", "ffn") for made in ("out", "norm.out", "out_norm.out"))
_NOTED += (".resid.mid", ".resid.cross")


class Notes(dict[str, Noted]):
    """Written while a run goes past, of what every sub-layer wrote and of the stream between them.

    A picture of all blocks then needs none of them again.
    """

    def takes(self, name: str) -> bool:
        return name.endswith(_NOTED)

    def __call__(self, name: str, value: Tensor) -> None:
        self[name] = note(value[0])


class Recomputed(Mapping[str, Tensor]):
    """Every recorded value of a run by its full name, [T, …], from the kept ones.

    Reading computes the block that a value belongs to; the block that was read last is held, since
    whoever reads one value of a block reads its neighbors next. So are the rows of the position that
    was read last, in every block. Threads may share it: at worst two of them compute the same block.

    Args:
        kept: the values that were kept, by full name.
        noted: what was noted of others.
        changes: interventions by the full name of the value that they change.
        visible: masks in place of the model's own, by side.
    """

    def __init__(
        self,
        model: Transformer,
        kept: Mapping[str, Tensor],
        noted: Mapping[str, Noted],
        changes: Mapping[str, tuple[ValueEdit, ...]],
        visible: Mapping[Side, Tensor],
    ) -> None:
        self.kept, self.noted = kept, noted
        self._model, self._changes, self._visible = model, changes, visible
        recorded = sites.recorded(model.config)
        self._names = dict.fromkeys(name for name, _ in sites.in_order(model.config) if name in recorded) | dict(kept)
        self._last: tuple[str, Mapping[str, Tensor]] = ("", {})
        self._attended: tuple[str, Tensor] = ("", torch.empty(0))
        self._rows: tuple[int, dict[str, Mapping[str, Tensor]]] = (-1, {})

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Tensor:
        if name in self.kept:
            return self.kept[name]
        if name not in self._names:
            raise KeyError(name)
        return self.block(name)[name]

    def block(self, name: str) -> Mapping[str, Tensor]:
        """All values of the block in which ``name`` is, by full name."""
        side, own = sites.split_side(name)
        layer, _ = sites.split_name(own)
        assert layer is not None  # all others are kept
        at = f"{name.removesuffix(own)}blocks.{layer}"
        held, values = self._last
        if held != at:
            values = self._run(at, side or self._model.config.sides[0], layer)
            self._last = (at, values)
        return values

    @torch.inference_mode()
    def _run(self, at: str, side: Side, layer: int) -> Mapping[str, Tensor]:
        entering = f"{at}.resid.in"
        # What enters was kept as the run went on with it, its changes made.
        changes = {name: edits for name, edits in self._changes.items() if name != entering}
        tap = recorder(self._model.config, changes)
        source = None
        if self._model.config.kind == "encoder_decoder" and side == "decoder":
            source = Source(self.kept[sites.leaving(self._model.config, "encoder")][None])
        stack = self._model.stack(side)
        stack.run_block(
            layer,
            self.kept[entering][None],
            visible=self._visible.get(side),
            source=source,
            tap=tap.at(at),
            shared=self._shared(stack, side, layer),
            embedded=self._embedded(side, layer),
        )
        return {name: value[0] for name, value in tap.values.items()}

    def _shared(self, stack: Stack, side: Side, layer: int) -> dict[int, tuple[Tensor, Tensor]]:
        """The keys and values [1, G, T, K] that a layer reads of another, by its number, as the model runs."""
        source = self._model.config.source_of(side, layer)
        if source is None:
            return {}
        at, running = f"{sites.prefix(self._model.config, side)}blocks.{source}", stored.running(stack)
        if not self.reads_block(at):
            x = self._read(at, running.block(source))[None]
            return {source: running.block(source).attn.keys_and_values(x, running.position_of(source))}
        _, keys = sites.scored(f"{at}.attn", self._model.config)
        k, v = (stored.as_run(running, self[name][None]) for name in (keys, f"{at}.attn.v"))
        return {source: (k, v)}

    def _embedded(self, side: Side, layer: int, rows: slice = slice(None)) -> Tensor | None:
        """The second embedding of each token for a block, [1, T, P], where there is one."""
        found = self.kept.get(f"{sites.prefix(self._model.config, side)}embed.second")
        return None if found is None else found[None, rows, layer]

    def reads_block(self, at: str) -> bool:
        """Whether a part is read from the whole block: it is held already, or something in it was changed."""
        return self._last[0] == at or any(change.startswith(f"{at}.") for change in self._changes)

    def row(self, name: str, position: int) -> Tensor | None:
        """A value at one position, with an axis of 1 in place of T; None where only the whole block has it.

        Under a causal mask a position needs keys and values of those before it, and nothing else of them, and of what
        holds a state that state: a fifth of a block's work and less. A feed-forward that reads other positions needs
        what attention made of them.
        """
        side, own = sites.split_side(name)
        layer, _ = sites.split_name(own)
        side = side or self._model.config.sides[0]
        if name in self.kept or layer is None or side == "encoder" or side in self._visible:
            return None
        at, block = f"{name.removesuffix(own)}blocks.{layer}", self._model.stack(side).block(layer)
        if block.cross is not None or isinstance(block.ffn, TokenMixing) or self.reads_block(at):
            return None
        held, rows = self._rows
        if held != position:
            rows = {}
            self._rows = (position, rows)
        if at not in rows:
            rows[at] = self._run_row(at, self._model.stack(side), layer, position)
        return rows[at][name]

    @torch.inference_mode()
    def _run_row(self, at: str, stack: Stack, layer: int, position: int) -> Mapping[str, Tensor]:
        stack = stored.running(stack)
        block, cache = stack.block(layer), BlockCache()
        x = stored.as_run(block, self.kept[f"{at}.resid.in"][None])
        scheme = stack.position_of(layer)
        if position:
            past = block.attn_input(x[:, :position])
            if not isinstance(block.attn, Attention):
                block.attn(past, Given(scheme, cache=cache))  # what it leaves for the next token
            elif block.attn.kind.keys_of is None:
                cache.attn.extend(block.attn.keys(past, scheme), block.attn.values(past))
        row = x[:, position : position + 1]
        tap = recorder(self._model.config)
        shared = self._shared(stack, stack.side, layer)
        shared = {n: (k[..., : position + 1, :], v[..., : position + 1, :]) for n, (k, v) in shared.items()}
        embedded = self._embedded(stack.side, layer, slice(position, position + 1))
        embedded = None if embedded is None else stored.as_run(block, embedded)
        bias = stack.attn_bias(layer, position, row)
        block(row, Given(scheme, bias, None, cache, position, None, shared, embedded), tap.at(at))
        # Keys and values behind the tap are of this position alone; the cache held the others.
        return {name: stored.single(value[0]) for name, value in tap.values.items()}

    @torch.inference_mode()
    def head(self, name: str, head: int) -> Tensor | None:
        """A value of one query head, without an axis of heads; None where only the whole block has it.

        A projection of self-attention reads the vectors that enter the block, and nothing else of it.
        Of keys and values it is the head that this query head reads.
        """
        at, is_attention, own = name.rpartition(".attn.")
        letter = own.partition("_")[0]
        if not is_attention or letter not in ("q", "k", "v") or self.reads_block(at):
            return None
        stack, layer, block = self._place(at)
        x, scheme, tap = self._read(at, block), stack.position_of(layer), recorder(self._model.config)
        index, within = self._model.config.kv_head(head, block.attn.n_kv_heads), tap.at(f"{at}.attn")
        match letter:
            case "q":
                index = head
                block.attn.queries(x, scheme, tap=within, head=index)
            case "k":
                block.attn.keys(x, scheme, tap=within, head=index)
            case "v":
                block.attn.values(x, within, head=index)
        found = stored.single(tap.values[name])
        # Where a norm runs over all heads, what it reads and writes is of all of them.
        return found[0 if len(found) == 1 else index]

    def _read(self, at: str, block: Block) -> Tensor:
        """What the attention of a block reads, [T, D]: held, since one head is looked at after the other."""
        held, x = self._attended
        if held != at:
            x = block.attn_input(stored.as_run(block, self.kept[f"{at}.resid.in"]))
            self._attended = (at, x)
        return x

    def _place(self, at: str) -> tuple[Stack, int, Block]:
        side, name = sites.split_side(f"{at}.attn")
        layer, _ = sites.split_name(name)
        assert layer is not None
        stack = stored.running(self._model.stack(side or self._model.config.sides[0]))
        return stack, layer, stack.block(layer)

    @torch.inference_mode()
    def queries_and_keys(self, at: str, head: int | None, rows: slice = slice(None)) -> tuple[Tensor, Tensor]:
        """What the scores of a self-attention are made of: of all heads [H, Tq, K] and [G, T, K]; of one [1, .., K].

        They come from the vectors that enter the block, without the rest of it. ``head`` is a query
        head, ``at`` is like ``decoder.blocks.0``, ``rows`` are the queries.
        """
        stack, layer, block = self._place(at)
        group = None if head is None else self._model.config.kv_head(head, block.attn.n_kv_heads)
        if self.reads_block(at):
            q, k = (self[name] for name in sites.scored(f"{at}.attn", self._model.config))
            return (
                (q[:, rows], k) if head is None or group is None else (q[head : head + 1, rows], k[group : group + 1])
            )
        x, scheme = self._read(at, block), stack.position_of(layer)
        start, _, _ = rows.indices(len(x))
        q = stored.single(block.attn.queries(x[rows], scheme, start, head=head))
        if block.attn.kind.keys_of is not None:
            k = stored.single(self._shared(stack, stack.side, layer)[block.attn.kind.keys_of][0][0])
            return q, k if group is None else k[group : group + 1]
        return q, stored.single(block.attn.keys(x, scheme, head=group))
