"""A Trace: every value of one run, by name.

A run keeps what the forward pass computed anyway, as aliases. The T×T values of attention are not
among them, because fused attention never forms them: they are rebuilt from the recorded queries
and keys when somebody looks, by the functions of :mod:`viz_model.ops`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import torch
from torch import Tensor

from viz_model import ops, sites
from viz_model.model import Block, Transformer
from viz_model.norms import LayerNorm
from viz_model.tokenizer import Token, Tokenizer


class Recorder:
    """A tap that keeps every value it sees, detached, under its full name.

    Raises:
        ValueError: the forward pass used a name twice, or one that the registry does not know.
    """

    def __init__(self, known: frozenset[str]) -> None:
        self.values: dict[str, Tensor] = {}
        self._known = known

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if name in self.values:
            raise ValueError(f"site {name!r} was recorded twice")
        if name not in self._known:
            raise ValueError(f"site {name!r} is not in the registry")
        self.values[name] = value.detach()
        return value

    def at(self, prefix: str) -> _Scoped:
        return _Scoped(self, prefix)


@dataclass(frozen=True)
class _Scoped:
    recorder: Recorder
    prefix: str

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return self.recorder(f"{self.prefix}.{name}", value)

    def at(self, prefix: str) -> _Scoped:
        return _Scoped(self.recorder, f"{self.prefix}.{prefix}")


@dataclass(frozen=True, eq=False)
class Trace:
    """One run of one text.

    ``trace[name]`` is the tensor of a site, without a batch axis. Reading is pure: a Trace holds
    no cache and no lock, and may be shared between threads.

    Attributes:
        text: what was run, or None where ids were given.
        n_dropped: tokens at the end of the text that did not fit the model's context.
    """

    model: Transformer
    tokenizer: Tokenizer
    ids: tuple[int, ...]
    text: str | None
    n_dropped: int
    values: dict[str, Tensor] = field(repr=False)

    @property
    def sites(self) -> tuple[str, ...]:
        """The names of all values, in the order a token meets them."""
        return tuple(name for name, _ in sites.in_order(self.model.config))

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The token at each position."""
        return self.tokenizer.tokens(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.sites)

    def __contains__(self, name: object) -> bool:
        return name in self.sites

    def __getitem__(self, name: str) -> Tensor:
        """The value of a site, with the axes that :mod:`viz_model.sites` gives it.

        Raises:
            KeyError: this model has no such site; the message suggests the nearest names.
        """
        if name in self.values:
            return self.values[name]
        sites.find(name, self.model.config)
        layer, rest = sites.split_name(name)
        return self._output(rest) if layer is None else self._derive(layer, rest)

    def head(self, name: str, head: int) -> Tensor:
        """One head of a site whose first axis is H, computed without the other heads.

        Raises:
            KeyError: no such site. IndexError: no such head. ValueError: the site has no heads.
        """
        site = sites.find(name, self.model.config)
        if site.axes[0] != "H":
            raise ValueError(f"site {name!r} has no heads: its axes are {' '.join(site.axes)}")
        n_heads = self.model.config.n_heads
        if not -n_heads <= head < n_heads:
            raise IndexError(f"head {head}: this model has {n_heads}")
        if name in self.values:
            return self.values[name][head]
        layer, rest = sites.split_name(name)
        assert layer is not None  # every site with heads belongs to a block
        return self._derive(layer, rest, slice(head % n_heads, head % n_heads + 1))[0]

    def next_tokens(self, position: int = -1, k: int = 10) -> list[tuple[Token, float]]:
        """The k most probable tokens after ``position``, with their probabilities.

        The softmax runs over the full vocabulary, so the probabilities are those of the model.

        Raises:
            IndexError: no such position. ValueError: k is not positive.
        """
        if not -len(self) <= position < len(self):
            raise IndexError(f"position {position}: the trace has {len(self)}")
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        top = self.values["logits"][position].softmax(-1).topk(min(k, self.model.config.n_vocab))
        return [(self.tokenizer.token(id), p) for id, p in zip(top.indices.tolist(), top.values.tolist(), strict=True)]

    def norm_input(self, name: str) -> Tensor:
        """What a norm reads, [T, D]; ``name`` is like ``blocks.0.attn.norm`` or ``final.norm``."""
        layer, rest = sites.split_name(name)
        if layer is None:
            return self.values[f"blocks.{self.model.config.n_layers - 1}.resid.out"]
        at = f"blocks.{layer}."
        around = (self.values[at + site] for site in ("resid.in", "attn.out", "resid.mid", "ffn.out"))
        attn, ffn = self._block(layer).norm_inputs(*around)
        return attn if rest.startswith("attn.") else ffn

    def _output(self, name: str) -> Tensor:
        if name == "probs":
            return self.values["logits"].softmax(-1)
        assert self.model.final_norm is not None  # or the registry has no such site
        return self._moment(name, self.model.final_norm)

    def _block(self, layer: int) -> Block:
        return cast(Block, self.model.blocks[layer])

    def _moment(self, name: str, norm: LayerNorm) -> Tensor:
        """``….norm.mean`` or ``….norm.scale``: [T, 1]."""
        site, _, which = name.rpartition(".")
        mean, scale = norm.moments(self.norm_input(site))
        return mean if which == "mean" else scale

    def _derive(self, layer: int, rest: str, heads: slice = slice(None)) -> Tensor:
        block = self._block(layer)
        if rest.startswith("attn.norm."):
            return self._moment(f"blocks.{layer}.{rest}", block.attn_norm)
        if rest.startswith("ffn.norm."):
            return self._moment(f"blocks.{layer}.{rest}", block.ffn_norm)
        q, k, z = (self.values[f"blocks.{layer}.attn.{name}"][heads] for name in "qkz")
        if rest == "attn.head_out":
            d_head = self.model.config.d_head
            w_o = block.attn.o.weight.T.unflatten(0, (-1, d_head))[heads].flatten(0, 1)
            return ops.head_out(z, w_o)
        scores = ops.scores(q, k)
        if rest == "attn.scores":
            return scores
        mask = ops.causal_mask(len(self), len(self))
        if rest == "attn.mask":
            return mask.expand_as(scores)
        masked = scores + mask
        return masked if rest == "attn.masked" else ops.pattern(masked)


@torch.inference_mode()
def record(
    model: Transformer, tokenizer: Tokenizer, ids: Sequence[int], *, text: str | None = None, n_dropped: int = 0
) -> Trace:
    """Run ``model`` once over ``ids`` and keep every value.

    Raises:
        ValueError: there are no ids, more than the context holds, or one outside the vocabulary.
    """
    config = model.config
    if not 1 <= len(ids) <= config.n_context:
        raise ValueError(f"expected 1 to {config.n_context} tokens, got {len(ids)}")
    if wrong := [id for id in ids if not 0 <= id < config.n_vocab]:
        raise ValueError(f"token id {wrong[0]}: the vocabulary has {config.n_vocab}")
    recorder = Recorder(frozenset(name for name, site in sites.in_order(config) if not site.derived))
    model(torch.tensor([ids]), recorder)
    values = {name: value[0] for name, value in recorder.values.items()}
    return Trace(model=model, tokenizer=tokenizer, ids=tuple(ids), text=text, n_dropped=n_dropped, values=values)
