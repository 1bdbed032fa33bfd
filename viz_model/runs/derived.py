"""Values of a run that nobody recorded: what the head makes of the vectors that leave, and what declarations say."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from viz_model.model import sites
from viz_model.model.heads import ClassHead
from viz_model.model.sites import Site
from viz_model.values.leaves import Index
from viz_model.values.point import Point

if TYPE_CHECKING:
    from viz_model.runs.trace import Trace

TOGETHER, MOST_LOOKED = 16, 2
"""Rows of logits that are made together, in hardly more time than one; and of how many such blocks a run keeps them."""


def said(trace: "Trace", full: str, rows: slice) -> Tensor | None:
    """What the head makes of the vectors that leave the model; None for any other value."""
    head = trace.model.head
    match full:
        case "logits":
            return _logits(trace, rows)
        case "raw_logits":
            return head.uncapped(_leaving(trace)[None, rows])[0]
        case "probs":
            return (trace.values["logits"][rows] if "logits" in trace.values else _logits(trace, rows)).softmax(-1)
        case "class.act":
            assert isinstance(head, ClassHead)
            return head.act(_leaving(trace)[None])[0, rows]
        case "class.logits":
            return head(_leaving(trace)[None])[0, rows]
        case "class.probs":
            return head(_leaving(trace)[None])[0].softmax(-1)[rows]
    return None


def _logits(trace: "Trace", rows: slice) -> Tensor:
    """Whoever asks for one row asks for it again, and for others: a row takes the largest matrix of the model."""
    if rows.stop is None or rows.stop - rows.start > 1:
        return trace.model.head(_leaving(trace)[None, rows])[0]
    first = rows.start // TOGETHER * TOGETHER
    of, found = trace.looked.get(first, (None, None))
    if found is None or of is not trace.values:  # a run with other values may have been made of this one
        found = trace.model.head(_leaving(trace)[None, first : first + TOGETHER])[0]
        if len(trace.looked) >= MOST_LOOKED:
            trace.looked.clear()
        trace.looked[first] = trace.values, found
    return found[rows.start - first :][:1]


def _leaving(trace: "Trace") -> Tensor:
    """The vectors [T, D] that leave the model."""
    return trace.values[sites.leaving(trace.config, trace.config.sides[-1])]


def evaluated(trace: "Trace", site: Site, head: int | None, rows: slice) -> Tensor:
    """A derived value by its declaration."""
    where: dict[Index, Tensor] = {}
    for n, index in enumerate(reversed(site.index)):
        at = torch.arange(index.length(trace.reader.length))
        if index in site.index[site.before :][:1]:
            at = at[rows]
        elif index.axis == "H" and head is not None:
            at = at[head : head + 1]
        elif index.axis == "G" and head is not None:
            at = at[trace.config.kv_head(head, len(at)) :][:1]
        where[index] = at.view(-1, *(1,) * n)
    shape = torch.broadcast_shapes(*(at.shape for at in where.values()))
    value = site.expression.evaluate(Point(where, trace.reader, torch.float32)).value.expand(shape)
    return value.unsqueeze(-1).float() if site.axes[-1] == "1" else value.float()
