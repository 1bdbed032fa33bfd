"""What the pictures of positions in the embedding are given, from a run."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from torch import Tensor

from viz_model.drawing import heatmap
from viz_model.drawing.brief import brief
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.runs.trace import Trace
from viz_model.topics.position import numbers
from viz_model.topics.position.pictures.matrix import MAX_SIDE
from viz_model.topics.position.pictures.similarity import SimilarityView
from viz_model.topics.position.pictures.sum import SumView
from viz_model.topics.position.pictures.waves import WavesView

MAX_CELLS = 24_000
"""Cells of a matrix that go to the browser; of a longer text every n-th position is drawn."""
SHORTEST_AXIS = 16
WINDOW = 48
"""Positions along the axis at the most, unless the whole context is asked for."""
POINTS_PER_POSITION = 8
PARTS = ("embed.token", "embed.patch", "embed.segment", "embed.position")
"""The sites that are added up, where a model has them."""
SHARE_IN_RANGE = 0.99
"""Of trained numbers, the share that the colour scale tells apart."""


def waves_view(trace: Trace, token: int, pair: int, *, whole_context: bool = False) -> WavesView:
    """A pair's curves around a token, or over the whole context."""
    config = trace.config
    columns = numbers.wave_columns(config, pair)
    length = len(trace)
    start = 0 if whole_context else min(max(0, token - WINDOW + WINDOW // 4), max(0, length - WINDOW))
    end = length if whole_context else min(length, start + WINDOW)
    stop = config.n_context * 1.15 if whole_context else max(end, SHORTEST_AXIS) - 0.5
    at = np.linspace(start - 0.5, stop, int((stop - start) * POINTS_PER_POSITION))
    curves = numbers.waves(at, config.d_model, numbers.scheme(config).base)
    step, last = max(1, config.d_model // 16), config.d_model // 2 - 1
    faster, slower = (
        (other, curves[:, 2 * other]) if 0 <= other <= last else None for other in (pair - step, pair + step)
    )
    return WavesView(
        start=start,
        labels=tuple(t.label for t in trace.tokens[start:end]),
        token=token,
        pair=pair,
        columns=columns,
        wavelength=numbers.wavelength(config, pair),
        n_context=config.n_context,
        at=at,
        sine=curves[:, 2 * pair],
        cosine=curves[:, 2 * pair + 1],
        faster=faster,
        slower=slower,
        recorded=trace["embed.position"][start:end, list(columns)].numpy(),
    )


def matrix_view(
    trace: Trace, site: str, token: int, axes: tuple[str, str], limit: float | None = None
) -> heatmap.HeatmapView:
    """A T×D site of the embedding. ``axes`` names rows and columns; long texts are thinned out."""
    values = trace[site].numpy()
    shown = tuple(range(0, len(values), _every(values)))
    view = rows_view(trace, values, site, token, axes, limit)
    return view._replace(cells=Cells(site, (ROW, COLUMN), rows=shown))


def _every(values: np.ndarray) -> int:
    """Of a long text, every how manyth row is drawn."""
    return -(-values.size // MAX_CELLS)


def rows_view(
    trace: Trace, values: np.ndarray, name: str, token: int, axes: tuple[str, str], limit: float | None = None
) -> heatmap.HeatmapView:
    """A matrix with one row for each token, [T, any]."""
    every = _every(values)
    labels = tuple(t.label for t in trace.tokens)
    return heatmap.HeatmapView(
        values=values[::every],
        rows=labels[::every],
        columns=tuple(str(d) for d in range(values.shape[1])),
        site=name,
        role="position",
        row_axis=axes[0],
        column_axis=axes[1],
        selected_row=token // every,
        limit=limit,
    )


def similarity_view(trace: Trace, token: int) -> SimilarityView:
    """The text's rows, and those of the whole context, compared with each other."""
    cosine = numbers.similarity(trace["embed.position"].numpy())
    every = -(-len(cosine) // MAX_SIDE)
    mean, low, high = numbers.by_distance(numbers.similarity(numbers.table(trace)))
    paper = numbers.waves(np.arange(len(mean)), trace.config.d_model // 2 * 2, numbers.PAPER_BASE)
    return SimilarityView(
        labels=tuple(t.label for t in trace.tokens),
        token=token,
        every=every,
        cosine=cosine[::every, ::every],
        first=cosine[0],
        distance=mean,
        low=low,
        high=high,
        waves=numbers.similarity(paper)[0],
    )


def summed(trace: Trace) -> Tensor:
    """The sum of :data:`PARTS`, [T, D]: what block 0 reads, or what the norm before it reads."""
    return trace.norm_input("embed.norm") if "embed.norm.out" in trace else trace["embed.out"]


def sum_view(trace: Trace, token: int) -> SumView:
    """What is added up for one token."""
    parts = tuple(site for site in PARTS if site in trace)
    has_norm = "embed.norm.out" in trace
    total = summed(trace)
    strips = np.stack([*(trace[site][token].numpy() for site in parts), total[token].numpy()])
    return SumView(
        sites=(*parts, " + ".join(parts) if has_norm else "embed.out"),
        strips=strips,
        normed=trace["embed.out"][token].numpy() if has_norm else None,
        lengths=tuple(float(length) for length in np.linalg.norm(strips, axis=-1)),
        limit=float(np.abs(strips).max()) or 1.0,
        token=token,
    )


def sum_views(trace: Trace, token: int, axes: tuple[str, str]) -> tuple[heatmap.HeatmapView, ...]:
    """The matrices of all tokens that :class:`SumView` shows for one."""
    parts = tuple(site for site in PARTS if site in trace)
    if "embed.norm.out" not in trace:
        return tuple(matrix_view(trace, site, token, axes) for site in (*parts, "embed.out"))
    total = rows_view(trace, summed(trace).numpy(), " + ".join(parts), token, axes)
    return (*(matrix_view(trace, site, token, axes) for site in parts), total)


@brief
class LearnedView(NamedTuple):
    """Trained rows [T, D] beside the sinusoid of the same size, which this model does not add.

    ``lengths`` [T] are the L2 lengths of the trained rows; every row of the sinusoid has ``wave_length``.
    ``limit`` is where the colours end: a few trained numbers, often of position 0, dwarf all others.
    """

    trained: np.ndarray
    waves: np.ndarray
    lengths: np.ndarray
    wave_length: float
    limit: float

    def column(self, token: int) -> int:
        """Where the trained row of a token is furthest from 0."""
        return int(np.abs(self.trained[token]).argmax())


def learned_view(trace: Trace) -> LearnedView:
    """The text's rows of the table."""
    trained = trace["embed.position"].numpy()
    width = trained.shape[1] // 2 * 2
    waves = numbers.waves(np.arange(len(trained)), width, numbers.PAPER_BASE)
    limit = float(np.quantile(np.abs(trained), SHARE_IN_RANGE)) or 1.0
    return LearnedView(trained, waves, np.linalg.norm(trained, axis=-1), math.sqrt(width / 2), limit)
