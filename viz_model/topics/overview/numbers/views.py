"""What the picture of the whole run is given."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from viz_model.runs.trace import Trace
from viz_model.topics.attention.numbers import heads
from viz_model.topics.attention.numbers.views import pool_max
from viz_model.topics.overview.numbers import Look, evenly, sharpness, strongest_look
from viz_model.topics.overview.pictures.overview import HIDDEN, BlockView, OverviewView, StripView

MAX_ROWS = 56
MAX_BLOCKS = 6
N_NEXT = 8


def block_view(trace: Trace, layer: int, pool: int) -> BlockView:
    """The head of a block that looks away most sharply; ``pool`` tokens share a row."""
    site = f"blocks.{layer}.attn.pattern"
    # One T×T matrix at a time: all heads of a long text are a lot of memory.
    sharp = [float(sharpness(trace.head(site, h).numpy()[None])[0]) for h in range(trace.config.n_heads)]
    head = int(np.argmax(sharp))
    pattern = trace.head(site, head).numpy()
    hidden = np.isneginf(trace.head(f"blocks.{layer}.attn.mask", head).numpy())
    shown = np.where(hidden, HIDDEN, pattern).astype(np.float32)
    missing = -len(shown) % pool  # the last group is filled up with nothing to see
    norms = trace[f"blocks.{layer}.resid.out"].norm(dim=-1).numpy()
    return BlockView(
        layer=layer,
        head=head,
        does=heads.of_head(trace, layer, head),
        pattern=pool_max(np.pad(shown, (0, missing), constant_values=HIDDEN), pool),
        norm=_pad_rows(norms[:, None], pool).mean(axis=1)[:, 0],
    )


def overview_view(
    trace: Trace,
    token: int,
    layer: int = 0,
    block: Callable[[int, int], BlockView] | None = None,
    look: Callable[[str], Look | None] | None = None,
) -> OverviewView:
    """``block`` and ``look`` give what is known already: a block by layer and pool, a look by kind of attention."""
    block = block or functools.partial(block_view, trace)
    look = look or functools.partial(strongest_look, trace, token)
    pool = -(-len(trace) // MAX_ROWS)
    parts = [("embedding", "embed.token"), ("position", "embed.position")]
    predicts = "logits" in trace
    guesses = trace.next_tokens(token, N_NEXT) if predicts else []
    return OverviewView(
        labels=tuple(t.label for t in trace.tokens),
        ids=tuple(t.id for t in trace.tokens),
        strips=tuple(_strip(trace, part, part, site, pool) for part, site in parts if site in trace),
        blocks=tuple(block(i, pool) for i in evenly(trace.n_layers, layer, MAX_BLOCKS)),
        vectors=None if predicts else _strip(trace, "vectors", "next_token", trace.leaving, pool),
        next_tokens=tuple((t.label, p) for t, p in guesses),
        next_ids=tuple(t.id for t, _ in guesses),
        look=look("attn"),
        read=look("cross") if "blocks.0.cross.pattern" in trace else None,
        token=token,
        pool=pool,
        n_layers=trace.n_layers,
    )


def _strip(trace: Trace, part: str, page: str, site: str, pool: int) -> StripView:
    return StripView(part, page, trace.full_name(site), _extremes(trace[site].numpy(), pool))


def _pad_rows(values: np.ndarray, pool: int) -> np.ndarray:
    """[T, N] -> [S, pool, N]; the last group is filled up with its own last row."""
    missing = -len(values) % pool
    padded = np.concatenate([values, np.repeat(values[-1:], missing, axis=0)])
    return padded.reshape(-1, pool, values.shape[-1])


def _extremes(values: np.ndarray, pool: int) -> np.ndarray:
    """[T, D] -> [S, D]: of each group of rows, the value of largest magnitude with its sign."""
    grouped = _pad_rows(values, pool)
    largest = np.abs(grouped).argmax(axis=1, keepdims=True)
    return np.take_along_axis(grouped, largest, axis=1)[:, 0]
