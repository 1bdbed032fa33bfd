"""Times of one block's parts, measured on this machine."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from viz_model.config import ModelConfig
from viz_model.measures.timing import expected, timed
from viz_model.model import ops, positions
from viz_model.model.transformer import Stack
from viz_model.runs.trace import Trace

Part = Literal["projections", "ffn", "textbook", "fused", "recurrent"]
PARTS: tuple[Part, ...] = get_args(Part)

SHORTEST, LONGEST = 16, 2048
MAX_MATRIX_BYTES = 2**27
"""Of one matrix [H, n, n]; the textbook's steps hold two at a time, beside mask and bias."""
BUDGET = 4.5
"""Seconds by the wall; a longer text that would not be done by then is not begun."""

MATRICES = 4
"""[H, n, n] matrices that the textbook's steps create: q·k, scaled, masked, softmax."""


class Reading(NamedTuple):
    """The median of ``runs`` times of one part, in seconds (:func:`viz_model.measures.timing.timed`).

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
    longest = min(LONGEST, config.n_context) if positions.kind(config.position).ends else LONGEST
    found = [SHORTEST << k for k in range((longest // SHORTEST).bit_length())]
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
        still = sum(_expected(reading) for reading in found)
        if found and time.perf_counter() - begun + slowed * still > budget:
            return
        repeated = _repeated(ids, length)
        parts = _parts(stack, block, layer, gru, trace.model.embed(repeated).detach())
        found, started = [], time.perf_counter()
        for part in PARTS:
            found.append(_read(length, part, parts[part]))
            yield found[-1]
        spent = sum((reading.runs + 1) * reading.seconds for reading in found)
        slowed = max(1.0, (time.perf_counter() - started) / spent)  # by other programs, and by counting bytes


def _expected(last: Reading) -> float:
    """Seconds to read a part of twice the length: the steps over all pairs take about four times as long."""
    once = (4 if last.part in ("textbook", "fused") else 2) * last.seconds
    return once + expected(once)


def _repeated(ids: Sequence[int], length: int) -> Tensor:
    return torch.tensor([list(itertools.islice(itertools.cycle(ids), length))])


@torch.inference_mode()
def _parts(stack: Stack, block: Any, layer: int, gru: nn.GRU, x: Tensor) -> Mapping[Part, Callable[[], object]]:
    """What to time, on a text of rows [1, n, D]."""
    attn, length = block.attn, x.shape[-2]
    scheme, attn_bias = stack.position_of(layer), stack.attn_bias(layer, 0, x)
    causal = attn_bias is None  # which the fused kernel knows without a matrix
    added = ops.additive(stack.visible(layer, length, length)) if attn_bias is None else attn_bias

    source = attn.kind.keys_of
    maker = attn if source is None else stack.block(source).attn

    def heads() -> tuple[Tensor, ...]:
        q = attn.queries(x, scheme)
        return (q, *attn.keys_and_values(x, scheme)) if source is None else (q,)

    q, (k, v) = attn.queries(x, scheme), maker.keys_and_values(x, scheme)
    k, v = ops.share_heads(k, attn.n_heads), ops.share_heads(v, attn.n_heads)
    own = scheme.content_bias(q, k, 0, attn.scale)
    if own is not None:
        causal, added = False, added + own
    sink, fused = attn.beside, (k, v, added)
    if sink is not None:
        causal, fused = False, ops.with_sink(k, v, added, sink)
    return {
        "projections": lambda: (heads(), attn.o(ops.merge_heads(q))),  # z has the shape of q
        "ffn": lambda: block.ffn(x),
        "textbook": lambda: ops.mix(ops.pattern(ops.cap(ops.scores(q, k, attn.scale), attn.cap) + added, sink), v),
        "fused": lambda: F.scaled_dot_product_attention(
            q, *fused[:2], None if causal else fused[2], is_causal=causal, scale=attn.scale
        ),
        "recurrent": lambda: gru(x),
    }


@torch.inference_mode()
def _read(length: int, part: Part, run: Callable[[], object]) -> Reading:
    created = Created()
    with created:
        run()  # also the warm-up
    seconds, runs = timed(lambda: None, lambda _: run())
    return Reading(length, part, seconds, runs, created.bytes)


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
