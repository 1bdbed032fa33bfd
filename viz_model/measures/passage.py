"""A token's way through a block, step by step, and the norms on it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from torch import Tensor

from viz_model import config
from viz_model.model import norms, sites
from viz_model.model.sites import Role
from viz_model.runs.trace import Trace
from viz_model.values.expression import Add
from viz_model.values.leaves import Element, Index

SubLayer = Literal["attn", "cross", "ffn", "input"]
SUBLAYERS: tuple[SubLayer, ...] = ("attn", "cross", "ffn", "input")
"""In the order of computation; only a decoder that reads an encoder has the second, and one with second embeddings the
last.
"""

_CALLS: dict[SubLayer, str] = {
    "attn": "Attention({0}, …)",
    "cross": "CrossAttention({0}, encoder)",
    "ffn": "FFN({0})",
    "input": "Gate({0}) ⊙ e",
}
_INSTEAD = {"DeltaNet": "GatedDeltaNet({0}, …)", "ShortConv": "ShortConv({0}, …)"}
"""What stands in the place of attention, by the class of the config."""
_LETTERS: dict[SubLayer, str] = {"attn": "a", "cross": "c", "ffn": "f", "input": "e"}
_ROLES: dict[SubLayer, Role] = {"attn": "pattern", "cross": "pattern", "ffn": "ffn", "input": "ffn"}
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Step(NamedTuple):
    """One line of the block's equations: ``name`` = ``formula``, and its values, [D] of one token or [T, D] of all.

    ``equation`` is the number in Jurafsky and Martin, Speech and Language Processing, section 8.2,
    which counts the steps of a Pre-LN block with two sub-layers; "" where it has none. ``on_stream``
    tells the residual stream from what branches off it.
    """

    name: str
    formula: str
    equation: str
    site: str
    role: Role
    on_stream: bool
    values: np.ndarray


class Sum(NamedTuple):
    """One residual addition, by the names of steps: ``total`` = ``stream`` + ``written``.

    ``asks`` is what the sub-layer reads, ``reads`` what its norm does.
    """

    sublayer: SubLayer
    asks: str
    reads: str
    stream: str
    written: str
    total: str


class Passage(NamedTuple):
    """A token's way through a block: its vectors in the order of computation, and the additions among them."""

    steps: tuple[Step, ...]
    sums: tuple[Sum, ...]


def sublayers(trace: Trace, layer: int) -> tuple[SubLayer, ...]:
    """The sub-layers of a block."""
    names = frozenset(trace.sites)
    return tuple(sublayer for sublayer in SUBLAYERS if f"blocks.{layer}.{sublayer}.out" in names)


def resid_of(trace: Trace, part: SubLayer) -> str:
    """Where the stream stands once a sub-layer has written to it: ``resid.mid`` after attention."""
    return sites.resid_of(trace.config, part)


def norm_name(trace: Trace) -> str:
    """What the model's norm is called."""
    return type(trace.config.norm).__name__


def has_norms(trace: Trace) -> bool:
    """Whether the norms of a run do anything: one that was taken out hands on what it reads."""
    return measures(trace, "blocks.0.ffn.norm")


def measures(trace: Trace, norm: str) -> bool:
    """Whether a norm, like ``blocks.0.attn.norm``, does anything; ModernBERT's first hands on what it reads."""
    if f"{norm}.out" not in trace:  # a second embedding is let in by the stream as it is
        return False
    parts = trace.site(f"{norm}.out").expression.walk()
    return not all(isinstance(part, (Element, Index, Add)) for part in parts)


def sets_length(trace: Trace) -> bool:
    """Whether the norms bring every vector to the length √D, before their weights."""
    return has_norms(trace) and norms.kind(trace.config.norm) in norms.COMPARED


def put_together(trace: Trace) -> str:
    """How the blocks of a run are: the place of their norms, or "parallel"."""
    return "parallel" if trace.config.parallel else trace.norm_at


def _called(trace: Trace, norm: str, read: str) -> str:
    """What a norm makes of a vector, in words; without norms the vector itself."""
    return f"{norm_name(trace)}({read})" if measures(trace, norm) else read


