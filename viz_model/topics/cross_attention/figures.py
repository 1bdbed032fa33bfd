"""What a target reads of its source, labelled."""

from __future__ import annotations

import numpy as np

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.heatmap import HeatmapView
from viz_model.topics.cross_attention import numbers as cross


def weights(of: Subject, shown: str = "head") -> np.ndarray:
    """[Tq, Ts]: those of the "head", or the "average" of all heads of the layer."""
    every = cross.patterns(of.trace, of.layer)
    return np.asarray(every[of.head] if shown == "head" else every.mean(0))


def weight_map(of: Subject, shown: str = "head") -> Drawn:
    """One map, a row a target token; the subject's run is seen from the decoder."""
    source, target, site = cross.source_labels(of.trace), cross.target_labels(of.trace), of.at("cross.pattern")
    spans = tuple(range(len(target))), tuple(range(len(source)))
    view = HeatmapView(
        values=weights(of, shown),
        rows=target,
        columns=source,
        site=f"{site} · {of.words(f'shown_{shown}')}",
        role="pattern",
        scale="probability",
        row_axis=of.words("axis_target"),
        column_axis=of.words("axis_source"),
        selected_row=of.token,
        cells=Cells(site, (of.head, ROW, COLUMN), *spans) if shown == "head" else None,
    )
    head = of.head if shown == "head" else None
    call = of.call("cross", layer=of.layer, head=head, token=of.token)
    return Drawn(strips.matrix(view, written=True), of.words("map_alt"), view, (site,), call)
