"""What a query reads of a state, token by token: the state is a sum of what tokens wrote, less what was erased."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from viz_model.config import DeltaNet
from viz_model.model import ops
from viz_model.runs.trace import Trace

LEAST = 1e-37
"""Below this α is 0 in single precision, and has no logarithm."""


def shares(trace: Trace, layer: int) -> Tensor:
    """The factor of each token's value in what each query reads of a state: [M, Tq, Tk], of a gated DeltaNet.

    ``read[m, i] = Σ_j shares[m, i, j] · value_conv[m, j]`` (Yang et al. 2024, section 3.3, the form of attention). It
    has any sign, and rows need not sum to 1. What comes after the query is 0.

    Raises:
        KeyError: the layer holds no state.
    """
    at = f"{trace.prefix}blocks.{layer}.attn."
    q, k, beta, alpha = (trace[f"{at}{name}"] for name in ("query_unit", "key_unit", "beta", "alpha"))
    q, k = (ops.share_heads(x, len(beta)) for x in (q, k))
    since = alpha.clamp(min=LEAST).log().cumsum(-1)
    between = (since[..., :, None] - since[..., None, :]).tril().exp().tril()
    erased = torch.linalg.solve_triangular(
        beta[..., None] * between * (k @ k.mT), torch.diag_embed(beta), upper=False, unitriangular=True
    )
    found: Tensor = (between * (q @ k.mT)) @ erased
    return found


def mixer(trace: Trace, layer: int) -> DeltaNet:
    """The gated DeltaNet of a layer."""
    found = trace.config.layer(trace.stack.side, layer).mixer
    assert isinstance(found, DeltaNet)
    return found


def lengths(trace: Trace, layer: int) -> dict[str, np.ndarray]:
    """What a token does to each head's state, as lengths [M, T]: ``erased`` of β·v̂, ``written`` of β·v."""
    at = f"{trace.prefix}blocks.{layer}.attn."
    beta = trace[f"{at}beta"]
    return {
        name: (beta * trace[f"{at}{value}"].norm(dim=-1)).numpy()
        for name, value in (("erased", "found"), ("written", "value_conv"))
    }
