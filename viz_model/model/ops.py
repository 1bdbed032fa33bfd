"""The arithmetic of attention and normalization, as pure functions of tensors.

Everything the pages show as "scores", "masked" or "pattern" comes from the functions here, and
they are the textbook steps one by one. The forward pass fuses the same steps for speed
(:mod:`viz_model.model.attention`); a trace rebuilds them here when somebody looks.

Axes (a leading batch axis is allowed everywhere): T positions (Tq queries, Tk keys), D model
width, H heads, G key–value heads, K head width.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """[..., T, H·K] -> [..., H, T, K]: head h takes the h-th run of K neighboring columns."""
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def merge_heads(x: Tensor) -> Tensor:
    """[..., H, T, K] -> [..., T, H·K]: the concatenation before W_O (Vaswani et al. 2017, 3.2.2)."""
    return x.transpose(-3, -2).flatten(-2)


def dot_products(q: Tensor, k: Tensor) -> Tensor:
    """q·kᵀ: [..., Tq, K], [..., Tk, K] -> [..., Tq, Tk]."""
    return q @ k.transpose(-2, -1)


def scores(q: Tensor, k: Tensor, scale: float) -> Tensor:
    """scale · q·kᵀ: [..., Tq, K], [..., Tk, K] -> [..., Tq, Tk].

    The scale is 1/√K (Vaswani et al. 2017, equation 1), or 1 where a model does not divide.
    """
    return dot_products(q, k) * scale


def cap(x: Tensor, at: float | None) -> Tensor:
    """cap · tanh(x / cap): any numbers -> the same, between ± cap (Gemma Team 2024b, section 2); None leaves them."""
    return x if at is None else at * (x / at).tanh()


def share_heads(x: Tensor, n_heads: int) -> Tensor:
    """[..., G, T, K] -> [..., H, T, K]: each key–value head once for every query head that reads it.

    Query head h reads head h // (H/G) (Ainslie et al. 2023, figure 2).
    """
    n_shared = x.shape[-3]
    return x if n_shared == n_heads else x.repeat_interleave(n_heads // n_shared, dim=-3)


def additive(visible: Tensor) -> Tensor:
    """A boolean mask as what is added to the scores: 0 where a query may look, −∞ elsewhere."""
    return torch.zeros(visible.shape, device=visible.device).masked_fill(~visible, -math.inf)


def hide(scores: Tensor, visible: Tensor) -> Tensor:
    """scores + mask: [..., Tq, Tk] and a boolean mask that fits them -> −∞ where a query may not look."""
    return scores.masked_fill(~visible, -math.inf)


def pattern(masked: Tensor, sink: Tensor | None = None) -> Tensor:
    """Softmax over the keys: [..., Tq, Tk] -> the same shape.

    Every row sums to 1, with what goes to the logit of a ``sink`` [..., Tq], which no key has (Agarwal et al. 2025).
    """
    if sink is None:
        return masked.softmax(dim=-1)
    beside = sink.unsqueeze(-1).expand(*masked.shape[:-1], 1)
    return torch.cat((masked, beside), dim=-1).softmax(dim=-1)[..., :-1]


def with_sink(k: Tensor, v: Tensor, bias: Tensor, sink: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A sink [..., H, Tq] as one more key of zeros, with a value of zeros: its score is what the bias adds to it.

    Keys, values [..., H, Tk, K] and bias [..., Tq, Tk] -> those that a fused kernel takes, of Tk + 1 keys.
    """
    rows = torch.broadcast_shapes(bias.shape[:-1], sink.shape)
    beside = sink.to(bias.dtype).expand(rows).unsqueeze(-1)
    bias = torch.cat((bias.expand(*rows, bias.shape[-1]), beside), dim=-1)
    return torch.nn.functional.pad(k, (0, 0, 0, 1)), torch.nn.functional.pad(v, (0, 0, 0, 1)), bias


def causal_pattern(q: Tensor, k: Tensor, scale: float, rows: int = 128, start: int = 0) -> Tensor:
    """The pattern under the causal mask alone: [..., Tq, K], [..., Tk, K] -> [..., Tq, Tk]; queries from ``start`` on.

    What :func:`scores`, :func:`hide` and :func:`pattern` make, ``rows`` queries at a time, each with the keys
    that it may see: the other half of the matrix is 0 and takes no work.
    """
    found = q.new_zeros(*q.shape[:-1], k.shape[-2])
    for some, first in zip(q.split(rows, -2), range(start, start + q.shape[-2], rows), strict=True):
        stop = first + some.shape[-2]
        # In place: a second buffer of this size would cost as much time as the product.
        products = dot_products(some, k[..., :stop, :]).mul_(scale)
        future = torch.ones(stop - first, stop - first, dtype=torch.bool, device=q.device).triu(1)
        products[..., first:].masked_fill_(future, -math.inf)
        found[..., first - start : stop - start, :stop] = pattern(products)
    return found


def mix(pattern: Tensor, v: Tensor) -> Tensor:
    """The values averaged by attention: [..., Tq, Tk], [..., Tk, K] -> [..., Tq, K]."""
    return pattern @ v


def head_out(z: Tensor, w_o: Tensor) -> Tensor:
    """What each head adds to the residual stream: z [H, Tq, K], W_O [H·K, D] -> [H, Tq, D].

    Summed over the heads, plus W_O's bias, this is the output of the attention layer.
    """
    n_heads, _, d_head = z.shape
    return z @ w_o.view(n_heads, d_head, -1)


