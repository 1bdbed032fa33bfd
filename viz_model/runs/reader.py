"""A run as declarations read it: cells of its values, entries of its weights, rows and never whole tables."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from viz_model.config import Side
from viz_model.model import sites, stored
from viz_model.runs.recompute import Recomputed
from viz_model.values.point import Point, Where

if TYPE_CHECKING:
    from viz_model.runs.trace import Trace


class RunReader:
    """The :class:`viz_model.values.point.Reader` of a trace. Names are full names."""

    def __init__(self, trace: "Trace") -> None:
        self._trace = trace

    def length(self, stack: str) -> int:
        config = self._trace.config
        is_target = len(config.sides) > 1 and stack != "encoder."
        return len(self._trace.target_ids or ()) if is_target else len(self._trace.ids)

    def given(self, name: str, index: tuple[Where, ...]) -> Tensor:
        trace = self._trace
        if name == "picture":
            assert trace.picture is not None
            return trace.picture[index]
        if name == "segments":
            return torch.tensor(trace.segments or [0] * len(trace.ids))[index]
        side: Side = "decoder" if name == "decoder.ids" else trace.config.sides[0]
        return trace.values[sites.ids(trace.config, side)][index]

    def entries(self, weight: str, index: tuple[Where, ...]) -> Tensor:
        return stored.entries(self._trace.model, weight, index)

    def cells(self, site: str, index: tuple[Where, ...]) -> Tensor:
        trace, declared = self._trace, sites.find(site, self._trace.config)
        axis, full = declared.before, trace.whole
        if len(declared.index) <= axis:  # of each head one number, wherever it looks
            return full[site][index]
        position = index[axis]
        if not isinstance(position, int) and position.numel() == 1:
            position = int(position)
        # A case that does not hold may point outside: what is read there is thrown away.
        if isinstance(position, int):
            position = min(max(position, 0), declared.index[axis].length(self.length) - 1)
            index = (*index[:axis], position, *index[axis + 1 :])
            head = index[0] if axis and isinstance(index[0], int) and declared.axes[0] == "H" else None
            if site in trace.values and not isinstance(trace.values, Recomputed):
                return trace.values[site][index]
            row = full.row(site, position, head)
            own = (*index[:axis], *index[axis + 1 :]) if head is None else index[2:]
            return row[own]
        value = trace.values[site] if site in trace.values else full[site]
        inside = (i if isinstance(i, int) else i.clamp(0, n - 1) for i, n in zip(index, value.shape, strict=True))
        return value[tuple(inside)]

    def rounding(self, site: str, index: tuple[Where, ...]) -> Tensor:
        declared = sites.find(site, self._trace.config)
        where = dict(zip(declared.index, index, strict=False))
        return declared.expression.evaluate(Point(where, self)).size
