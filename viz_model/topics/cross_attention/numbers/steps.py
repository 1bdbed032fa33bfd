"""One query's steps in cross-attention, from a run."""

from __future__ import annotations

import numpy as np
import torch

from viz_model.model import masks as masks_of
from viz_model.model import ops
from viz_model.runs.trace import Trace
from viz_model.topics.cross_attention.pictures.steps import StepsView

FORMS = ("", "_normed", "_rotated")
"""What may become of a query or key before scores are made of it, in order."""


def matrix_of(trace: Trace, layer: int, head: int, name: str, part: str = "attn") -> np.ndarray:
    """A matrix of a head, under its name in :data:`viz_model.topics.attention.numbers.layer.CHAIN`.

    Queries and keys [T, K] are those that the scores are made of; "products" [Tq, Tk] are QKᵀ before any scale.
    ``part`` is "attn" or "cross".
    """
    if name == "products":
        q, k = (torch.from_numpy(matrix_of(trace, layer, head, letter, part)) for letter in "qk")
        return ops.dot_products(q, k).numpy()
    return trace.head(_site(trace, layer, name, part), head).numpy()


def _site(trace: Trace, layer: int, name: str, part: str = "attn") -> str:
    """The site that holds a matrix; products are the first step of the scores."""
    at = f"blocks.{layer}.{part}."
    if name in ("q", "k"):
        return next(f"{at}{name}{form}" for form in reversed(FORMS) if f"{at}{name}{form}" in trace)
    return f"{at}{'scores' if name == 'products' else name}"


def steps_view(trace: Trace, layer: int, head: int, query: int, part: str = "attn", n_padding: int = 0) -> StepsView:
    """One query's steps, in self-attention ("attn") or in a decoder's cross-attention ("cross").

    ``n_padding`` keys at the end are hidden, as padding in a batch would be: then no numbers of this run.
    """
    at = f"blocks.{layer}.{part}."
    row = {name: trace.head(at + name, head)[query] for name in ("scores", "mask", "masked", "pattern", "z")}
    values = trace.head(at + "v", head)
    if n_padding:
        hidden = torch.arange(len(values)) >= len(values) - n_padding
        row["mask"] = ops.additive(masks_of.padding(1, hidden))[0]
        row["masked"] = ops.cap(row["scores"], trace.config.score_cap) + row["mask"]
        row["pattern"] = ops.pattern(row["masked"])
        row["z"] = ops.mix(row["pattern"][None], values)[0]
    tokens = trace.at("encoder").tokens if part == "cross" else trace.tokens
    q, k = (matrix_of(trace, layer, head, letter, part) for letter in "qk")
    return StepsView(
        labels=tuple(token.label for token in tokens),
        query=query,
        form=_site(trace, layer, "q", part).removeprefix(f"{at}q"),
        scaled=trace.config.scale_scores,
        width=trace.config.scale_width is not None,
        capped=trace.head(f"{at}capped", head)[query].numpy() if f"{at}capped" in trace else None,
        products=k @ q[query],
        bias=trace.head(f"{at}bias", head)[query].numpy() if f"{at}bias" in trace else None,
        **{name: numbers.numpy() for name, numbers in row.items()},
        values=values.numpy(),
        at="" if n_padding else at,
        head=head,
        is_cross=part == "cross",
    )
