"""What the attention of a layer has, such as this model is: its matrices, its formulas, its words."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.config import ModelConfig
from viz_model.measures import heads, masks
from viz_model.model import masks as masks_of
from viz_model.runs.trace import Trace

MATRICES = ("scores", "capped", "bias", "mask", "masked", "pattern")
"""The T×T values of a head, in the order in which they are made."""

CHAIN = ("q", "k", "v", "products", *MATRICES, "z")
"""A head as matrices: Q, K, V [T, K], QKᵀ and what becomes of it [T, T], what it mixes [T, K]."""

FORMULAS = ("q", "k", "v", "q_normed", "k_normed", "q_rotated", "k_rotated", *MATRICES[:4], "pattern", "z", "out")
"""Sites of attention whose formulas are shown, where the model has them."""


def matrices(trace: Trace, layer: int, names: tuple[str, ...] = MATRICES) -> tuple[str, ...]:
    """Those of :data:`MATRICES`, or of :data:`CHAIN`, that this model has."""
    return tuple(name for name in names if name == "products" or f"blocks.{layer}.attn.{name}" in trace)


class Sight(NamedTuple):
    """Whom the queries of a layer see in a run.

    Attributes:
        n: tokens.
        hidden: cells of the T×T mask that hide a key.
        is_causal: whether they are just those above the diagonal.
        size: that of the window that the mask is, 0 where it is another.
        is_two_way: whether some query sees what comes after it.
        least: that the weights of a row sum to, and the ``most``; None, and 1, where no logit beside the keys' takes a
            part.
    """

    n: int
    hidden: int
    is_causal: bool
    size: int
    is_two_way: bool
    least: float | None
    most: float


def sight(trace: Trace, layer: int) -> Sight:
    """Read off the mask that the run had, which may be another than the model's own."""
    visible, side, n = masks.of_run(trace, layer), trace.stack.side, len(trace)
    size, at = trace.config.window(side, layer), f"blocks.{layer}.attn."
    sums = trace[f"{at}pattern"].sum(-1) if f"{at}sink" in trace else None
    is_window = bool(size) and visible.equal(masks_of.window(n, n, size, two_way=side == "encoder"))
    return Sight(
        n=n,
        hidden=int((~visible).sum()),
        is_causal=visible.equal(masks_of.causal(n, n)),
        size=size if is_window else 0,
        is_two_way=bool(visible.triu(1).any()),
        least=None if sums is None else sums.min().item(),
        most=1.0 if sums is None else sums.max().item(),
    )


def heads_text(config: ModelConfig) -> str:
    """Which prose on the heads' widths is true: they make up the model's width, or have one of their own."""
    return "heads" if config.n_heads * config.d_head == config.d_model else "heads_free"


def sizes(config: ModelConfig) -> dict[str, str]:
    """For prose: the sizes of the heads."""
    return {
        "n_heads": str(config.n_heads),
        "d_head": str(config.d_head),
        "d_heads": str(config.n_heads * config.d_head),
        "d_model": str(config.d_model),
    }


def span(group: range) -> str:
    """The heads of a group: ``3–5``."""
    return f"{group[0]}–{group[-1]}"


def shared_facts(config: ModelConfig, head: int) -> dict[str, str]:
    """For prose: with whom a query head shares its keys and values; empty where it does not."""
    group, sharing = heads.shared_with(config, head)
    if len(sharing) == 1:
        return {}
    return {
        "group": str(group),
        "heads": span(sharing),
        "n_heads": str(config.n_heads),
        "n_kv_heads": str(config.n_kv_heads),
        "times": str(len(sharing)),
    }


def formulas(trace: Trace, layer: int) -> tuple[str, ...]:
    """The full names of those of :data:`FORMULAS` that this model has."""
    names = (f"blocks.{layer}.attn.{name}" for name in FORMULAS)
    return tuple(name for name in names if name in trace)


def code(trace: Trace, layer: int) -> tuple[str, ...]:
    """The sites of attention in the order in which their code is offered: the pattern, then all as they are made."""
    at = f"blocks.{layer}.attn."
    return (f"{at}pattern", *(name for name in trace.sites if name.startswith(at) and name != f"{at}pattern"))
