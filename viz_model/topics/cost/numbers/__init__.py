"""What a Transformer costs: multiplications counted from its sizes, and times measured on this machine.

A multiplication here is one product with its addition, as in a matrix product; what norms, softmax
and activations do besides is not counted. Scores are counted for all n·n pairs, as the textbook's
matrices hold them, whatever a mask then hides.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from viz_model import config as variants
from viz_model.config import ModelConfig, Side
from viz_model.model import masks, ops
from viz_model.model.transformer import Stack
from viz_model.runs.trace import Trace
from viz_model.topics.attention.numbers import heads
from viz_model.topics.attention.numbers import masks as seen

# Counted


class Multiplications(NamedTuple):
    """Of all blocks of a stack, and of what stands above it, for one run over a text."""

    projections: int
    scores: int
    mixing: int
    cross: int
    ffn: int
    head: int

    @property
    def pairs(self) -> int:
        """What grows with the square of the length: scores and mixing."""
        return self.scores + self.mixing

    @property
    def total(self) -> int:
        return sum(self)


def of_projections(config: ModelConfig) -> int:
    """W_Q, W_K, W_V and W_O for one token of one block: 2·D·H·K + 2·D·G·K, which is 4·D² where G·K = H·K = D."""
    return 2 * config.d_model * config.d_head * (config.n_heads + config.n_kv_heads)


def of_ffn(config: ModelConfig) -> int:
    """The feed-forward layer for one token: 2·D·F (8·D² at F = 4·D), or 3·D·F with a gate."""
    return (3 if isinstance(config.ffn, variants.Gated) else 2) * config.d_model * config.d_ffn


def of_pair(config: ModelConfig) -> int:
    """A query and a key of one block: H·K for the score, H·K for mixing the value in."""
    return 2 * config.n_heads * config.d_head


def of_head(config: ModelConfig) -> int:
    """The vocabulary's dot products at one position, and what a masked head does before them."""
    if not config.has_logits:
        return 0
    before = config.d_model**2 if isinstance(config.head, variants.MaskedHead) else 0
    return config.n_vocab * config.d_model + before


