"""What the picture of the whole run is given."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from viz_model.drawing import heatmap
from viz_model.drawing.heatmap import Pool
from viz_model.measures import heads
from viz_model.measures.stream import evenly
from viz_model.runs.trace import Trace
from viz_model.topics.overview.numbers import Look, strongest_look
from viz_model.topics.overview.pictures.overview import HIDDEN, BlockView, OverviewView, StripView

MAX_ROWS = 56
MAX_BLOCKS = 6
N_NEXT = 8


def block_view(trace: Trace, layer: int, pool: int) -> BlockView:
    """The head of a block that looks away most sharply; ``pool`` tokens share a row."""
    every = heads.together(trace, layer, pool)
    head = int(np.argmax(every.sharpness))
    norms = trace[f"blocks.{layer}.resid.out"].norm(dim=-1).split(pool)
    return BlockView(
        layer=layer,
        head=head,
        does=every.does[head],
        pattern=np.nan_to_num(every.patterns[head], nan=HIDDEN),
        norm=np.array([group.mean().item() for group in norms]),
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
    return StripView(part, page, trace.full_name(site), heatmap.extremes(trace[site].numpy(), Pool(pool, 1)))
