"""The run in one sentence: what the model expects, and where it looked hardest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.model import sites
from viz_model.runs.trace import Trace


class Look(NamedTuple):
    """The strongest look of one query at another place: which position, in which layer and head."""

    position: int
    layer: int
    head: int
    weight: float


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


class Ascent(NamedTuple):
    """One dimension of every vector, and its length, on the way up: [S, T] each, at S sites by their full names."""

    sites: tuple[str, ...]
    values: np.ndarray
    norms: np.ndarray

    @property
    def stream(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Length ‖x‖₂ of the residual stream alone after every step: its sites, and [sites, T]."""
        rows = [n for n, name in enumerate(self.sites) if name.endswith("embed.out") or ".resid." in name]
        return tuple(self.sites[n] for n in rows), self.norms[rows]


def ascent(trace: Trace, dimension: int = 0) -> Ascent:
    """The embedding's parts, then what every sub-layer wrote and the stream after it.

    Of dimension 0, a long run has noted all of it; of another, its blocks are computed again.
    """
    names = ["embed.token", "embed.segment", "embed.position", "embed.out"]
    for layer in range(trace.n_layers):
        attn, cross, ffn = (sites.written(trace.config, trace.stack.side, part) for part in ("attn", "cross", "ffn"))
        steps = (attn, "resid.mid", cross, "resid.cross", ffn, "resid.out")
        names += [f"blocks.{layer}.{step}" for step in steps]
    names = [name for name in (*names, "final.norm.out") if name in trace]
    noted = [trace.noted(name) for name in names]
    values = [trace[name][:, dimension].numpy() for name in names] if dimension else [n.first.numpy() for n in noted]
    lengths = [one.lengths.numpy() for one in noted]
    return Ascent(tuple(map(trace.full_name, names)), np.stack(values), np.stack(lengths))
