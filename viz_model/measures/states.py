"""What is read of each token where no weights say it: of a state, which is a sum of what tokens wrote less what was
erased, and of a convolution."""

import numpy as np
import torch
from torch import Tensor, nn

from viz_model.drawing import heatmap
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


def of_convolution(trace: Trace, layer: int) -> Tensor:
    """What each token's input adds to what a short convolution writes, along what it writes: [1, Tq, Tk].

    What is written at a token, but for biases, is a sum over the W last tokens; of each its inner product with the
    whole is taken. It has any sign; what comes after the token, or lies further back, is 0.

    Raises:
        KeyError: the layer has no convolution.
    """
    at = f"blocks.{layer}.attn."
    entered, leave = (trace[f"{at}{name}"] for name in ("entered", "leave"))
    attn = trace.stack.block(layer).attn
    w_o, kernel = attn.o.weight.detach(), attn.get_parameter("kernel").detach()
    n, size = len(entered), kernel.shape[1]
    near = nn.functional.pad(entered, (0, 0, size - 1, 0)).unfold(0, size, 1)  # [T, D, W]
    parts = leave[..., None] * kernel * near
    total = parts.sum(-1) @ w_o.T
    along = torch.einsum("tdw,td->tw", parts, total @ w_o)
    wide = along.new_zeros(n, n + size - 1)
    wide.scatter_(1, torch.arange(n)[:, None] + torch.arange(size), along)
    return wide[None, :, size - 1 :]


def proportions(trace: Trace, layer: int) -> np.ndarray:
    """:func:`shares`, or :func:`of_convolution`, with each row divided by the sum of its magnitudes: [M, Tq, Tk].

    The norm behind divides by the length of what was read of a state, so that nothing else of the factors matters.
    """
    convolves = f"blocks.{layer}.attn.convolved" in trace
    found = (of_convolution if convolves else shares)(trace, layer).numpy()
    total = np.abs(found).sum(-1, keepdims=True)
    return found / np.where(total > 0, total, 1.0)


def pooled(cells: np.ndarray, pool: int) -> np.ndarray:
    """Cells [.., T, T] on and below the diagonal, of each pool of T×T cells the one of largest magnitude: [.., S, S].

    What comes after the query is NaN.
    """
    return heatmap.extremes(np.where(np.tri(cells.shape[-1]) > 0, cells, np.nan), heatmap.Pool(pool, pool))


def farthest(trace: Trace, layer: int, pool: int) -> tuple[int, None, np.ndarray]:
    """The head that reads least of its own token, None for what it does, and its proportions, pooled: [S, S]."""
    every = proportions(trace, layer)
    head = int(np.abs(every.diagonal(0, -2, -1)).sum(-1).argmin())
    return head, None, pooled(every[head], pool)
