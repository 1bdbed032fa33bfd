"""A run with its attention patterns, divisors and gates held: linear from what is embedded to one number."""

import itertools
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import torch
from torch import Tensor, nn

from viz_model.config import Side
from viz_model.explain import sums
from viz_model.explain.sums import Against
from viz_model.explain.written import Decomposition, Part, Read, Scaled, behind, decompose, in_front
from viz_model.measures.lens import predicts
from viz_model.model import stored
from viz_model.model.activations import slopes
from viz_model.model.attention import Attention
from viz_model.model.heads import ClassHead
from viz_model.runs.trace import Trace, counted


class Node(NamedTuple):
    """A place on a route: a part of the model at a position of its stack.

    ``position`` is None for what stands at many; ``neuron`` is that of a feed-forward layer, where one is meant.
    """

    part: Part
    position: int | None
    side: Side
    neuron: int | None = None


class Answer(NamedTuple):
    """A number that a run ends in: ``direction`` · the last vector at ``position``, and ``prior``."""

    position: int
    direction: Tensor
    prior: float
    total: float


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
    position, unembedding = counted("position", position, len(trace)), trace.model.unembedding
    logits = trace.row("raw_logits" if "raw_logits" in trace else "logits", position)
    prior = 0.0 if unembedding.bias is None else float(_less(unembedding.bias.detach(), token, against))
    direction = _less(stored.table(unembedding), token, against)
    return Answer(position, direction, prior, float(_less(logits, token, against)))


def _less(values: Tensor, token: int, against: Against) -> Tensor:
    for one in (token, against):
        if isinstance(one, int) and not 0 <= one < len(values):
            raise IndexError(f"token {one}: there are {len(values)}")
    return sums.less(values, token, against)


class Pullback(NamedTuple):
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


P = ParamSpec("P")
T = TypeVar("T")


def _once(make: "Callable[Concatenate[Frozen, P], T]") -> "Callable[Concatenate[Frozen, P], T]":
    """A method whose values its run keeps; ``functools.cache`` would keep the run with them, for good."""

    def found(self: "Frozen", /, *key: P.args, **named: P.kwargs) -> T:
        asked = make, key, *named.items()
        if asked not in self.kept:
            self.kept[asked] = make(self, *key, **named)
        made: T = self.kept[asked]
        return made

    return found


