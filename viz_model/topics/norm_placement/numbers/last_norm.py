"""What of a stack's last norm is length, and what is direction: its parts one by one, on the vectors of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.runs.trace import Trace
from viz_model.topics.norm_placement.numbers.readings import norm_names, norm_of

VARIANTS = ("none", "scale", "gain", "both")
"""Without the norm; divided by σ alone; all that the norm does (centred, times γ, plus β) but divide; as it is."""
_ROWS = 16  # rows of logits at a time, of every variant


class LastNorm(NamedTuple):
    """The last norm of a stack under each of :data:`VARIANTS`.

    Attributes:
        name: of the norm: ``final.norm`` under Pre-LN, the last of the last block under Post-LN.
        lengths: [4, T] of the vectors.
        top, p: [4, T] ids of the first choices, and their probabilities; None where no logits are made of them.
        level: √D, the length that division by σ gives.
        gain: the root mean square of γ.
        keeps_order: whether dividing a vector keeps the order of its logits: of a head that is one matrix, without
            a bias, it divides them all alike.
    """

    name: str
    lengths: np.ndarray
    top: np.ndarray | None
    p: np.ndarray | None
    level: float
    gain: float
    keeps_order: bool

    def changed(self, variant: str) -> int:
        """At how many positions the first choice is another than without the norm."""
        assert self.top is not None
        return int((self.top[VARIANTS.index(variant)] != self.top[0]).sum())


@torch.inference_mode()
def beside_division(trace: Trace) -> tuple[str, ...]:
    """What a stack's norms do but divide: "gain", "shift" where β is added, "centring" where the mean is taken off.

    Raises:
        KeyError: the model's norm measures no length.
    """
    name = norm_names(trace)[-1]
    held = norm_of(trace, name).held(trace.norm_input(name))
    return "gain", *(["shift"] if held.shift is not None else []), *(["centring"] if held.centred else [])


def ends_in_logits(trace: Trace) -> bool:
    """Whether the stack's last vectors are what the model's head reads."""
    return trace.config.has_logits and trace.stack.side == trace.config.sides[-1]


@torch.inference_mode()
def last_norm(trace: Trace) -> LastNorm:
    """Of the stack that the trace is seen from.

    Raises:
        KeyError: the model's norm measures no length.
    """
    name = norm_names(trace)[-1]
    each = variants(trace, name)
    found = [_choices(trace, vectors) for vectors in each] if ends_in_logits(trace) else []
    gain = trace.model.get_parameter(f"{trace.stack.side}.{_module(name)}.weight")
    return LastNorm(
        name=name,
        lengths=torch.stack([vectors.norm(dim=-1) for vectors in each]).numpy(),
        top=np.stack([top for top, _ in found]) if found else None,
        p=np.stack([p for _, p in found]) if found else None,
        level=trace.config.d_model**0.5,
        gain=gain.square().mean().sqrt().item(),
        keeps_order=trace.model.head.is_direct and trace.model.unembedding.bias is None,
    )


def variants(trace: Trace, name: str) -> list[Tensor]:
    """What a norm reads, [T, D], and what each of :data:`VARIANTS` makes of it."""
    x, scale, held = trace.norm_input(name), trace[f"{name}.scale"], norm_of(trace, name).held(trace.norm_input(name))
    centred = x - x.mean(-1, keepdim=True) if held.centred else x
    gained = held.factor * scale * centred
    return [x, x / scale, gained if held.shift is None else gained + held.shift, trace[f"{name}.out"]]


def _choices(trace: Trace, vectors: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The first choice of the model's head for each vector, and its probability: two of [T]."""
    best = [trace.model.head(rows[None])[0].softmax(-1).max(-1) for rows in vectors.split(_ROWS)]
    return tuple(torch.cat(part).numpy() for part in ([b.indices for b in best], [b.values for b in best]))  # type: ignore[return-value]


def _module(name: str) -> str:
    return name.replace(".norm", "_norm")
