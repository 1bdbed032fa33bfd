"""What the pictures are given, from a run and from what follows of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_model.runs.trace import Trace
from viz_model.topics.attribution.numbers import lens
from viz_model.topics.attribution.numbers.attribution import Attribution
from viz_model.topics.attribution.numbers.circuits import Reads
from viz_model.topics.attribution.pictures.firing import FiringView
from viz_model.topics.attribution.pictures.grid import GridView
from viz_model.topics.attribution.pictures.lens import LensView
from viz_model.topics.attribution.pictures.neurons import NeuronsView
from viz_model.topics.attribution.pictures.paths import PathsView
from viz_model.topics.attribution.pictures.pushes import PushesView
from viz_model.topics.attribution.pictures.reads import ReadsView
from viz_model.topics.attribution.pictures.sum import SumView

MOST_PARTS = 11
MOST_PUSHED = 6
MOST_KEYS = 16
MOST_NEURONS = 8


def sum_view(answer: Attribution, most: int = MOST_PARTS) -> SumView:
    """The largest parts one by one."""
    order = answer.order()
    chosen, others = order[:most], order[most:]
    rest = float(answer.values[others].sum())
    return SumView(tuple(chosen.tolist()), answer.values[chosen], rest, len(others), answer.total)


def grid_view(answer: Attribution) -> GridView:
    """All heads and feed-forward layers."""
    columns = [*sorted({(p.at, p.head) for p in answer.parts if p.kind == "head"}), ("ffn", None)]
    cells = {
        (part.layer, part.at if part.kind == "head" else "ffn", part.head): value
        for part, value in zip(answer.parts, answer.values, strict=True)
        if part.kind in ("head", "ffn")
    }
    layers = 1 + max(layer for layer, _, _ in cells if layer is not None)
    values = np.array([[cells[layer, at, head] for at, head in columns] for layer in range(layers)])
    return GridView(values, tuple(columns))


def pushes_view(trace: Trace, pushed: np.ndarray, token: int, most: int = MOST_PUSHED) -> PushesView:
    """``pushed`` is [V]; see :func:`viz_model.topics.attribution.numbers.attribution.pushes`."""
    order = np.argsort(-pushed, kind="stable")

    def named(ids: np.ndarray) -> tuple[tuple[str, float], ...]:
        return tuple((trace.tokenizer.token(int(id)).label, float(pushed[id])) for id in ids)

    most = min(most, len(order) // 2)
    rank = 1 + int((pushed > pushed[token]).sum())
    return PushesView(named(order[:most]), named(order[::-1][:most]), float(pushed[token]), rank)


def part_of(length: int, position: int, most: int) -> range:
    """At most ``most`` neighbouring positions of a text, ``position`` among them and late in the row."""
    stop = min(length, max(most, position + 1))
    return range(max(0, stop - most), stop)


def lens_view(trace: Trace, seen: lens.Lens, position: int) -> LensView:
    """What the lens has seen, with the row of ``position`` selected."""
    ids = seen.ids.T
    here = np.array([trace.own_ids[place] for place in seen.positions])
    return LensView(
        tokens=tuple(trace.tokens[place].label for place in seen.positions),
        positions=seen.positions,
        depths=seen.depths,
        labels=tuple(tuple(trace.tokenizer.token(int(id)).label for id in row) for row in ids),
        probs=seen.probs.T,
        own=ids == here[:, None],
        final=ids == ids[:, -1:],
        selected=int(np.flatnonzero(seen.positions == position)[0]),
        length=len(trace),
    )


def paths_view(trace: Trace, position: int, ids: Sequence[int]) -> PathsView:
    """Tokens of the vocabulary by depth."""
    paths = lens.paths(trace, position, ids)
    labels = tuple(trace.tokenizer.token(id).label for id in ids)
    return PathsView(labels, paths.probs, paths.ranks, lens.settled(paths.ranks[:, 0]))


def reads_view(labels: Sequence[str], reads: Reads, most: int = MOST_KEYS) -> ReadsView:
    """``labels`` are those of all Tk keys; shown are the largest by weight or share."""
    strongest = np.argsort(-np.maximum(reads.weights, reads.shares), kind="stable")[:most]
    keys = np.sort(strongest)
    return ReadsView(
        labels=tuple(labels[key] for key in keys),
        keys=keys,
        weights=reads.weights[keys],
        shares=reads.shares[keys],
        values=reads.values[keys],
        n_keys=len(reads.weights),
    )


def neurons_view(added: np.ndarray, most: int = MOST_NEURONS) -> NeuronsView:
    """``added`` is [L, F]; see :func:`viz_model.topics.attribution.numbers.attribution.neurons`."""
    order = np.argsort(-np.abs(added), axis=None, kind="stable")  # what is no number comes last
    order = order[: min(most, int(np.isfinite(added).sum()))]
    layers, numbers = np.unravel_index(order, added.shape)
    return NeuronsView(layers, numbers, added[layers, numbers])


def firing_view(trace: Trace, layer: int, number: int, position: int, most: int = MOST_KEYS) -> FiringView:
    """The position that is asked about is always among those shown."""
    values = trace[f"blocks.{layer}.ffn.act"][:, number].numpy()
    order = [position, *(int(n) for n in np.argsort(-np.abs(values), kind="stable") if n != position)]
    chosen = np.sort(order[:most])
    labels = tuple(trace.tokens[n].label for n in chosen)
    return FiringView(labels, chosen, values[chosen], int(np.flatnonzero(chosen == position)[0]), len(values))
