"""The values of a long run: the residual stream is kept, and a block is run again when somebody looks into it.

Beside the stream a block has queries, keys, values, hidden layers: of GPT-2 and 1,024 tokens ten
times as much. All of it follows from the vectors that enter the block, by the very code of the
forward pass, so that what is read here is what the run had (cf. Chen et al. 2016, "Training Deep
Nets with Sublinear Memory Cost", which does the same between forward and backward pass).
"""

from __future__ import annotations

import functools
from collections.abc import Container, Iterator, Mapping

import torch
from torch import Tensor

from viz_model import ops, sites
from viz_model.config import ModelConfig, Side
from viz_model.edits import ValueEdit
from viz_model.model import Source, Transformer
from viz_model.recorder import recorder
from viz_model.tap import NO_TAP


@functools.cache
def kept(config: ModelConfig) -> frozenset[str]:
    """The full names of what is kept of a long run.

    The stream where it enters and leaves each block, one tensor under two names, and what stands
    outside the blocks: a few vectors a position.
    """
    rest = ((name, *sites.split_name(sites.split_side(name)[1])) for name in sites.recorded(config))
    return frozenset(name for name, layer, own in rest if layer is None or own in ("resid.in", "resid.out"))


class Replay(Mapping[str, Tensor]):
    """Every recorded value of a run by its full name, [T, …], from the kept ones.

    Reading computes the block that a value belongs to; the block that was read last is held, since
    whoever reads one value of a block reads its neighbours next. Threads may share it: at worst
    two of them compute the same block.

    Args:
        kept: the values that were kept, by full name.
        changes: interventions by the full name of the value that they change.
        visible: masks in place of the model's own, by side.
    """

    def __init__(
        self,
        model: Transformer,
        kept: Mapping[str, Tensor],
        changes: Mapping[str, tuple[ValueEdit, ...]],
        visible: Mapping[Side, Tensor],
    ) -> None:
        self.kept = kept
        self._model, self._changes, self._visible = model, changes, visible
        recorded = sites.recorded(model.config)
        self._names = dict.fromkeys(name for name, _ in sites.rows(model.config) if name in recorded) | dict(kept)
        self._last: tuple[str, Mapping[str, Tensor]] = ("", {})

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
            layer, self.kept[entering][None], visible=self._visible.get(side), source=source, tap=tap.at(at)
        )
        return {name: value[0] for name, value in tap.values.items()}

    @torch.inference_mode()
    def queries_and_keys(self, at: str, head: int | None) -> tuple[Tensor, Tensor]:
        """What the scores of a self-attention are made of: of all heads [H, T, K] and [G, T, K]; of one [1, T, K] each.

        They come from the vectors that enter the block, without the rest of it. ``head`` is a query
        head, ``at`` is like ``decoder.blocks.0``.
        """
        side, name = sites.split_side(f"{at}.attn")
        layer, _ = sites.split_name(name)
        assert layer is not None
        stack = self._model.stack(side or self._model.config.sides[0])
        block = stack.block(layer)
        group = 0 if head is None else head * block.attn.n_kv_heads // block.attn.n_heads
        if self._last[0] == at or any(change.startswith(f"{at}.") for change in self._changes):
            values = self.block(f"{at}.attn.q")
            q, k = (values[last_form(values, f"{at}.attn", letter)] for letter in ("q", "k"))
            return (q, k) if head is None else (q[head : head + 1], k[group : group + 1])
        x = block.residual.sublayer_input(self.kept[f"{at}.resid.in"], block.attn_norm)
        if head is None:
            q = ops.split_heads(block.attn.q(x), block.attn.n_heads)
            k = ops.split_heads(block.attn.k(x), block.attn.n_kv_heads)
        else:
            q, k = block.attn.project("q", x, head), block.attn.project("k", x, group)
        q, k = block.attn.qk_norm(q, k, NO_TAP)
        return stack.position.rotate(q, k, 0)


def last_form(values: Container[str], at: str, letter: str) -> str:
    """The name of the queries or keys that scores are made of: rotated, normalised, or plain."""
    return next(name for form in ("_rotated", "_normed", "") if (name := f"{at}.{letter}{form}") in values)
