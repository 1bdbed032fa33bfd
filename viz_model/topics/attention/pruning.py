"""Heads taken out of a layer for good: a smaller layer with the same output as one whose heads are switched off."""

import copy
from collections.abc import Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from viz_model.claims import Claim, Verdict
from viz_model.measures.heads import ROUNDING
from viz_model.model import ops
from viz_model.runs.edits import AblateHead
from viz_model.runs.trace import Trace


class Pruned(NamedTuple):
    """A layer without some of its heads, run on what the layer reads.

    Attributes:
        shapes: by the letter of its matrix, "q", "k", "v" and "o": the shape that is stored before, and after.
        n_before, n_after: numbers in the four matrices and their biases.
        out: [T, D] what the smaller layer writes.
        difference: the largest, to what the run wrote with these heads switched off.
        size: the largest magnitude of that.
    """

    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
    n_before: int
    n_after: int
    out: Tensor
    difference: float
    size: float


def can_be_compared(trace: Trace, layer: int) -> bool:
    """Whether heads that are off are all that an edit changes in a layer's self-attention."""
    at = trace.full_name(f"blocks.{layer}.attn.")
    changed = [edit for name, edits in trace.changes.items() if name.startswith(at) for edit in edits]
    makes_keys = trace.config.source_of(trace.stack.side, layer) is None
    return makes_keys and all(isinstance(edit, AblateHead) and edit.to == "zero" for edit in changed)


@torch.inference_mode()
def pruned(trace: Trace, layer: int, off: Collection[int]) -> Pruned:
    """The layer without the heads in ``off``, which are switched off in this run.

    Removed are their rows of W_Q, their columns of W_O, and of W_K and W_V the rows of key–value heads that no
    other query head reads (Michel et al. 2019; in BERT's code ``prune_heads``).
    """
    config = trace.config.of_layer(trace.stack.side, layer)
    at, attention = f"blocks.{layer}.attn.", trace.stack.block(layer).attn
    kept = [head for head in range(config.n_heads) if head not in off]
    read = [config.kv_head(head) for head in kept]
    groups = sorted({*read})
    small = copy.deepcopy(attention)
    small.q = _rows(attention.q, kept, config.d_head)
    small.k, small.v = (_rows(of, groups, config.d_head) for of in (attention.k, attention.v))
    small.o.weight = nn.Parameter(attention.o.weight.unflatten(1, (config.n_heads, -1))[:, kept].flatten(1))
    recorded = trace[f"{at}out"]
    concatenated = recorded.new_zeros(len(recorded), 0)
    if kept:
        x = trace.whole[trace.site(f"{at}q").reads[0].site]
        scheme, shared = trace.stack.position_of(layer), [groups.index(group) for group in read]
        q, k, v = small.queries(x, scheme), small.keys(x, scheme)[shared], small.values(x)[shared]
        scores = ops.cap(ops.scores(q, k, attention.scale), attention.cap)
        if f"{at}bias" in trace:
            scores = scores + trace[f"{at}bias"][kept]
        sink = trace[f"{at}sink"][kept] if f"{at}sink" in trace else None
        pattern = ops.pattern(ops.hide(scores, trace.mask(layer)), sink)
        concatenated = ops.merge_heads(ops.mix(pattern, v))
    out = small.o(concatenated)
    matrices = {letter: (getattr(attention, letter), getattr(small, letter)) for letter in "qkvo"}
    before, after = (sum(p.numel() for pair in matrices.values() for p in pair[n].parameters()) for n in (0, 1))
    return Pruned(
        shapes={name: (tuple(a.weight.shape), tuple(b.weight.shape)) for name, (a, b) in matrices.items()},
        n_before=before,
        n_after=after,
        out=out,
        difference=(out - recorded).abs().max().item(),
        size=recorded.abs().max().item(),
    )


def _rows(projection: nn.Linear, heads: Sequence[int], width: int) -> nn.Linear:
    """A projection to some of its heads."""
    small = copy.deepcopy(projection)
    small.weight = nn.Parameter(projection.weight.unflatten(0, (-1, width))[list(heads)].flatten(0, 1))
    if projection.bias is not None:
        small.bias = nn.Parameter(projection.bias.unflatten(0, (-1, width))[list(heads)].flatten())
    small.out_features = len(small.weight)
    return small


PRUNED: Verdict[Pruned] = Verdict(
    "attention.pruned", Claim("equal", lambda small: small.difference <= ROUNDING * small.size)
)