class Frozen:
    """A run with its patterns, divisors and gates held: linear from what was embedded to one number.

    Attributes:
        found: what was written to each stack that the answer depends on.
        totals: what every source carries on all its routes.
        gradient: [T, D] of the answer by what a part writes, by stack and part.
    """

    def __init__(self, trace: Trace, answer: Answer) -> None:
        self.trace, self.answer = trace, answer
        self.kept: dict[Any, Any] = {}
        self.found: dict[Side, Decomposition] = {}
        self.totals: dict[Node, float] = {}
        self.gradient: dict[tuple[Side, Part], Tensor] = {}
        ends = {trace.stack.side: self._at_end(answer)}
        for side in reversed(trace.config.sides[: trace.config.sides.index(trace.stack.side) + 1]):
            self._sweep(side, ends)
        self.totals[Node(Part("prior"), None, trace.stack.side)] = answer.prior

    def at(self, side: Side) -> Trace:
        return self.trace.at(side)

    def stream(self, side: Side) -> Decomposition:
        """What was written to a stack, at all its positions."""
        if side not in self.found:
            self.found[side] = decompose(self.at(side), slice(None))
        return self.found[side]

    def _at_end(self, answer: Answer) -> Tensor:
        direction = torch.zeros(len(self.trace), len(answer.direction), dtype=torch.float64)
        direction[answer.position] = answer.direction
        return direction

    def _sweep(self, side: Side, ends: dict[Side, Tensor]) -> None:
        """From the end of a stack to its beginning, every part once."""
        found, waiting = self.stream(side), defaultdict[Read, list[Tensor]](list)
        gradient, row, stage = ends[side], len(found.parts), len(found.maps)
        while True:
            gradient = gradient + sum(waiting.pop(Read(row, stage), []), torch.zeros(()))
            if row and found.passed[row - 1] == stage:
                row -= 1
                self._take(side, found, row, gradient, waiting, ends)
            elif stage:
                stage -= 1
                gradient = found.maps[stage].back(gradient)
            else:
                return

    def _take(
        self,
        side: Side,
        found: Decomposition,
        row: int,
        gradient: Tensor,
        waiting: dict[Read, list[Tensor]],
        ends: dict[Side, Tensor],
    ) -> None:
        part = found.parts[row]
        if part.kind not in ("head", "ffn"):
            for position, value in enumerate((found.written[row] * gradient).sum(-1).tolist()):
                self.totals[Node(part, position, side)] = value
            return
        self.gradient[side, part] = gradient
        pullback = self.pullback(side, part, slice(None), gradient)
        self.totals[biases(Node(part, None, side))] = pullback.constant
        if pullback.read is None:
            ends[pullback.side] = ends.get(pullback.side, torch.zeros(())) + pullback.directions
        else:
            waiting[pullback.read].append(pullback.directions)

    def pullback(self, side: Side, part: Part, at: slice, gradient: Tensor, neuron: int | None = None) -> Pullback:
        """What directions [n, D] at what a part writes at the positions ``at`` are in what it reads."""
        trace, layer = self.at(side), part.layer
        assert layer is not None
        gradient = self._behind(side, layer, part.at or "ffn").at(at).back(gradient)
        if part.kind == "head":
            return self._through_head(side, part, at, gradient)
        neurons, front = self._neurons(side, layer), self._in_front(side, layer, "ffn")
        chosen = slice(None) if neuron is None else slice(neuron, neuron + 1)
        weights = neurons.slope[at][:, chosen] * (gradient.float() @ neurons.down[:, chosen])
        pulled_back = (weights @ neurons.up[chosen]).double()
        constant = (weights * neurons.bias[chosen]).sum()
        if neuron is None:
            constant = constant + (neurons.rest[at] * gradient).sum()
        if front.shift is not None:
            constant = constant + (pulled_back * front.shift.double()).sum()
        read, start = self.stream(side).reads[layer, "ffn"], at.indices(len(trace))[0]
        return Pullback(side, read, start, front.at(at).back(pulled_back), float(constant))

    def by_neuron(self, side: Side, part: Part, position: int, gradient: Tensor) -> tuple[Tensor, float]:
        """What each neuron of a layer adds [F], and what the layer adds without them, in the direction [1, D]."""
        assert part.layer is not None
        neurons, behind_it = self._neurons(side, part.layer), self._behind(side, part.layer, "ffn")
        gradient = behind_it.at(slice(position, position + 1)).back(gradient)
        act = neurons.slope[position] * neurons.before[position]
        values = act * (gradient[0].float() @ neurons.down)
        return values, float(neurons.rest[position] @ gradient[0])

    def pullback_of(self, reader: Node | None) -> Pullback:
        """The pullback of a part at a position, in the direction of the answer; None is the end."""
        if reader is None:
            answer = self.answer
            return Pullback(self.trace.stack.side, None, answer.position, answer.direction[None], answer.prior)
        if reader.position is None or (reader.side, reader.part) not in self.gradient:
            raise ValueError(f"reader: {reader.part.site} at {reader.position} reads no stream")
        at = slice(reader.position, reader.position + 1)
        return self.pullback(reader.side, reader.part, at, self.gradient[reader.side, reader.part][at])

    def _through_head(self, side: Side, part: Part, at: slice, gradient: Tensor) -> Pullback:
        assert part.layer is not None
        w_o, w_v, b_v = self._weights(side, part)
        mixed = self._pattern(side, part)[at].T @ (gradient @ w_o)  # [Tk, K]
        pulled_back, constant = mixed @ w_v, float((mixed @ b_v).sum())
        if part.at == "cross":
            return Pullback("encoder", None, 0, pulled_back, constant)
        front = self._in_front(side, part.layer, "attn")
        if front.shift is not None:
            constant += float((pulled_back * front.shift.double()).sum())
        return Pullback(side, self.stream(side).reads[part.layer, "attn"], 0, front.back(pulled_back), constant)

    def writers(self, pullback: Pullback) -> Tensor:
        """What each part wrote at each position of a pullback, times its direction: [P, n]."""
        found = self.stream(pullback.side)
        read = pullback.read or Read(len(found.parts), len(found.maps))
        where, seen = slice(pullback.start, pullback.start + len(pullback.directions)), [pullback.directions]
        for step in reversed(found.maps[: read.n_maps]):
            seen.append(step.at(where).back(seen[-1]))
        values = []
        for stage, rows in itertools.groupby(range(read.n_parts), key=lambda row: found.passed[row]):
            written = torch.stack([found.written[row][where] for row in rows])
            values.append((written * seen[read.n_maps - stage]).sum(-1))
        return torch.cat(values)

    def gradient_at(self, pullback: Pullback, row: int, place: int) -> Tensor:
        """[1, D] the direction of a pullback at what one part wrote."""
        found, gradient = self.stream(pullback.side), pullback.directions[place : place + 1]
        stages = pullback.read.n_maps if pullback.read else len(found.maps)
        where = slice(pullback.start + place, pullback.start + place + 1)
        for step in reversed(found.maps[found.passed[row] : stages]):
            gradient = step.at(where).back(gradient)
        return gradient

    @_once
    def _behind(self, side: Side, layer: int, at: str) -> Scaled:
        return behind(self.at(side), slice(None), layer, at)

    @_once
    def _in_front(self, side: Side, layer: int, at: str) -> Scaled:
        return in_front(self.at(side), slice(None), layer, at)

    @_once
    def _pattern(self, side: Side, part: Part) -> Tensor:
        return self.at(side).head(f"blocks.{part.layer}.{part.at}.pattern", part.head or 0).double()

    @_once
    def _weights(self, side: Side, part: Part) -> tuple[Tensor, Tensor, Tensor]:
        """W_O [D, K], W_V [K, D] and its bias [K] of a head."""
        trace, layer, head = self.at(side), part.layer, part.head
        assert layer is not None and head is not None
        block = trace.stack.block(layer)
        used: Attention = block.attn if part.at == "attn" or block.cross is None else block.cross
        width = used.d_head
        first = trace.config.kv_head(head, used.n_kv_heads) * width
        values = slice(first, first + width)
        w_o = used.o.weight.detach()[:, head * width : (head + 1) * width]
        return w_o.double(), used.v.weight.detach()[values].double(), _bias(used.v)[values].double()

    @_once
    def _neurons(self, side: Side, layer: int) -> "_Neurons":
        trace, found, front = self.at(side), self.stream(side), self._in_front(side, layer, "ffn")
        stream = found.at_read(found.reads[layer, "ffn"])
        x = (front.forward(stream) + (0 if front.shift is None else front.shift.double())).float()
        rest = trace[f"blocks.{layer}.ffn.out"].double()
        held = trace.stack.block(layer).ffn.held(x)
        if not held:
            none = torch.zeros(0, x.shape[-1])
            return _Neurons(none, none[:, 0], x[:, :0], x[:, :0], none.T, rest)
        up, bias = torch.cat([one.up.weight.detach() for one in held]), torch.cat([_bias(one.up) for one in held])
        down = torch.cat([one.down.detach() for one in held], 1)
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


def biases(node: Node) -> Node:
    """The source that stands for what a part adds of its own, whatever it reads."""
    return node._replace(part=node.part._replace(kind="projection", at=node.part.at or "ffn"))