def passage(trace: Trace, layer: int, token: int | None = None) -> Passage:
    """The vectors of a block from its input x up to its output, of one token or of all, [T, D].

    They are seven, ten with cross-attention, nine where a norm stands on both ends of a sub-layer. A model without the
    additions has no sums: what a sub-layer writes goes on alone.
    """
    at, parts, residual = f"blocks.{layer}.", sublayers(trace, layer), trace.config.residual
    place, textbook_norm = put_together(trace), f"{at}attn.norm.mean" in trace
    mixer = type(trace.config.layer(trace.stack.side, layer).mixer).__name__
    calls = {**_CALLS, "attn": _INSTEAD.get(mixer, _CALLS["attn"])}
    steps: list[Step] = []
    sums: list[Sum] = []

    def add(
        name: str, formula: str, site: str, role: Role, *, aside: bool = False, values: Tensor | None = None
    ) -> str:
        n = len(steps)
        has_number = place == "pre" and len(parts) == 2 and n > 0
        if (n % 3 == 1 and not textbook_norm) or (n % 3 == 0 and not residual):
            has_number = False
        found = (trace[site] if token is None else trace.row(site, token)) if values is None else values
        steps.append(Step(name, formula, f"8.{25 + n}" if has_number else "", site, role, not aside, found.numpy()))
        return name

    def next_name() -> str:
        return f"t{len(steps)}".translate(_SUPERSCRIPTS)

    stream = add("x", "", f"{at}resid.in", "residual")
    for part in parts:
        norm, out, resid = f"{at}{part}.norm", f"{at}{part}.out", f"{at}{resid_of(trace, part)}"
        if place != "post":
            asks = reads = "x" if place == "parallel" else stream
            if place != "branch" and f"{norm}.out" in trace:
                asks = add(next_name(), _called(trace, norm, reads), f"{norm}.out", "norm", aside=True)
            written = add(next_name(), calls[part].format(asks), out, _ROLES[part], aside=True)
            if place in ("branch", "both"):
                reads = written if place == "branch" else reads
                behind = at + sites.written(trace.config, trace.stack.side, part)
                called = _called(trace, behind.removesuffix(".out"), written)
                written = add(next_name(), called, behind, "norm", aside=True)
            total = "h" if part == parts[-1] and not trace.config.block_scale else next_name()
            add(total, f"{written} + {stream}" if residual else written, resid, "residual")
            sums.append(Sum(part, asks, reads, stream, written, total))
            stream = total
            continue
        written = add(_LETTERS[part], calls[part].format(stream), out, _ROLES[part], aside=True)
        total = f"{stream} + {written}" if residual else written
        if residual:
            # The sum goes straight to the norm: it has no site of its own, but is what the norm reads.
            add(total, "", f'norm_input("{norm}")', "residual", values=trace.norm_input(norm, token))
        sums.append(Sum(part, stream, total, stream, written, total))
        stream = add(resid_of(trace, part).removeprefix("resid."), _called(trace, norm, total), resid, "norm")
    if trace.config.block_scale:
        add("h", f"s · {stream}", f"{at}resid.out", "residual")
    return Passage(tuple(steps), tuple(sums))


class Normed(NamedTuple):
    """A norm at work on one token: arrays are [D].

    ``standard`` is (before − mean) / scale, and after = gain · standard + shift (equation 8.25, with
    γ the gain and β the shift). A norm that takes no mean has neither ``mean`` nor ``shift``. ``scale`` is
    √(variance + ε), or √(mean of squares + ε).

    ``instead`` is what ``other``, the norm that it is compared with, would make of the same vector with gain 1
    and shift 0. No part of the model computes it. A norm of another kind (:data:`viz_model.model.norms.COMPARED`)
    has none of ``mean``, ``scale``, ``standard``, ``instead`` and ``other``.

    ``learned`` are its weights of one number a dimension, by their letters.
    """

    name: str
    before: np.ndarray
    after: np.ndarray
    learned: Mapping[str, np.ndarray]
    mean: float | None
    scale: float | None
    standard: np.ndarray | None
    instead: np.ndarray | None
    other: str | None

    @property
    def gain(self) -> np.ndarray | None:
        return self.learned.get("γ")

    @property
    def shift(self) -> np.ndarray | None:
        return self.learned.get("β")


_LETTERS_OF = {r"\gamma": "γ", r"\beta": "β"}


def normed(trace: Trace, norm: str, token: int) -> Normed:
    """The norm ``norm``, like ``blocks.0.attn.norm``, on one token."""
    x, out = trace.norm_input(norm, token), trace.site(f"{norm}.out")
    chosen = trace.config.norm
    other = norms.COMPARED.get(norms.kind(chosen))
    measured = ("mean", "scale") if other else ()
    mean, scale = (
        trace.row(f"{norm}.{name}", token).item() if name in measured and f"{norm}.{name}" in trace else None
        for name in ("mean", "scale")
    )
    learned = {
        _LETTERS_OF.get(weight.symbol, weight.symbol): trace.model.get_parameter(weight.name).detach().numpy()
        for weight in out.weights
        if weight.axes == ("D",)
    }
    return Normed(
        name=norm_name(trace),
        before=x.numpy(),
        after=trace.row(f"{norm}.out", token).numpy(),
        learned=learned,
        mean=mean,
        scale=scale,
        standard=None if scale is None else (x.numpy() - (mean or 0.0)) / scale,
        instead=None if other is None else _plain(other.__name__, chosen, len(x))(x).detach().numpy(),
        other=None if other is None else other.__name__,
    )


def _plain(name: str, chosen: config.Norm, width: int) -> norms.Norm:
    """The norm of a kind with gain 1 and shift 0, and with another's ε."""
    found: config.Norm = getattr(config, name)(eps=chosen.eps)
    return norms.build(found, width)