def count(config: ModelConfig, side: Side, length: int, n_source: int = 0) -> Multiplications:
    """Multiplications of one run of a stack over ``length`` tokens (Vaswani et al. 2017, table 1, without the O).

    Args:
        n_source: how many vectors the decoder of an encoder–decoder attends to.
    """
    depth, pair = config.depth(side), of_pair(config)
    crosses = config.kind == "encoder_decoder" and side == "decoder"
    scores = depth * length * length * (pair // 2)
    once, each = _of_cross(config, n_source) if crosses else (0, 0)
    return Multiplications(
        projections=depth * length * of_projections(config),
        scores=scores,
        mixing=scores,
        cross=depth * (once + length * each),
        ffn=depth * length * of_ffn(config),
        head=length * of_head(config) if side == config.sides[-1] else 0,
    )


def _of_cross(config: ModelConfig, n_source: int) -> tuple[int, int]:
    """Cross-attention of a block: keys and values of the source, once; and what each target token costs."""
    once = 2 * config.d_model * config.d_head * config.n_kv_heads * n_source
    return once, 2 * config.d_model * config.d_head * config.n_heads + of_pair(config) * n_source


def visible_pairs(length: int, window: int, *, two_way: bool) -> int:
    """How many (query, key) pairs a mask leaves: n², n·(n+1)/2, or about n·window."""
    seen = min(window or length, length)
    one_way = length * seen - seen * (seen - 1) // 2
    return 2 * one_way - length if two_way else one_way


def visible(config: ModelConfig, side: Side, length: int) -> int:
    """Multiplications of scores and mixing, had every hidden pair been left out."""
    windows = (config.window(side, layer) for layer in range(config.depth(side)))
    return of_pair(config) * sum(visible_pairs(length, window, two_way=side == "encoder") for window in windows)


class Crossings(NamedTuple):
    """Lengths from which on scores and mixing cost more: than the feed-forward layer, than the rest of the block."""

    ffn: float
    block: float


def crossings(config: ModelConfig) -> Crossings:
    """Where 2·n²·H·K passes what is linear in n: at n = 4·D for F = 4·D and no gate, and at n = 6·D."""
    pair = of_pair(config)
    return Crossings(of_ffn(config) / pair, (of_ffn(config) + of_projections(config)) / pair)


class Generated(NamedTuple):
    """Multiplications of saying n tokens one by one, with a KV cache and without."""

    cached: int
    uncached: int


def generating(config: ModelConfig, length: int, n_source: int = 0) -> Generated:
    """Σ over t = 1 … n of one step at a text of t tokens; logits are only computed at its last position.

    With the cache a step reads one token, without it all t. The run of an encoder, the same for
    both, is in neither.

    Raises:
        ValueError: an encoder generates nothing.
    """
    if config.kind == "encoder":
        raise ValueError("an encoder sees the whole text at once: it generates nothing")
    once, each = _of_cross(config, n_source) if config.kind == "encoder_decoder" else (0, 0)
    token = config.n_layers * (of_projections(config) + of_ffn(config) + each)
    pair, source, head = config.n_layers * of_pair(config), config.n_layers * once, of_head(config)
    first = length * (length + 1) // 2  # Σ t
    second = length * (length + 1) * (2 * length + 1) // 6  # Σ t²
    return Generated(
        cached=length * (token + head) + pair * first + source,
        uncached=token * first + pair * second + length * (head + source),
    )


class Arrangement(NamedTuple):
    """A source and a target in one stack or in two.

    Multiplications linear in the lengths and those of pairs; pairs that a layer's masks leave; weights of the blocks.
    """

    linear: int
    pairs: int
    seen: int
    weights: int

    @property
    def total(self) -> int:
        return self.linear + self.pairs


def arrangements(config: ModelConfig, n_source: int, n_target: int) -> dict[str, Arrangement]:
    """Source and target as one text of a decoder, or in an encoder and a decoder, of equal width.

    Every token passes ``n_layers`` blocks either way, so that the encoder–decoder has twice as
    many blocks (Raffel et al. 2020, section 3.2.2). Embedding and head are left out, being the same.
    """
    n, m, depth = n_source, n_target, config.n_layers
    token, pair = of_projections(config) + of_ffn(config), of_pair(config)
    once, each = _of_cross(config, n)
    a_block = of_projections(config) + of_ffn(config)  # one multiplication a weight and token
    across = 2 * config.d_model * config.d_head * config.n_heads * m + once
    assert m * each + once == across + pair * n * m
    return {
        "decoder": Arrangement(
            linear=depth * (n + m) * token,
            pairs=depth * pair * (n + m) ** 2,
            seen=visible_pairs(n + m, 0, two_way=False),
            weights=depth * a_block,
        ),
        "encoder_decoder": Arrangement(
            linear=depth * ((n + m) * token + across),
            pairs=depth * pair * (n * n + m * m + n * m),
            seen=n * n + visible_pairs(m, 0, two_way=False) + n * m,
            weights=depth * (2 * a_block + of_projections(config)),
        ),
    }


def recurrent(config: ModelConfig, length: int) -> int:
    """A GRU of the model's width over a text: three gates, each D×D twice (Cho et al. 2014)."""
    return length * 6 * config.d_model**2


def hops(length: int, window: int) -> int | None:
    """Attention layers that news from one end of a text takes to the other: 1, or several with a window.

    None with a window of 1, which sees nothing but itself. A recurrent network takes n − 1 steps
    (Vaswani et al. 2017, table 1, "maximum path length").
    """
    if not window or length <= window:
        return min(1, length - 1)
    return None if window == 1 else -(-(length - 1) // (window - 1))


# Without positions


class Shuffled(NamedTuple):
    """How far a stack's last vectors are from being those of the same tokens in another order, merely reordered.

    Each is the largest difference of any value, in units of the values' root mean square: 0 but
    for rounding where the stack takes no notice of the order. ``bare`` has no positions, ``own``
    the model's; ``_masked`` with the causal mask, else every token sees every token.
    """

    order: tuple[int, ...]
    bare: float
    own: float
    bare_masked: float
    own_masked: float


SHUFFLED = 12
SAME = 1e-3
"""Below this share of the values' size a difference is rounding: single precision, through all blocks."""


def work_of_shuffling(trace: Trace) -> int:
    """Multiplications by weights that :func:`shuffled` takes: four runs of two orders."""
    length, config = min(SHUFFLED, len(trace)), trace.config
    return 8 * length * trace.n_layers * (of_projections(config) + of_ffn(config))


@torch.inference_mode()
def shuffled(trace: Trace) -> Shuffled | None:
    """The first tokens of a run read again in another order, by the same weights with and without positions.

    Every other token comes first, so that distances change and not only directions. None for a
    single token, which has no other order.
    """
    stack, ids = trace.stack, trace.own_ids[:SHUFFLED]
    length = len(ids)
    if length < 2:
        return None
    order = [*range(1, length, 2), *range(0, length, 2)]
    rows = trace.model.embed(torch.tensor([ids, [ids[i] for i in order]]))  # [2, T, D]
    source = None
    if len(trace.config.sides) > 1 and stack.side == "decoder":
        source = trace.model.encode(torch.tensor([trace.ids, trace.ids]))

    def change(stack: Stack, mask: Tensor) -> float:
        first, second = stack(rows, visible=mask, source=source)
        return float((second - first[order]).abs().max() / first.square().mean().sqrt())

    plain, both, past = without_positions(stack, trace.config), masks.everything(length, length), masks.causal
    return Shuffled(
        order=tuple(order),
        bare=change(plain, both),
        own=change(stack, both),
        bare_masked=change(plain, past(length, length)),
        own_masked=change(stack, past(length, length)),
    )


def without_positions(stack: Stack, config: ModelConfig) -> Stack:
    """The same weights, not copied, in a stack that tells no positions apart."""
    with torch.device("meta"):
        bare = Stack(replace(config, position=variants.NoPosition()), stack.side)
    weights = {name: value for name, value in stack.state_dict().items() if not name.startswith("position.")}
    bare.load_state_dict(weights, assign=True)
    return bare.eval()


# Measured

Part = Literal["projections", "ffn", "textbook", "fused", "recurrent"]
PARTS: tuple[Part, ...] = get_args(Part)

SHORTEST, LONGEST = 16, 2048
MAX_MATRIX_BYTES = 2**27
"""Of one matrix [H, n, n]; the textbook's steps hold two at a time, beside mask and bias."""
BUDGET = 4.5
"""Seconds by the wall; a longer text that would not be done by then is not begun."""
_ENOUGH, _LEAST_RUNS, _MOST_RUNS = 0.08, 3, 5

MATRICES = 4
"""[H, n, n] matrices that the textbook's steps create: q·k, scaled, masked, softmax."""


class Reading(NamedTuple):
    """The median of ``runs`` times of one part, in seconds (:func:`clock`).

    ``created`` are the bytes of all tensors that PyTorch's operations returned in one run of the
    part, counted as they came; the scratch space inside a fused kernel is not among them.
    """

    length: int
    part: Part
    seconds: float
    runs: int
    created: int


def matrix_bytes(config: ModelConfig, length: int) -> int:
    """One matrix [H, n, n] in single precision."""
    return 4 * config.n_heads * length * length


def lengths(config: ModelConfig) -> tuple[int, ...]:
    """Powers of two that are measured at the most."""
    found = [SHORTEST << k for k in range((LONGEST // SHORTEST).bit_length())]
    return tuple(n for n in found if matrix_bytes(config, n) <= MAX_MATRIX_BYTES or n == SHORTEST)


def measure(trace: Trace, layer: int, budget: float = BUDGET) -> Iterator[Reading]:
    """Time one block's parts on this machine, a reading a step, for longer and longer texts.

    The text is the trace's, repeated until it is long enough. Each part is run once to warm up and
    then 3 to 5 times. Mask and bias, made once a run for all layers, are not in the times.

    - ``projections``: W_Q, W_K, W_V, W_O, with the norms and rotations of queries and keys;
    - ``textbook``: scores, mask, softmax and mixing as :mod:`viz_model.model.ops` has them, matrices and all;
    - ``fused``: the same by ``torch.nn.functional.scaled_dot_product_attention``, as the model runs it;
    - ``ffn``: the feed-forward layer;
    - ``recurrent``: ``torch.nn.GRU`` of the same width (Cho et al. 2014), with weights as PyTorch draws them.
    """
    stack, config, ids = trace.stack, trace.config, trace.own_ids
    block = stack.block(layer)
    gru = nn.GRU(config.d_model, config.d_model, batch_first=True).eval()
    begun, slowed = time.perf_counter(), 1.0
    found: list[Reading] = []
    for length in lengths(config):
        expected = sum(_expected(reading) for reading in found)
        if found and time.perf_counter() - begun + slowed * expected > budget:
            return
        parts = _parts(stack, block, layer, gru, trace.model.embed(_repeated(ids, length)).detach())
        found, started = [], time.perf_counter()
        for part in PARTS:
            found.append(_read(length, part, parts[part]))
            yield found[-1]
        spent = sum((reading.runs + 1) * reading.seconds for reading in found)
        slowed = max(1.0, (time.perf_counter() - started) / spent)  # by other programs, and by counting bytes


def _expected(last: Reading) -> float:
    """Seconds to read a part of twice the length: the steps over all pairs take about four times as long."""
    once = (4 if last.part in ("textbook", "fused") else 2) * last.seconds
    return once + min(_MOST_RUNS * once, max(_ENOUGH + once, _LEAST_RUNS * once))


def _repeated(ids: Sequence[int], length: int) -> Tensor:
    return torch.tensor([list(itertools.islice(itertools.cycle(ids), length))])


@torch.inference_mode()
def _parts(stack: Stack, block: Any, layer: int, gru: nn.GRU, x: Tensor) -> Mapping[Part, Callable[[], object]]:
    """What to time, on a text of rows [1, n, D]."""
    attn, length = block.attn, x.shape[-2]
    scheme, attn_bias = stack.position_of(layer), stack.attn_bias(layer, 0, x)
    causal = attn_bias is None  # which the fused kernel knows without a matrix
    added = ops.additive(stack.visible(layer, length, length)) if attn_bias is None else attn_bias

    def heads() -> tuple[Tensor, Tensor, Tensor]:
        return attn.queries(x, scheme), attn.keys(x, scheme), attn.values(x)

    q, k, v = heads()
    k, v = ops.share_heads(k, attn.n_heads), ops.share_heads(v, attn.n_heads)
    return {
        "projections": lambda: (heads(), attn.o(ops.merge_heads(q))),  # z has the shape of q
        "ffn": lambda: block.ffn(x),
        "textbook": lambda: ops.mix(ops.pattern(ops.scores(q, k, attn.scale) + added), v),
        "fused": lambda: F.scaled_dot_product_attention(
            q, k, v, None if causal else added, is_causal=causal, scale=attn.scale
        ),
        "recurrent": lambda: gru(x),
    }


def clock() -> Callable[[], float]:
    """Processor time of this thread, in seconds, where it can be had finely and PyTorch uses no other thread.

    Other programs on a busy machine make the time by the wall longer, and hardly this one.
    """
    fine = time.get_clock_info("thread_time").resolution <= 1e-5
    return time.thread_time if fine and torch.get_num_threads() == 1 else time.perf_counter


@torch.inference_mode()
def _read(length: int, part: Part, run: Callable[[], object]) -> Reading:
    created = Created()
    with created:
        run()  # also the warm-up
    times: list[float] = []
    now = clock()
    while len(times) < _LEAST_RUNS or (len(times) < _MOST_RUNS and sum(times) < _ENOUGH):
        start = now()
        run()
        times.append(now() - start)
    return Reading(length, part, statistics.median(times), len(times), created.bytes)


class Created(TorchDispatchMode):
    """Adds up the bytes of the tensors that operations return; a view of what was given is not new."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = {storage.data_ptr() for storage in _storages((args, kwargs or {}))}
        out = func(*args, **(kwargs or {}))
        found = {storage.data_ptr(): storage.nbytes() for storage in _storages(out)}
        self.bytes += sum(size for place, size in found.items() if place not in given)
        return out


def _storages(value: Any) -> list[torch.UntypedStorage]:
    """The storages of all tensors in nested tuples, lists and dicts."""
    leaves = torch.utils._pytree.tree_leaves(value)
    return [leaf.untyped_storage() for leaf in leaves if isinstance(leaf, Tensor)]


# What the heads of a run do


def kinds(trace: Trace) -> tuple[tuple[heads.HeadSummary, ...], ...]:
    """Every head of every layer, summed up on this run: [L][H]."""
    marks = heads.marks(trace)
    found = []
    for layer in range(trace.n_layers):
        visible, site = seen.of_run(trace, layer).numpy(), f"blocks.{layer}.attn.pattern"
        # One T×T matrix at a time: all of a long text are a lot of memory.
        patterns = (trace.head(site, head).numpy() for head in range(trace.config.n_heads))
        found.append(tuple(heads.summarise(pattern, visible, marks) for pattern in patterns))
    return tuple(found)


# Fitted


class Fit(NamedTuple):
    """seconds ≈ a·n² + b·n + c."""

    a: float
    b: float
    c: float

    def at(self, lengths: np.ndarray) -> np.ndarray:
        return self.a * lengths**2 + self.b * lengths + self.c


def fit(lengths: np.ndarray, seconds: np.ndarray) -> Fit | None:
    """Least squares of the relative errors Σ((fit − t)/t)², with a, b and c of at least 0.

    Relative, or the longest text alone would decide. A time is no less than nothing, so neither
    are its parts: of all choices of terms whose best coefficients are positive the best one is
    taken. None for fewer than three readings.
    """
    if len(lengths) < 3:
        return None
    n = lengths.astype(np.float64)
    terms = np.stack([n**2, n, np.ones_like(n)], axis=1) / seconds[:, None]  # [S, 3]
    best, found = math.inf, None
    for size in (1, 2, 3):
        for chosen in itertools.combinations(range(3), size):
            # Columns of very different sizes: scaled, or the small ones would be taken for zero.
            columns = terms[:, chosen]
            scale = np.linalg.norm(columns, axis=0)
            weights = np.linalg.lstsq(columns / scale, np.ones(len(n)), rcond=None)[0] / scale
            error = float(((columns @ weights - 1) ** 2).sum())
            if (weights >= 0).all() and error < best - 1e-12:
                whole = np.zeros(3)
                whole[list(chosen)] = weights
                best, found = error, Fit(*whole.tolist())
    return found


def exponent(lengths: np.ndarray, seconds: np.ndarray, last: int = 4) -> float | None:
    """p of t ∝ n^p over the longest texts: the slope of log t against log n. None for fewer than two readings."""
    if len(lengths) < 2:
        return None
    return float(np.polyfit(np.log(lengths[-last:]), np.log(seconds[-last:]), 1)[0])


def crossing(lengths: np.ndarray, first: np.ndarray, second: np.ndarray) -> float | None:
    """The length from which on ``first`` stays above ``second``, on straight lines between the logarithms.

    None where it is not above at the end; the shortest length where it always is.
    """
    gap = np.log(first) - np.log(second)
    if not len(gap) or gap[-1] <= 0:
        return None
    below = np.flatnonzero(gap <= 0)
    if not len(below):
        return float(lengths[0])
    i = int(below[-1])
    share = gap[i] / (gap[i] - gap[i + 1])
    return float(np.exp(np.log(lengths[i]) + share * (np.log(lengths[i + 1]) - np.log(lengths[i]))))
