"""Which route carried the answer: a logit as an exact sum over ways from what is embedded, through heads and neurons.

Hold what this run chose: the attention patterns, the divisors of the norms, and the gates of the neurons (of GELU the
factor between what enters and what leaves, of a gated layer the gate). What is left of the model is linear in what is
embedded, so that a logit is the sum over all routes: from the row of a token, a position or a bias, through any heads
and feed-forward layers one after the other, to the unembedding (Elhage et al. 2021, "path expansion"). There are too
many to list. What all routes from one source carry together costs one sweep backward; the largest routes are found one
by one, those that carry most first; and what a source's listed routes leave of its whole is one more term, so that
the terms add up whatever was listed.
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from viz_model.config import Side
from viz_model.explain import sums
from viz_model.explain.sums import Against, Decomposition, Part, Read, Scaled
from viz_model.measures.lens import predicts
from viz_model.model.attention import Attention
from viz_model.model.feedforward import slopes
from viz_model.model.heads import ClassHead
from viz_model.runs.trace import Trace

MOST_OPENED, MOST_KEPT = 400, 24
"""Places whose routes are looked into, and writers kept of each."""
SOURCES = frozenset({"token", "patch", "segment", "position"})


class Stop(NamedTuple):
    """A place on a route: a part of the model at a position of its stack.

    ``position`` is None for what stands at many; ``neuron`` is that of a feed-forward layer, where one is meant.
    """

    part: Part
    position: int | None
    side: Side
    neuron: int | None = None


class Route(NamedTuple):
    """What a way from a source to the answer carries.

    Attributes:
        stops: the source first; of ``others`` the source alone.
        value: what it adds to the answer.
        others: whether it is all that the source carries on ways which are not listed.
    """

    stops: tuple[Stop, ...]
    value: float
    others: bool = False


@dataclass(frozen=True, eq=False)
class Routes:
    """An answer as a sum over routes.

    Attributes:
        terms: the largest first; they sum to ``total``, but for rounding.
        total: the logit as the run has it, before any cap, less what it is compared with.
        position, token, against: what was asked.
        frozen: the linear network that was summed over.
    """

    terms: tuple[Route, ...]
    total: float
    position: int
    token: int
    against: Against
    frozen: Frozen

    @property
    def listed(self) -> tuple[Route, ...]:
        """The terms that are one route each."""
        return tuple(route for route in self.terms if not route.others)

    def __repr__(self) -> str:
        parts = [" → ".join(f"{stop.part.site}@{stop.position}" for stop in route.stops) for route in self.listed[:3]]
        first = "; ".join(f"{name} {route.value:+.3f}" for name, route in zip(parts, self.listed, strict=False))
        return f"Routes {self.total:.4f} = {len(self.terms)} terms: {first} …"


class Answer(NamedTuple):
    """A number that a run ends in: ``direction`` · the last vector at ``position``, and ``prior``."""

    position: int
    direction: Tensor
    prior: float
    total: float


def routes(
    trace: Trace,
    position: int = -1,
    token: int | None = None,
    against: Against = None,
    *,
    neurons: bool = False,
    most: int = MOST_OPENED,
) -> Routes:
    """Which routes carried the logit of a token, or of a class, in this run.

    Args:
        position: where the token is predicted, counted from 0, or from the end; of classes it is always 0.
        token: an id of the vocabulary, or the number of a class; the most probable one where none is given.
        against: another, or ``"average"``: the difference of the two is asked.
        neurons: whether routes pass through single neurons; else through feed-forward layers as wholes.
        most: how many places are looked into.

    Raises:
        IndexError: no such position or token. ValueError: this model has no logits.
    """
    with torch.inference_mode():
        if trace.side is None:
            trace = trace.at(trace.config.sides[-1])
        token = _most_probable(trace, position) if token is None else token
        answer = asked(trace, position, token, against)
        frozen = Frozen(trace, answer)
        found = _largest(frozen, most, neurons)
        return Routes(tuple(_with_others(frozen, found)), answer.total, answer.position, token, against, frozen)


def _most_probable(trace: Trace, position: int) -> int:
    if trace.config.classes:
        return int(trace["class.logits"].argmax())
    return int(trace.row("logits", position).argmax()) if predicts(trace) else 0


def asked(trace: Trace, position: int, token: int, against: Against = None) -> Answer:
    """What is asked of a run; the arguments are those of :func:`routes`."""
    head = trace.model.head
    if isinstance(head, ClassHead):
        weight, bias = (value.detach().double() for value in (head.classes.weight, head.classes.bias))
        direction: Tensor = _less(weight, token, against)
        prior = float(_less(bias, token, against))
        if head.dense is not None:
            before = head.dense(trace[trace.leaving][0]).detach().double()
            opened = direction * slopes(head.activate, before)
            dense = head.dense.weight.detach().double(), head.dense.bias.detach().double()
            direction, prior = opened @ dense[0], prior + float(opened @ dense[1])
        return Answer(0, direction, prior, float(_less(trace["class.logits"].double(), token, against)))
    if not predicts(trace):
        raise ValueError("no logits are made of these vectors")
    if not -len(trace) <= position < len(trace):
        raise IndexError(f"position {position}: the trace has {len(trace)}")
    position, unembedding = position % len(trace), trace.model.unembedding
    logits = trace.row("raw_logits" if "raw_logits" in trace else "logits", position)
    prior = 0.0 if unembedding.bias is None else float(_less(unembedding.bias.detach(), token, against))
    direction = _less(unembedding.weight.detach(), token, against)
    return Answer(position, direction, prior, float(_less(logits, token, against)))


def _less(values: Tensor, token: int, against: Against) -> Tensor:
    for one in (token, against):
        if isinstance(one, int) and not 0 <= one < len(values):
            raise IndexError(f"token {one}: there are {len(values)}")
    return sums.less(values, token, against)


class _Pull(NamedTuple):
    """A direction at what a part writes, seen from before the part.

    Attributes:
        side, read: of which stack, and where it was read; None is the end of the stack.
        start: the position of the first of ``directions``.
        directions: [n, D], to be multiplied with the stream at n positions.
        constant: what the part adds that is in no stream: its biases, times the direction.
    """

    side: Side
    read: Read | None
    start: int
    directions: Tensor
    constant: float


class Frozen:
    """A run with its patterns, divisors and gates held: linear from what was embedded to one number.

    Attributes:
        found: what was written to each stack that the answer depends on.
        totals: what every source carries on all its routes.
        above: [T, D] what one more of what a part writes adds to the answer, by stack and part.
    """

    def __init__(self, trace: Trace, answer: Answer) -> None:
        self.trace, self.answer = trace, answer
        self.found: dict[Side, Decomposition] = {}
        self.totals: dict[Stop, float] = {}
        self.above: dict[tuple[Side, Part], Tensor] = {}
        ends = {trace.stack.side: self._at_end(answer)}
        for side in reversed(trace.config.sides[: trace.config.sides.index(trace.stack.side) + 1]):
            self._sweep(side, ends)
        self.totals[Stop(Part("prior"), None, trace.stack.side)] = answer.prior

    def at(self, side: Side) -> Trace:
        return self.trace.at(side)

    def stream(self, side: Side) -> Decomposition:
        """What was written to a stack, at all its positions."""
        if side not in self.found:
            self.found[side] = sums.decompose(self.at(side), slice(None))
        return self.found[side]

    def _at_end(self, answer: Answer) -> Tensor:
        direction = torch.zeros(len(self.trace), self.trace.config.d_model, dtype=torch.float64)
        direction[answer.position] = answer.direction
        return direction

    def _sweep(self, side: Side, ends: dict[Side, Tensor]) -> None:
        """From the end of a stack to its beginning, every part once."""
        found, waiting = self.stream(side), defaultdict[Read, list[Tensor]](list)
        above, row, stage = ends[side], len(found.parts), len(found.maps)
        while True:
            above = above + sum(waiting.pop(Read(row, stage), []), torch.zeros(()))
            if row and found.passed[row - 1] == stage:
                row -= 1
                self._take(side, found, row, above, waiting, ends)
            elif stage:
                stage -= 1
                above = found.maps[stage].back(above)
            else:
                return

    def _take(
        self,
        side: Side,
        found: Decomposition,
        row: int,
        above: Tensor,
        waiting: dict[Read, list[Tensor]],
        ends: dict[Side, Tensor],
    ) -> None:
        part = found.parts[row]
        if part.kind not in ("head", "ffn"):
            for position, value in enumerate((found.written[row] * above).sum(-1).tolist()):
                self.totals[Stop(part, position, side)] = value
            return
        self.above[side, part] = above
        pull = self.pull(side, part, slice(None), above)
        self.totals[_biases(Stop(part, None, side))] = pull.constant
        if pull.read is None:
            ends[pull.side] = ends.get(pull.side, torch.zeros(())) + pull.directions
        else:
            waiting[pull.read].append(pull.directions)

    def pull(self, side: Side, part: Part, at: slice, above: Tensor, neuron: int | None = None) -> _Pull:
        """What directions [n, D] at what a part writes at the positions ``at`` are in what it reads."""
        trace, layer = self.at(side), part.layer
        assert layer is not None
        above = self._behind(side, layer, part.at or "ffn").at(at).back(above)
        if part.kind == "head":
            return self._through_head(side, part, at, above)
        neurons, front = self._neurons(side, layer), self._in_front(side, layer, "ffn")
        chosen = slice(None) if neuron is None else slice(neuron, neuron + 1)
        weights = neurons.slope[at][:, chosen] * (above.float() @ neurons.down[:, chosen])
        pulled = (weights @ neurons.up[chosen]).double()
        constant = (weights * neurons.bias[chosen]).sum()
        if neuron is None:
            constant = constant + (neurons.rest[at] * above).sum()
        if front.shift is not None:
            constant = constant + (pulled * front.shift.double()).sum()
        read, start = self.stream(side).reads[layer, "ffn"], at.indices(len(trace))[0]
        return _Pull(side, read, start, front.at(at).back(pulled), float(constant))

    def by_neuron(self, side: Side, part: Part, position: int, above: Tensor) -> tuple[Tensor, float]:
        """What each neuron of a layer adds [F], and what the layer adds without them, in the direction [1, D]."""
        assert part.layer is not None
        neurons, above = (
            self._neurons(side, part.layer),
            self._behind(side, part.layer, "ffn").at(slice(position, position + 1)).back(above),
        )
        act = neurons.slope[position] * neurons.before[position]
        values = act * (above[0].float() @ neurons.down)
        return values, float(neurons.rest[position] @ above[0])

    def _through_head(self, side: Side, part: Part, at: slice, above: Tensor) -> _Pull:
        assert part.layer is not None
        w_o, w_v, b_v = self._weights(side, part)
        mixed = self._pattern(side, part)[at].T @ (above @ w_o)  # [Tk, K]
        pulled, constant = mixed @ w_v, float((mixed @ b_v).sum())
        if part.at == "cross":
            return _Pull("encoder", None, 0, pulled, constant)
        front = self._in_front(side, part.layer, "attn")
        if front.shift is not None:
            constant += float((pulled * front.shift.double()).sum())
        return _Pull(side, self.stream(side).reads[part.layer, "attn"], 0, front.back(pulled), constant)

    def writers(self, pull: _Pull) -> Tensor:
        """What each part wrote at each position of a pull, times its direction: [P, n]."""
        found = self.stream(pull.side)
        read = pull.read or Read(len(found.parts), len(found.maps))
        where, seen = slice(pull.start, pull.start + len(pull.directions)), [pull.directions]
        for step in reversed(found.maps[: read.n_maps]):
            seen.append(step.at(where).back(seen[-1]))
        values = []
        for stage, rows in itertools.groupby(range(read.n_parts), key=lambda row: found.passed[row]):
            first, *others = rows
            written = found.written[first : first + 1 + len(others), where]
            values.append((written * seen[read.n_maps - stage]).sum(-1))
        return torch.cat(values)

    def above_writer(self, pull: _Pull, row: int, place: int) -> Tensor:
        """[1, D] the direction of a pull at what one part wrote."""
        found = self.stream(pull.side)
        stages, above = pull.read.n_maps if pull.read else len(found.maps), pull.directions[place : place + 1]
        where = slice(pull.start + place, pull.start + place + 1)
        for step in reversed(found.maps[found.passed[row] : stages]):
            above = step.at(where).back(above)
        return above

    @functools.cache  # noqa: B019 — one run's, and gone with it
    def _behind(self, side: Side, layer: int, at: str) -> Scaled:
        return sums.behind(self.at(side), slice(None), layer, at)

    @functools.cache  # noqa: B019
    def _in_front(self, side: Side, layer: int, at: str) -> Scaled:
        return sums.in_front(self.at(side), slice(None), layer, at)

    @functools.cache  # noqa: B019
    def _pattern(self, side: Side, part: Part) -> Tensor:
        return self.at(side).head(f"blocks.{part.layer}.{part.at}.pattern", part.head or 0).double()

    @functools.cache  # noqa: B019
    def _weights(self, side: Side, part: Part) -> tuple[Tensor, Tensor, Tensor]:
        """W_O [D, K], W_V [K, D] and its bias [K] of a head."""
        trace, layer, head = self.at(side), part.layer, part.head
        assert layer is not None and head is not None
        block, width = trace.stack.block(layer), trace.config.d_head
        used: Attention = block.attn if part.at == "attn" or block.cross is None else block.cross
        first = trace.config.kv_head(head) * width
        values = slice(first, first + width)
        w_o = used.o.weight.detach()[:, head * width : (head + 1) * width]
        return w_o.double(), used.v.weight.detach()[values].double(), _bias(used.v)[values].double()

    @functools.cache  # noqa: B019
    def _neurons(self, side: Side, layer: int) -> _Neurons:
        trace, found, front = self.at(side), self.stream(side), self._in_front(side, layer, "ffn")
        n_parts, n_maps = found.reads[layer, "ffn"]
        stream = sum((found.carry(found.written[n], found.passed[n], n_maps) for n in range(n_parts)), torch.zeros(()))
        x = (front.forward(stream) + (0 if front.shift is None else front.shift.double())).float()
        rest = trace[f"blocks.{layer}.ffn.out"].double()
        held = trace.stack.block(layer).ffn.held(x)
        if not held:
            none = torch.zeros(0, x.shape[-1])
            return _Neurons(none, none[:, 0], x[:, :0], x[:, :0], none.T, rest)
        up, bias, down = (
            torch.cat([part for part in parts], axis)
            for axis, parts in (
                (0, [one.up.weight.detach() for one in held]),
                (0, [_bias(one.up) for one in held]),
                (1, [one.down.detach() for one in held]),
            )
        )
        slope = torch.cat([one.slope for one in held], -1).detach()
        before = torch.cat([one.up(x) for one in held], -1).detach()
        return _Neurons(up, bias, slope, before, down, rest - (slope * before).double() @ down.double().T)


class _Neurons(NamedTuple):
    """The hidden neurons of a layer with their gates held.

    Attributes:
        up, bias: [F, D] and [F], what they read with.
        slope: [T, F], their gates.
        before: [T, F], what they read.
        down: [D, F], what they write with.
        rest: [T, D], what the layer writes without them.
    """

    up: Tensor
    bias: Tensor
    slope: Tensor
    before: Tensor
    down: Tensor
    rest: Tensor


def _bias(linear: nn.Linear) -> Tensor:
    return torch.zeros(linear.out_features) if linear.bias is None else linear.bias.detach()


def _biases(stop: Stop) -> Stop:
    """The source that stands for what a part adds of its own, whatever it reads."""
    return stop._replace(part=stop.part._replace(kind="projection", at=stop.part.at or "ffn"))


def _largest(frozen: Frozen, most: int, neurons: bool) -> list[Route]:
    """The largest routes of as many places as are looked into, those that carry most first."""
    side, answer = frozen.trace.stack.side, frozen.answer
    found, count = list[Route](), itertools.count()
    heap: list[tuple[float, int, tuple[Stop, ...], Tensor]] = []

    def open_(pull: _Pull, stops: tuple[Stop, ...]) -> None:
        values, parts = frozen.writers(pull), frozen.stream(pull.side).parts
        largest = values.abs().flatten().topk(min(MOST_KEPT, values.numel())).indices.tolist()
        for row, place in (divmod(index, values.shape[1]) for index in largest):
            value, stop = float(values[row, place]), Stop(parts[row], pull.start + place, pull.side)
            if stop.part.kind in ("head", "ffn"):
                above = frozen.above_writer(pull, row, place)
                heapq.heappush(heap, (-abs(value), next(count), (stop, *stops), above))
            else:
                found.append(Route((stop, *stops), value))

    open_(_Pull(side, None, answer.position, answer.direction[None], answer.prior), ())
    for _ in range(most):
        if not heap:
            break
        _, _, stops, above = heapq.heappop(heap)
        stop = stops[0]
        assert stop.position is not None
        if neurons and stop.part.kind == "ffn" and stop.neuron is None:
            values, rest = frozen.by_neuron(stop.side, stop.part, stop.position, above)
            for neuron in values.abs().topk(min(MOST_KEPT, len(values))).indices.tolist():
                way = (stop._replace(neuron=neuron), *stops[1:])
                heapq.heappush(heap, (-abs(float(values[neuron])), next(count), way, above))
            found.append(Route((_biases(stop), *stops), rest))
            continue
        pull = frozen.pull(stop.side, stop.part, slice(stop.position, stop.position + 1), above, stop.neuron)
        if pull.constant:
            found.append(Route((_biases(stop), *stops), pull.constant))
        open_(pull, stops)
    return found


def _with_others(frozen: Frozen, found: list[Route]) -> list[Route]:
    """The routes, and of each source what it carries besides: of all biases together, as one."""
    besides: dict[Stop, float] = defaultdict(float)
    for stop, value in frozen.totals.items():
        besides[_source(stop)] += value
    for route in found:
        besides[_source(route.stops[0])] -= route.value
    others = [Route((stop,), value, True) for stop, value in besides.items() if value]
    return sorted(found + others, key=lambda route: -abs(route.value))


def _source(stop: Stop) -> Stop:
    return stop if stop.part.kind in SOURCES else Stop(Part("bias"), None, stop.side)
