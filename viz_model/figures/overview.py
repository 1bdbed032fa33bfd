"""The whole run in one picture: a row a token, a column a stage, every cell a value of the run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from viz_model.analysis import heads, story
from viz_model.figures import theme
from viz_model.figures.attention import pool_max
from viz_model.trace import Trace

MAX_ROWS = 64
N_NEXT = 8
WORDS = (
    "tokens",
    "embedding",
    "position",
    "dimensions",
    "every",
    "dimension",
    "block",
    "head",
    "next",
    "after",
    "masked",
    "hint",
    "alt",
)
"""Keys of the words that the picture is labelled with."""


class BlockView(NamedTuple):
    """One block: the pattern [S, S] of the head that looks back most sharply, and residual norms [S]."""

    head: int
    kind: heads.Kind
    pattern: np.ndarray
    norm: np.ndarray


class OverviewView(NamedTuple):
    """The stages of one run. S rows stand for T tokens, ``pool`` tokens each.

    ``embedding`` and ``position`` are [S, D]; of pooled tokens each dimension shows the value of
    largest magnitude, patterns the largest weight, norms the mean. ``next_tokens`` are those after
    ``token``, over the full vocabulary; ``look`` is its strongest look back.
    """

    labels: tuple[str, ...]
    ids: tuple[int, ...]
    embedding: np.ndarray
    position: np.ndarray
    blocks: tuple[BlockView, ...]
    next_tokens: tuple[tuple[str, float], ...]
    look: story.Look | None
    token: int
    pool: int

    @classmethod
    def of(cls, trace: Trace, token: int) -> OverviewView:
        pool = -(-len(trace) // MAX_ROWS)
        labels = tuple(t.label for t in trace.tokens)
        return cls(
            labels=labels,
            ids=trace.ids,
            embedding=_extremes(trace["embed.token"].numpy(), pool),
            position=_extremes(trace["embed.position"].numpy(), pool),
            blocks=tuple(_block(trace, layer, pool) for layer in range(trace.n_layers)),
            next_tokens=tuple((t.label, p) for t, p in trace.next_tokens(token, N_NEXT)),
            look=story.strongest_look(trace, token),
            token=token,
            pool=pool,
        )


def _block(trace: Trace, layer: int, pool: int) -> BlockView:
    site = f"blocks.{layer}.attn.pattern"
    patterns = [trace.head(site, head).numpy() for head in range(trace.model.config.n_heads)]
    head = int(np.argmax([heads.sharpness(pattern) for pattern in patterns]))
    norms = trace[f"blocks.{layer}.resid.out"].norm(dim=-1).numpy()
    return BlockView(
        head=head,
        kind=heads.summarise(patterns[head]).kind,
        pattern=pool_max(patterns[head], pool),
        norm=_pad_rows(norms[:, None], pool).mean(axis=1)[:, 0],
    )


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


def scene(view: OverviewView) -> tuple[dict[str, Any], np.ndarray]:
    """What the browser draws: a header, and all numbers in one float32 array.

    The array holds embedding, position, then pattern and norms of every block.
    """
    arrays = [view.embedding, view.position]
    for block in view.blocks:
        arrays += [block.pattern, block.norm]
    header = {
        "rows": len(view.embedding),
        "width": view.embedding.shape[-1],
        "labels": view.labels[:: view.pool],
        "all_labels": view.labels,
        "ids": view.ids[:: view.pool],
        "colours": [theme.token_colour(position) for position in range(0, len(view.labels), view.pool)],
        "token": view.token // view.pool,
        "picked": view.token,
        "pool": view.pool,
        "blocks": [{"head": block.head, "kind": block.kind} for block in view.blocks],
        "next": [{"label": label, "probability": probability} for label, probability in view.next_tokens],
        "palette": {role: theme.rgb(role) for role in ("pattern", "residual", "output")}
        | {"negative": theme.channels(theme.NEGATIVE), "positive": theme.channels(theme.POSITIVE)},
    }
    numbers = np.concatenate([np.asarray(array, dtype=np.float32).ravel() for array in arrays])
    return header, numbers


class PathView(NamedTuple):
    """One number on its way up: the value of one dimension of one token at each named site."""

    sites: tuple[str, ...]
    values: tuple[float, ...]
    dimension: int

    @classmethod
    def of(cls, trace: Trace, token: int, dimension: int) -> PathView:
        names = ["embed.token", "embed.position", "embed.out"]
        for layer in range(trace.n_layers):
            names += [f"blocks.{layer}.{name}" for name in ("attn.out", "resid.mid", "ffn.out", "resid.out")]
        if "final.norm.out" in trace:
            names.append("final.norm.out")
        return cls(tuple(names), tuple(trace[name][token, dimension].item() for name in names), dimension)


class NormsView(NamedTuple):
    """Length ‖x‖₂ of the residual stream after every step: [sites, T]."""

    sites: tuple[str, ...]
    values: np.ndarray

    @classmethod
    def of(cls, trace: Trace) -> NormsView:
        names = ["embed.out"]
        for layer in range(trace.n_layers):
            names += [f"blocks.{layer}.resid.mid", f"blocks.{layer}.resid.out"]
        return cls(tuple(names), np.stack([trace[name].norm(dim=-1).numpy() for name in names]))
