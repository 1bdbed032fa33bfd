"""What the sections of this page tell of: the decoder's run, and the weights that are shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from viz_model.app import elements, frame
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.cells import COLUMN, Cells, Index
from viz_model.drawing.writing import percent
from viz_model.measures.heads import largest
from viz_model.texts.markdown import literal
from viz_model.topics.cross_attention import figures
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.choices import SHOWN


class Weights(NamedTuple):
    """The patterns of a layer.

    Attributes:
        page: seen from the decoder, whichever stack the visitor looks at.
        shown: "head", or "average" of all heads.
        every: [H, Tq, Ts]
        pattern: [Tq, Ts], those that are shown.
        facts: for prose, the selected target token, and what it reads.
    """

    page: Page
    shown: str
    every: np.ndarray
    pattern: np.ndarray
    facts: dict[str, object]

    @classmethod
    def of(cls, page: Page) -> Weights:
        page = seen_from(page, "decoder")
        shown = elements.on_offer(page, SHOWN, ("head", "average"))
        every, pattern = cross.patterns(page.trace, page.view.layer), figures.weights(page.subject, shown)
        return cls(page, shown, every, pattern, _facts(page, pattern))

    def of_head(self, page: Page) -> np.ndarray:
        """The pattern that is shown where the page looks at another layer or head."""
        return figures.weights(page.subject, self.shown)

    @property
    def source(self) -> tuple[str, ...]:
        """Labels of the source's tokens."""
        return cross.source_labels(self.page.trace)

    def row_cells(self, page: Page) -> Cells | None:
        """Which numbers of the run the selected token's row shows."""
        query: Index = (page.view.head, page.token, COLUMN)
        return Cells(page.at("cross.pattern"), query) if self.shown == "head" else None

    def labels(self, part: str, keys: Sequence[str]) -> dict[str, str]:
        """The words of a picture by key."""
        return {key: self.page.words(f"{part}_{key}") for key in keys}


def seen_from(page: Page, side: Side) -> Page:
    """The same page with its trace seen from one stack.

    The selected token is that stack's last one where none of its own is selected.
    """
    if page.trace.side == side:
        return page
    trace = page.trace.at(side)
    layer = min(page.view.layer, trace.n_layers - 1)
    view = replace(page.view, side=side, layer=layer)
    # What is selected in the browser is the other stack's; its layers count alike, as far as both have them.
    without = page.without | ({"token"} if layer == page.view.layer else {"layer", "token"})
    return replace(page, trace=trace, token=len(trace) - 1, view=view, without=without)


def _facts(page: Page, pattern: np.ndarray) -> dict[str, object]:
    source, config, row = cross.source_labels(page.trace), page.lm.config, pattern[page.token]
    top = largest(row)
    return {
        "token": page.token_name(),
        "strongest": literal(source[top.at]),
        "weight": percent(top.weight),
        "spread": f"{cross.spread(row):.1f}",
        "even": percent(1 / len(source)),
        "n_source": len(source),
        "n_target": len(page.trace),
        "start": frame.start(page.trace, page.t),
        "layer": page.view.layer,
        "head": page.view.head,
        "n_heads": config.n_heads,
        "n_layers": config.n_layers,
        "n_encoder_layers": config.n_encoder_layers,
    }