def mean_similarity(vectors: Tensor) -> float:
    """Mean cosine of all pairs of different rows of [T, D]; NaN for a single row, which has no pair.

    1 is complete collapse: every position holds the same direction.
    """
    length = len(vectors)
    if length < 2:
        return math.nan
    wide = vectors.double()
    lengths = wide.norm(dim=-1)
    inverse = 1 / lengths.clamp(min=1e-12)
    # Σ over pairs i ≠ j of uᵢ·uⱼ is ‖Σ uᵢ‖² less the T products of a row with itself.
    pairs = (inverse @ wide).square().sum() - (inverse * lengths).square().sum()
    return (pairs / (length * (length - 1))).item()


def sinusoid(positions: Tensor, d_model: int, base: float, *, interleaved: bool = True) -> Tensor:
    """[T] positions -> [T, D] waves (Vaswani et al. 2017, section 3.5).

    Column 2i is sin(pos / base^(2i/D)) and column 2i+1 the cosine of the same angle: sines and
    cosines interleave. Otherwise the same columns stand apart, all sines before all cosines.
    """
    exponent = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angles = positions.to(torch.float64)[:, None] * base**-exponent  # [T, D/2]
    return torch.stack((angles.sin(), angles.cos()), dim=-1 if interleaved else -2).flatten(-2).float()


def rms(x: Tensor, eps: float) -> Tensor:
    """√(mean of squares + ε) of every position: [..., T, D] -> [..., T, 1] (Zhang & Sennrich 2019, equation 4)."""
    return (x.square().mean(-1, keepdim=True) + eps).sqrt()


def rotary_frequencies(n_rotated: int, base: float) -> Tensor:
    """Radians a position for each of the R/2 pairs: base^(−2i/R), float64 (Su et al. 2021, equation 15)."""
    return base ** -(torch.arange(0, n_rotated, 2, dtype=torch.float64) / n_rotated)


def rotate(x: Tensor, angles: Tensor, *, interleaved: bool, stretch: float = 1.0) -> Tensor:
    """Turn each pair of values by its angle: x [..., T, K], angles [T, R/2] -> [..., T, K].

    (a, b) becomes (a·cos − b·sin, a·sin + b·cos) (Su et al. 2021, equation 34). A pair is two
    neighbors, or value i with value i + R/2. Values beyond the first R are left as they are.
    ``stretch`` multiplies the turned pairs (Peng et al. 2023, section 3.4).
    """
    n_pairs = angles.shape[-1]
    cos, sin = (stretch * angles.cos()).to(x), (stretch * angles.sin()).to(x)
    rotated, rest = x[..., : 2 * n_pairs], x[..., 2 * n_pairs :]
    pairs = rotated.unflatten(-1, (n_pairs, 2) if interleaved else (2, n_pairs))
    a, b = pairs.unbind(-1 if interleaved else -2)  # [..., T, R/2] each
    turned = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1 if interleaved else -2).flatten(-2)
    return torch.cat((turned, rest), dim=-1) if rest.shape[-1] else turned


def distances(n_queries: int, n_keys: int) -> Tensor:
    """[Tq, Tk]: position of the key minus position of the query; the queries are the last positions."""
    return torch.arange(n_keys) - torch.arange(n_keys - n_queries, n_keys)[:, None]


def alibi_slopes(n_heads: int) -> Tensor:
    """[H] slopes (Press et al. 2022, section 3): 2^(−8/H), 2^(−16/H), … for a power of two.

    Other counts take the slopes of the power of two below, then every other one of the next.
    """
    below = 2 ** math.floor(math.log2(n_heads))
    slopes = [2 ** (-8 * (h + 1) / below) for h in range(below)]
    slopes += [2 ** (-4 * (h + 1) / below) for h in range(0, 2 * (n_heads - below), 2)]
    return torch.tensor(slopes)


def t5_buckets(distance: Tensor, *, two_way: bool, n_buckets: int, max_distance: int) -> Tensor:
    """The bucket of every distance (key − query), of any shape (Raffel et al. 2020, section 2.1).

    Half of the buckets hold one distance each; the others widen logarithmically, and the last
    holds everything from ``max_distance`` on. Two-way attention spends half of all buckets on
    keys after the query; under a causal mask those all fall into bucket 0.
    """
    later = torch.zeros_like(distance)
    if two_way:
        n_buckets //= 2
        later = (distance > 0) * n_buckets
        back = distance.abs()
    else:
        back = (-distance).clamp(min=0)
    exact = n_buckets // 2
    # In single precision, as the reference: at bucket borders the last digit decides.
    growth = (back.clamp(min=1).float() / exact).log() / math.log(max_distance / exact)
    wide = (exact + (growth * (n_buckets - exact)).long()).clamp(max=n_buckets - 1)
    return later + torch.where(back < exact, back, wide)


def is_top(x: Tensor, k: int) -> Tensor:
    """[.., E] where the k largest of each row are; of equal ones the first."""
    largest = x.argsort(dim=-1, descending=True, stable=True)[..., :k]
    return torch.zeros_like(x, dtype=torch.bool).scatter(-1, largest, True)


def rows_of(linear: nn.Linear, own: slice, x: Tensor) -> Tensor:
    """A linear layer, of its outputs those of ``own`` alone."""
    return F.linear(x, linear.weight[own], None if linear.bias is None else linear.bias[own])
