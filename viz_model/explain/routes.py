"""Which route carried the answer: a logit as an exact sum over ways from what is embedded, through heads and neurons.

Hold what this run chose: the attention patterns, the divisors of the norms, and the gates of the neurons (of GELU the
factor between what enters and what leaves, of a gated layer the gate). What is left of the model is linear in what is
embedded, so that a logit is the sum over all routes: from the row of a token, a position or a bias, through any heads
and feed-forward layers one after the other, to the unembedding (Elhage et al. 2021, "path expansion"). There are too
many to list. What all routes from one source carry together costs one sweep backward; the largest routes are found one
by one, those that carry most first; and what a source's listed routes leave of its whole is one more term, so that
the terms add up whatever was listed.
"""

import heapq
import itertools
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from viz_model.explain.frozen import Frozen, Node, Pullback, asked, biases
from viz_model.explain.sums import Against
from viz_model.explain.written import Part
from viz_model.measures.lens import predicts
from viz_model.runs.gradient import needs_weights
from viz_model.runs.trace import Trace

MOST_OPENED, MOST_KEPT = 400, 24
"""Places whose routes are looked into, and writers kept of each."""
SOURCES = frozenset({"token", "patch", "segment", "position"})


class Route(NamedTuple):
    """What a way from a source to the answer carries.

    Attributes:
        nodes: the source first; of ``others`` the source alone.
        value: what it adds to the answer.
        others: whether it is all that the source carries on ways which are not listed.
    """

    nodes: tuple[Node, ...]
    value: float
    others: bool = False

    @property
    def edges(self) -> tuple[tuple[Node, Node | None], ...]:
        """Who wrote and who reads, from node to node; None is the answer. A bias is read from nowhere."""
        ends = zip(self.nodes, (*self.nodes[1:], None), strict=True)
        return tuple((writer, reader) for writer, reader in ends if writer.part.kind in (*SOURCES, "head", "ffn"))


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
        parts = [" → ".join(f"{node.part.site}@{node.position}" for node in route.nodes) for route in self.listed[:3]]
        first = "; ".join(f"{name} {route.value:+.3f}" for name, route in zip(parts, self.listed, strict=False))
        return f"Routes {self.total:.4f} = {len(self.terms)} terms: {first} …"


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
    needs_weights(trace, "routes")
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


def _largest(frozen: Frozen, most: int, neurons: bool) -> list[Route]:
    """The largest routes of as many places as are looked into, those that carry most first."""
    found, count = list[Route](), itertools.count()
    heap: list[tuple[float, int, tuple[Node, ...], Tensor]] = []

    def open_(pullback: Pullback, nodes: tuple[Node, ...]) -> None:
        values, parts = frozen.writers(pullback), frozen.stream(pullback.side).parts
        largest = values.abs().flatten().topk(min(MOST_KEPT, values.numel())).indices.tolist()
        for row, place in (divmod(index, values.shape[1]) for index in largest):
            value, node = float(values[row, place]), Node(parts[row], pullback.start + place, pullback.side)
            if not value:
                continue
            if node.part.kind in ("head", "ffn"):
                gradient = frozen.gradient_at(pullback, row, place)
                heapq.heappush(heap, (-abs(value), next(count), (node, *nodes), gradient))
            else:
                found.append(Route((node, *nodes), value))

    open_(frozen.pullback_of(None), ())
    for _ in range(most):
        if not heap:
            break
        _, _, nodes, gradient = heapq.heappop(heap)
        node = nodes[0]
        assert node.position is not None
        if neurons and node.part.kind == "ffn" and node.neuron is None:
            values, rest = frozen.by_neuron(node.side, node.part, node.position, gradient)
            for neuron in values.abs().topk(min(MOST_KEPT, len(values))).indices.tolist():
                way = (node._replace(neuron=neuron), *nodes[1:])
                heapq.heappush(heap, (-abs(float(values[neuron])), next(count), way, gradient))
            found.append(Route((biases(node), *nodes), rest))
            continue
        pullback = frozen.pullback(node.side, node.part, slice(node.position, node.position + 1), gradient, node.neuron)
        if pullback.constant:
            found.append(Route((biases(node), *nodes), pullback.constant))
        open_(pullback, nodes)
    return found


def _with_others(frozen: Frozen, found: list[Route]) -> list[Route]:
    """The routes, and of each source what it carries besides: of all biases together, as one."""
    besides: dict[Node, float] = defaultdict(float)
    for node, value in frozen.totals.items():
        besides[_source(node)] += value
    for route in found:
        besides[_source(route.nodes[0])] -= route.value
    others = [Route((node,), value, True) for node, value in besides.items() if value]
    return sorted(found + others, key=lambda route: -abs(route.value))


def _source(node: Node) -> Node:
    return node if node.part.kind in SOURCES else Node(Part("bias"), None, node.side)
