"""The run in one sentence: what the model expects, and where it looked hardest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.runs.trace import Trace


class Look(NamedTuple):
    """The strongest look of one query at another place: which position, in which layer and head."""

    position: int
    layer: int
    head: int
    weight: float

    def place(self) -> dict[str, int]:
        """Layer and head, for prose."""
        return {"layer": self.layer, "head": self.head}


def strongest_look(trace: Trace, query: int, attention: str = "attn") -> Look | None:
    """The largest weight that ``query`` puts on another position, over all layers and heads.

    Of a decoder that is an earlier position. With ``attention="cross"`` it is the source position
    that a decoder's query reads most, whatever its number. None where there is nothing to look at:
    at the first position of a decoder, or in a text of one token.
    """
    looks = []
    for layer in range(trace.n_layers):
        rows = trace.row(f"blocks.{layer}.{attention}.pattern", query).clone()  # [H, Tk]
        if attention == "attn":
            rows[:, query] = 0
        head, position = divmod(int(rows.argmax()), rows.shape[-1])
        looks.append(Look(position, layer, head, rows[head, position].item()))
    best = max(looks, key=lambda look: look.weight)
    return best if best.weight > 0 else None


class Way(NamedTuple):
    """Dimension 0 of every vector, and its length, at S named sites from the embedding upwards: [S, T] each."""

    sites: tuple[str, ...]
    values: np.ndarray
    norms: np.ndarray


def way(trace: Trace) -> Way:
    """The embedding's parts, then what every sub-layer wrote and the stream after it."""
    names = ["embed.token", "embed.segment", "embed.position", "embed.out"]
    for layer in range(trace.n_layers):
        steps = ("attn.out", "resid.mid", "cross.out", "resid.cross", "ffn.out", "resid.out")
        names += [f"blocks.{layer}.{step}" for step in steps]
    known = frozenset(trace.sites)
    names = [name for name in (*names, "final.norm.out") if name in known]
    noted = [trace.noted(name) for name in names]
    values, norms = [found.first.numpy() for found in noted], [found.lengths.numpy() for found in noted]
    return Way(tuple(names), np.stack(values), np.stack(norms))


def sharpness(patterns: np.ndarray) -> np.ndarray:
    """How sharply each head looks away from its own place: [H, T, T] -> [H].

    The mean, over the queries that see anything else, of the largest weight on another position.
    0 for a single token.
    """
    others = np.where(np.eye(patterns.shape[-1], dtype=bool), 0.0, patterns)
    largest = others.max(-1)  # [H, T]
    sees = (others > 0).any((0, 2))
    return largest[:, sees].mean(-1) if sees.any() else np.zeros(len(patterns))


def evenly(n_layers: int, chosen: int, most: int) -> tuple[int, ...]:
    """Up to ``most`` layers spread over a model, its ends and ``chosen`` among them."""
    if n_layers <= most:
        return tuple(range(n_layers))
    spread = [round(i * (n_layers - 1) / (most - 1)) for i in range(most)]
    if chosen not in spread:
        nearest = min(range(1, most - 1), key=lambda i: abs(spread[i] - chosen))
        spread[nearest] = chosen
    return tuple(sorted(spread))
