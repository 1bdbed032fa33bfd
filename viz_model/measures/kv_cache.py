"""What a decoder keeps of the past while it speaks, what it computes at each step, and the times both ways.

Keys and values of earlier positions never change where no position reads later ones, so they are
computed once and kept (Shazeer 2019, section 2.4). Those of a source, which cross-attention reads,
are made at the first step and stay as they are.
"""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from viz_model.config import Attending, DeltaNet, Latent, ModelConfig, ShortConv
from viz_model.measures.timing import expected, timed
from viz_model.model import stored
from viz_model.model.attention import BlockCache, Source
from viz_model.model.transformer import Transformer
from viz_model.runs.trace import Trace


class Cache(NamedTuple):
    """Bytes of keys and values that a decoder keeps for a text."""

    self_attention: int
    cross_attention: int

    @property
    def total(self) -> int:
        return self.self_attention + self.cross_attention


def cache(config: ModelConfig, length: int, n_kv_heads: int | None, n_bytes: int, n_source: int = 0) -> Cache:
    """What a decoder keeps after reading ``length`` tokens, had it ``n_kv_heads`` (Shazeer 2019, section 2.4).

    A key and a value of K numbers for each layer, key–value head and position: 2·L·G·K·T. A layer
    that sees a window needs no more than the window. With ``n_kv_heads`` None it is what the model keeps as it is:
    latent vectors and the shared part of keys, or what does not grow, a state or the last inputs of a convolution. The
    keys and values of ``n_source`` positions of an encoder are kept too; they do not grow while the decoder speaks.

    Raises:
        ValueError: an encoder reads a text once, and keeps nothing.
    """
    if config.kind == "encoder":
        raise ValueError("an encoder has no KV cache: it reads its text once")
    heads = config.n_kv_heads if n_kv_heads is None else n_kv_heads
    crossing, kept = 2 * heads * config.d_head, 0
    for number in range(config.n_layers):
        layer, own = config.layer("decoder", number), config.of_layer("decoder", number)
        n = min(length, layer.window or length)
        a_position = 2 * (own.n_kv_heads if n_kv_heads is None else n_kv_heads) * own.d_head
        match layer.mixer if n_kv_heads is None else None:
            case Latent(rank=rank, d_rotated=shared):
                kept += n * (rank + shared)
            case DeltaNet() as delta:
                keys, values = delta.n_keys * delta.d_key, delta.n_values * delta.d_value
                kept += delta.d_key * values + (delta.kernel - 1) * (2 * keys + values)
            case ShortConv(kernel=kernel):
                kept += (kernel - 1) * config.d_model
            case Attending(keys_of=int()):
                pass  # it reads what another layer keeps
            case _:
                kept += n * a_position
    crossed = config.n_layers * n_source if config.kind == "encoder_decoder" else 0
    return Cache(kept * n_bytes, crossing * crossed * n_bytes)


# What it holds


class Held(NamedTuple):
    """A cache as it is: how long the vectors in it are, and how many bytes they take.

    Attributes:
        keys: [L, T] the length of each position's key, all G heads of the layer laid side by side.
        values: [L, T] likewise.
        source_keys: [L, S] those of the S source positions; S is 0 where there is no cross-attention.
        source_values: [L, S].
        n_bytes: of all keys and values of the positions.
        n_source_bytes: of those of the source.
        itemsize: bytes of one number.
    """

    keys: np.ndarray
    values: np.ndarray
    source_keys: np.ndarray
    source_values: np.ndarray
    n_bytes: int
    n_source_bytes: int
    itemsize: int


_Pair: TypeAlias = tuple[Tensor | None, Tensor | None]
"""Keys and values, [1, G, T, K] each; None where a block keeps none."""


def held(cache: Sequence[BlockCache]) -> Held:
    """What lies in a decoder's cache (:attr:`viz_model.runs.generation.Decoder.cache`)."""
    own = [(block.attn.k, block.attn.v) for block in cache]
    source = [(block.cross.k, block.cross.v) for block in cache]
    each = next(x.element_size() for pair in (*own, *source) for x in pair if x is not None)
    return _held(own, source, each)


def held_after(trace: Trace) -> Held:
    """What a cache holds once a decoder has read what a run has read.

    Raises:
        ValueError: the trace is not seen from a decoder.
    """
    if trace.stack.side != "decoder":
        raise ValueError("an encoder has no KV cache: it reads its text once")
    layers = range(trace.n_layers)
    own, source = ([_kept(trace, f"blocks.{layer}.{at}") for layer in layers] for at in ("attn", "cross"))
    return _held(own, source, itemsize(trace))


def _kept(trace: Trace, part: str) -> _Pair:
    """Keys as they are compared with queries, and values."""
    forms = [name for form in ("", "_normed", "_rotated") if (name := f"{part}.k{form}") in trace]
    return (trace[forms[-1]][None], trace[f"{part}.v"][None]) if forms else (None, None)


@torch.inference_mode()
def _held(own: Sequence[_Pair], source: Sequence[_Pair], each: int) -> Held:
    def lengths(found: Sequence[_Pair], which: int) -> np.ndarray:
        every = [pair[which] for pair in found]
        length = max(0 if x is None else x.shape[-2] for x in every)
        rows = [np.zeros(length) if x is None else stored.single(x[0]).norm(dim=(0, 2)).numpy() for x in every]
        return np.stack(rows)

    def size(found: Sequence[_Pair]) -> int:
        return sum(x.numel() * each for pair in found for x in pair if x is not None)

    return Held(lengths(own, 0), lengths(own, 1), lengths(source, 0), lengths(source, 1), size(own), size(source), each)


