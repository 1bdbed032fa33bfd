"""What the attention of a layer has, such as this model is: its matrices, its formulas, its words."""

from __future__ import annotations

from viz_model.config import ModelConfig
from viz_model.runs.trace import Trace
from viz_model.topics.attention.numbers import heads
from viz_model.topics.attention.pictures.steps import StepsView

MATRICES = ("scores", "bias", "mask", "masked", "pattern")
"""The T×T values of a head, in the order in which they are made."""

FORMULAS = ("q", "k", "v", "q_normed", "k_normed", "q_rotated", "k_rotated", *MATRICES[:3], "pattern", "z", "out")
"""Sites of attention whose formulas are shown, where the model has them."""


def matrices(trace: Trace, layer: int) -> tuple[str, ...]:
    """Those of :data:`MATRICES` that this model has."""
    return tuple(name for name in MATRICES if f"blocks.{layer}.attn.{name}" in trace)


def sight(trace: Trace, layer: int) -> str:
    """Whom the queries of a layer see in this model: "causal", "two_way", or either within a "window"."""
    side = trace.stack.side
    if trace.config.window(side, layer):
        return "window_two_way" if side == "encoder" else "window"
    return "two_way" if side == "encoder" else "causal"


def hand_parts(view: StepsView, config: ModelConfig) -> tuple[str, ...]:
    """The steps of the arithmetic by hand, such as this model takes them, by the key of their prose."""
    return (
        f"product{view.form}",
        "scale" if view.scaled else "no_scale",
        *(() if view.bias is None else ("bias",)),
        "mask",
        "softmax",
        "mix",
        "heads" if config.attention_bias else "heads_no_bias",
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
