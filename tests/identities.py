"""What holds between the values of any run, whatever the variant."""

import torch

from viz_model.model import sites
from viz_model.runs.derivation import SMALLEST
from viz_model.runs.trace import Trace
from viz_model.values.leaves import Index
from viz_model.values.point import Point


def views(trace: Trace) -> list[Trace]:
    """The run, seen from each of its stacks."""
    return [trace.at(side) for side in trace.config.sides]


def stream_length(trace: Trace, site: str) -> torch.Tensor:
    """‖r‖ of each position [T] before a norm that stands on the stream: a sum of Post-LN is added up again."""
    if site == "embed.out" or trace.norm_at != "post" or trace.config.parallel or not trace.config.residual:
        return trace[site].norm(dim=-1)
    at, _, place = site.rpartition(".")
    places = ["in", *(one for one in ("mid", "cross", "out") if f"{at}.{one}" in trace)]
    before = f"{at}.{places[places.index(place) - 1]}"
    part = {"mid": "attn", "cross": "cross", "out": "ffn"}[place]
    return (trace[before] + trace[f"{at.removesuffix('.resid')}.{part}.out"]).norm(dim=-1)


def check_cells(trace: Trace) -> None:
    """Every cell of every value is what its expression makes of those before it, unless it was given: edits, masks."""
    for name, site in sites.in_order(trace.config):
        value, where = trace.whole[name], dict[Index, torch.Tensor]()
        assert tuple(value.shape) == site.length(trace.reader.length), name
        is_drawn = name.endswith("attn.mask") and (sites.split_side(name)[0] or trace.config.sides[-1]) in trace.visible
        if name in trace.changes or is_drawn:
            continue
        for n, index in enumerate(reversed(site.index)):
            size = index.length(trace.reader.length)
            where[index] = torch.arange(size).view(-1, *(1,) * n)
        made, size_of = site.expression.evaluate(Point(where, trace.reader))
        made = made.unsqueeze(-1) if site.axes[-1] == "1" else made
        size_of = size_of.unsqueeze(-1) if site.axes[-1] == "1" else size_of
        same = (made == value) | ((made - value).abs() <= (1e-4 * size_of).clamp(min=SMALLEST))
        assert same.all(), f"{name}: {made[~same.expand_as(value)][:3] if made.shape == value.shape else made}"
