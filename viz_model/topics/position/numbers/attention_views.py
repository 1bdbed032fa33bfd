"""What the pictures of positions inside attention are given, from a run."""

from __future__ import annotations

import math

import numpy as np

from viz_model.drawing import heatmap
from viz_model.runs.trace import Trace
from viz_model.topics.position import numbers
from viz_model.topics.position.numbers import Buckets
from viz_model.topics.position.numbers.views import rows_view
from viz_model.topics.position.pictures.added import MATRICES, AddedView
from viz_model.topics.position.pictures.curves import CurvesView
from viz_model.topics.position.pictures.lines import OffsetsView
from viz_model.topics.position.pictures.matrix import MAX_SIDE
from viz_model.topics.position.pictures.plane import PlaneView, ShiftView
from viz_model.topics.position.pictures.wavelengths import WavelengthView

SHORTEST_REACH = 16
FURTHEST = 2 * MAX_SIDE
"""Distances that are drawn at the most."""
WINDOW = 8
"""Tokens whose arrows are drawn at the most; their labels would cover each other."""


def curves_view(
    trace: Trace, layer: int, head: int, token: int, *, whole: bool = False, buckets: Buckets | None = None
) -> CurvesView:
    """``whole``: as far as distances differ, or further than any text; else as far as this sentence goes."""
    longest = FURTHEST if buckets is None else round(buckets.max_distance * 1.15)
    reach = min(max(longest if whole else SHORTEST_REACH, len(trace) + 2), FURTHEST)
    two_way = trace.stack.side == "encoder"
    distances = np.arange(-reach, (reach if two_way else 0) + 1)
    keys = np.nonzero(trace.stack.visible(layer, len(trace), len(trace))[token].numpy())[0]
    return CurvesView(
        distances=distances,
        values=numbers.bias_by_distance(trace, layer, distances),
        head=head,
        dots=trace.head(f"blocks.{layer}.attn.bias", head)[token].numpy()[keys],
        keys=keys - token,
        labels=tuple(f"{key}: {trace.tokens[key].label}" for key in keys),
        buckets=None if buckets is None else buckets.of(distances),
    )


def added_view(trace: Trace, layer: int, head: int, query: int) -> AddedView:
    """What position adds to a head's scores."""
    values = numbers.biased(trace, layer, head)
    return AddedView(
        labels=tuple(t.label for t in trace.tokens),
        query=query,
        every=-(-len(trace) // MAX_SIDE),
        head_values=values,
        limit=max(float(np.nanmax(np.abs(getattr(values, name)))) for name in MATRICES) or 1.0,
        layer=layer,
        head=head,
    )


def plane_view(trace: Trace, layer: int, head: int, token: int, pair: int, role: str) -> PlaneView:
    """``role`` is "query" or "key"."""
    vectors = numbers.rotation(trace, layer, head)
    before, after = (vectors.q, vectors.q_rotated) if role == "query" else (vectors.k, vectors.k_rotated)
    start = max(0, min(token - WINDOW // 2, len(trace) - WINDOW))
    window = slice(start, start + WINDOW)
    columns = numbers.rotated_columns(trace, layer, pair)
    return PlaneView(
        role=role,
        start=start,
        labels=tuple(t.label for t in trace.tokens[window]),
        token=token,
        columns=columns,
        angles=np.arange(len(trace))[window] * numbers.frequencies(trace, layer).used[pair],
        before=before[window, list(columns)].numpy(),
        after=after[window, list(columns)].numpy(),
    )


def angles_view(trace: Trace, layer: int, token: int, axes: tuple[str, str]) -> heatmap.HeatmapView:
    """The cosine of every pair's angle at every token, [T, R/2]: 1 not turned, −1 turned half way round."""
    angles = numbers.rope(trace, layer).angles(0, len(trace))
    return rows_view(trace, angles.cos().float().numpy(), "cos(t · θᵢ)", token, axes, limit=1.0)


def wavelength_view(trace: Trace, layer: int, pair: int) -> WavelengthView:
    """The wave lengths of a layer's rotation."""
    frequencies = numbers.frequencies(trace, layer)
    scaled = numbers.rotary(trace, layer).scaling is not None
    return WavelengthView(
        pair=pair,
        used=frequencies.wavelengths,
        unscaled=2 * math.pi / frequencies.unscaled if scaled else None,
        length=len(trace),
        n_context=trace.config.n_context,
    )


def shift_view(trace: Trace, layer: int, head: int, query: int, key: int, pair: int, shift: int) -> ShiftView:
    """A query and a key, and both ``shift`` positions further on."""
    recorded = trace.head(f"blocks.{layer}.attn.scores", head).numpy()
    shifted = numbers.shifted_scores(trace, layer, head, shift)
    columns = list(numbers.rotated_columns(trace, layer, pair))
    (here_q, here_k), (there_q, there_k) = (numbers.turned(trace, layer, head, at) for at in (0, shift))
    moved = ((here_q, query), (here_k, key), (there_q, query), (there_k, key))
    points = np.stack([vectors[at, columns].numpy() for vectors, at in moved])
    return ShiftView(
        query=query,
        key=key,
        shift=shift,
        recorded=float(recorded[query, key]),
        shifted=float(shifted[query, key]),
        largest=float(np.abs(shifted - recorded).max()),
        score=float(np.abs(recorded).max()),
        columns=(columns[0], columns[1]),
        frequency=float(numbers.frequencies(trace, layer).used[pair]),
        pairs=points / np.maximum(np.linalg.norm(points, axis=-1, keepdims=True), 1e-30),
    )


def offsets_view(
    trace: Trace, layer: int, head: int, query: int, key: int, shifted: float | None = None
) -> OffsetsView:
    """One query and one key at every offset that the stack can have."""
    reach = max(32, min(2 * len(trace), 128))
    first = 0 if trace.stack.side == "decoder" else -reach
    recorded = trace.head(f"blocks.{layer}.attn.scores", head)[query, key].item()
    scores = numbers.score_by_offset(trace, layer, head, query, key, reach)[reach + first :]
    return OffsetsView(np.arange(first, reach + 1), scores, query - key, recorded, shifted)


def turned_view(
    trace: Trace, layer: int, head: int, token: int, role: str, axes: tuple[str, str]
) -> tuple[heatmap.HeatmapView, heatmap.HeatmapView]:
    """A head's queries or keys [T, K], before and after position has its say, on one colour scale."""
    vectors = numbers.rotation(trace, layer, head)
    before, after = (vectors.q, vectors.q_rotated) if role == "query" else (vectors.k, vectors.k_rotated)
    limit = max(float(x.abs().max()) for x in (before, after)) or 1.0
    names = numbers.unrotated_site(trace, layer, role[0]), f"blocks.{layer}.attn.{role[0]}_rotated"
    first, second = (
        rows_view(trace, x.numpy(), name, token, axes, limit)._replace(role=role)
        for x, name in zip((before, after), names, strict=True)
    )
    return first, second
