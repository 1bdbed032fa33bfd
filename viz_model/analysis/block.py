"""One block taken apart: its steps as equations, its norms, and what its neurons say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from viz_model.sites import Role
from viz_model.trace import Trace


class Step(NamedTuple):
    """One line of the block's equations for one token: ``name`` = ``formula``, and its D values.

    ``equation`` is the number in Jurafsky and Martin, Speech and Language Processing, section 8.2,
    which counts the steps of Pre-LN; "" where it has none. ``on_stream`` tells the residual stream
    from what branches off it.
    """

    name: str
    formula: str
    equation: str
    site: str
    role: Role
    on_stream: bool
    values: np.ndarray


def steps(trace: Trace, layer: int, token: int) -> tuple[Step, ...]:
    """The seven vectors of a block, from its input x up to its output, in the order of computation."""
    at = f"blocks.{layer}."

    def step(name: str, formula: str, equation: str, site: str, role: Role, on_stream: bool = False) -> Step:
        return Step(name, formula, equation, at + site, role, on_stream, trace[at + site][token].numpy())

    def added(name: str, norm: str) -> Step:
        """A sum that Post-LN passes straight to a norm: no site of its own, but the norm's input."""
        values = trace.norm_input(at + norm)[token].numpy()
        return Step(name, "", "", f'norm_input("{at}{norm}")', "residual", True, values)

    if trace.model.config.norm_at == "pre":
        return (
            step("x", "", "", "resid.in", "residual", True),
            step("t¹", "LayerNorm(x)", "8.26", "attn.norm.out", "norm"),
            step("t²", "Attention(t¹, …)", "8.27", "attn.out", "pattern"),
            step("t³", "t² + x", "8.28", "resid.mid", "residual", True),
            step("t⁴", "LayerNorm(t³)", "8.29", "ffn.norm.out", "norm"),
            step("t⁵", "FFN(t⁴)", "8.30", "ffn.out", "ffn"),
            step("h", "t⁵ + t³", "8.31", "resid.out", "residual", True),
        )
    return (
        step("x", "", "", "resid.in", "residual", True),
        step("a", "Attention(x, …)", "", "attn.out", "pattern"),
        added("x + a", "attn.norm"),
        step("mid", "LayerNorm(x + a)", "", "resid.mid", "norm", True),
        step("f", "FFN(mid)", "", "ffn.out", "ffn"),
        added("mid + f", "ffn.norm"),
        step("out", "LayerNorm(mid + f)", "", "resid.out", "norm", True),
    )


class Normed(NamedTuple):
    """A LayerNorm at work on one token: arrays are [D], ``mean`` and ``scale`` its two statistics.

    ``scale`` is √(variance + ε); ``standard`` is (before − mean) / scale, and
    after = gain · standard + shift (equation 8.25, with γ the gain and β the shift).
    """

    before: np.ndarray
    standard: np.ndarray
    after: np.ndarray
    gain: np.ndarray
    shift: np.ndarray
    mean: float
    scale: float


def normed(trace: Trace, norm: str, token: int) -> Normed:
    """The norm ``norm``, like ``blocks.0.attn.norm``, on one token."""
    _, layer, sublayer, _ = norm.split(".")
    block = trace.stack.block(int(layer))
    module = block.attn_norm if sublayer == "attn" else block.ffn_norm
    before = trace.norm_input(norm)[token].numpy()
    mean, scale = (trace[f"{norm}.{which}"][token].item() for which in ("mean", "scale"))
    return Normed(
        before=before,
        standard=(before - mean) / scale,
        after=trace[f"{norm}.out"][token].numpy(),
        gain=module.weight.detach().numpy(),
        shift=module.bias.detach().numpy(),
        mean=mean,
        scale=scale,
    )


class Neuron(NamedTuple):
    """One hidden neuron on one token.

    Attributes:
        number: which of the F neurons.
        up, act: its value before and after the activation.
        key: the column of W₁ that it compares its input with, [D]; ``bias`` is its entry of b₁.
        value: the row of W₂ that it adds to the stream, ``act`` times, [D].
        promoted: the tokens whose unembedding has the largest dot product with ``value``.
    """

    number: int
    up: float
    act: float
    key: np.ndarray
    bias: float
    value: np.ndarray
    promoted: tuple[tuple[str, float], ...]


def neurons(trace: Trace, layer: int, token: int, *, most: int = 12, n_promoted: int = 8) -> tuple[Neuron, ...]:
    """The neurons that fire hardest on a token, the hardest first; fewer than ``most`` if fewer fire.

    What a neuron promotes is read on the direct path: its value vector times the unembedding,
    without the later blocks and without any norm in between.
    """
    at = f"blocks.{layer}.ffn."
    up, act = trace[at + "up"][token], trace[at + "act"][token]
    strongest = act.topk(min(most, len(act))).indices
    strongest = strongest[act[strongest] > 0]
    ffn, unembedding = trace.stack.block(layer).ffn, trace.model.unembedding.weight.detach()
    values = ffn.down.weight.detach().T[strongest]  # [N, D]
    with torch.inference_mode():
        promoted = (values @ unembedding.T).topk(min(n_promoted, len(unembedding)))
    return tuple(
        Neuron(
            number=number,
            up=up[number].item(),
            act=act[number].item(),
            key=ffn.up.weight.detach()[number].numpy(),
            bias=ffn.up.bias[number].item(),
            value=values[n].numpy(),
            promoted=tuple(
                (trace.tokenizer.token(id).label, logit)
                for id, logit in zip(promoted.indices[n].tolist(), promoted.values[n].tolist(), strict=True)
            ),
        )
        for n, number in enumerate(strongest.tolist())
    )