def itemsize(trace: Trace) -> int:
    """Bytes of a number as the model of a run computes it."""
    return stored.dtype_of(trace.model).itemsize


def bytes_of(config: ModelConfig, positions: int, itemsize: int = 4) -> int:
    """A key and a value of K numbers for each layer, key–value head and position: 2·L·G·K·T, of 4 bytes each.

    Layers that read the keys and values of another keep none.
    """
    return 2 * sum(numbers(config)) * positions * itemsize


def numbers(config: ModelConfig) -> list[int]:
    """G·K of each layer of a decoder that makes keys of its own."""
    layers = [n for n in range(config.n_layers) if getattr(config.layer("decoder", n).mixer, "keys_of", None) is None]
    return [(own := config.of_layer("decoder", n)).n_kv_heads * own.d_head for n in layers]


# What is computed


class Read(NamedTuple):
    """One step of a decoder: it holds the tokens ``first`` … ``stop`` − 1 of a text, and computes those from ``start``.

    Tokens before ``first`` were forgotten. Without a cache all from ``first`` on are computed.
    """

    first: int
    start: int
    stop: int

    @property
    def computed(self) -> int:
        return self.stop - self.start

    @property
    def without(self) -> int:
        return self.stop - self.first


def reads(n_context: int, n_prompt: int, n_drawn: int, *, keeps: bool = True) -> tuple[Read, ...]:
    """The steps of :class:`~viz_model.runs.generation.Decoder` that ``n_drawn`` tokens take: at least the first.

    The first step reads the prompt, each further one the token that was drawn before; the last
    drawn token need not be read. At a full context the older half is forgotten and the newer read afresh.

    Args:
        keeps: False where the past changes with every token, so that nothing can be kept.
    """
    first = max(0, n_prompt - n_context)
    found = [Read(first, first, n_prompt)]
    for stop in range(n_prompt + 1, n_prompt + n_drawn):
        if is_full := stop - first > n_context:
            first = stop - max(1, n_context // 2)
        found.append(Read(first, stop - 1 if keeps and not is_full else first, stop))
    return tuple(found)


# Measured

BUDGET = 5.0
"""Seconds by the wall; a longer text that would not be done by then is not begun, and the first is timed once."""
MOST_DRAWN = 256


class Reading(NamedTuple):
    """The time of one step at a text of ``length`` tokens, ``drawn`` of them new: medians of ``runs``, in seconds.

    ``cached`` reads one token beside a cache of all others; ``fresh`` reads the whole text. Both end with the logits
    of the last position alone.
    """

    length: int
    drawn: int
    cached: float
    fresh: float
    runs: int


def marks(trace: Trace) -> tuple[int, ...]:
    """After how many new tokens :func:`measure` takes the time at the most: 1, 2, 4, … while the context has room."""
    room = min(MOST_DRAWN, trace.config.n_context - len(trace))
    return tuple(1 << k for k in range(room.bit_length()) if 1 << k <= room)


def measure(trace: Trace, budget: float = BUDGET) -> Iterator[Reading]:
    """Draw a text on, always the most probable token, and time the step at some lengths with a cache and without.

    The run's own model, without the changes that edits make to its values. The encoder's part, which is the
    same both ways, is in neither time.

    Args:
        trace: a run seen from its decoder.
    """
    model, ids, begun = trace.model, list(trace.own_ids), time.perf_counter()
    source = _encoded(trace)
    cache = model.new_cache()
    logits, last, slowed = _step(model, ids, source, cache), None, 1.0
    wanted = marks(trace)
    for drawn in range(1, wanted[-1] + 1 if wanted else 1):
        ids.append(int(logits.argmax()))
        if drawn in wanted:
            started = time.perf_counter()
            if last is not None and started - begun + slowed * _expected(last, len(ids)) > budget:
                return
            last = _read(model, ids, drawn, source, cache, begun + budget)
            # Other programs make the wall's time longer than the processor's.
            slowed = max(1.0, (time.perf_counter() - started) / (last.runs * (last.cached + last.fresh)))
            yield last
        logits = _step(model, ids[-1:], source, cache)


def _expected(last: Reading, length: int) -> float:
    """Seconds that the way to a longer text and its reading will take; a step over all grows at least with it."""
    fresh = last.fresh * length / last.length
    return (length - last.length) * last.cached + expected(fresh) + expected(last.cached)


@torch.inference_mode()
def _encoded(trace: Trace) -> Source | None:
    return trace.model.encode(torch.tensor([trace.ids])) if len(trace.config.sides) > 1 else None


@torch.inference_mode()
def _step(model: Transformer, ids: Sequence[int], source: Source | None, cache: Sequence[BlockCache]) -> Tensor:
    """Logits [V] after the last of the new ``ids``; what was computed is kept in ``cache``."""
    new = torch.tensor([ids])
    vectors: Tensor = model.stack("decoder")(model.embed(new), ids=new, source=source, cache=cache)
    logits: Tensor = model.head(vectors[:, -1:])
    return logits[0, 0]


def _read(
    model: Transformer, ids: Sequence[int], drawn: int, source: Source | None, cache: Sequence[BlockCache], until: float
) -> Reading:
    cached, runs = timed(
        lambda: [block.copy() for block in cache], lambda kept: _step(model, ids[-1:], source, kept), until
    )
    fresh, runs_fresh = timed(model.new_cache, lambda kept: _step(model, ids, source, kept), until)
    return Reading(len(ids), drawn, cached, fresh, min(runs, runs_fresh))
