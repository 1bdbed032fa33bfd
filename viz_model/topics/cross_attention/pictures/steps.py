"""The steps of one query, from products to a mixed value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing.brief import brief
from viz_model.drawing.cells import COLUMN, Cells, span_of
from viz_model.drawing.strips import StripsView, scaled
from viz_model.drawing.strips import steps as aligned

MAX_WRITTEN = 16
"""Keys of one query that are drawn at the most, so that every cell has room for its number."""
STEPS = (
    "products",
    "products_normed",
    "products_rotated",
    "scores",
    "scores_width",
    "capped",
    "bias",
    "masked",
    "masked_bias",
    "pattern",
)
"""The keys that :meth:`StepsView.rows` may hold."""


@brief
class StepsView(NamedTuple):
    """One query's way from dot products to a mixed value. Arrays over the keys are [T].

    ``products`` q·k of the form that this model makes scores of; ``scores`` after ÷√K, where it
    divides; ``capped`` those kept within a cap, or None; ``bias`` what its position scheme adds, or None;
    ``mask`` 0 or −∞; ``masked`` the sum of these; ``pattern`` after softmax; ``values`` the value vectors [T, K],
    ``z`` their weighted sum [K]. ``at`` is what the names of the layer's values begin with; empty where they are not
    the run's.
    """

    labels: tuple[str, ...]
    query: int
    form: str
    scaled: bool
    width: bool
    """Whether what stands under the root is another number than K."""
    products: np.ndarray
    scores: np.ndarray
    capped: np.ndarray | None
    bias: np.ndarray | None
    mask: np.ndarray
    masked: np.ndarray
    pattern: np.ndarray
    values: np.ndarray
    z: np.ndarray
    at: str = ""
    head: int = 0
    is_cross: bool = False
    """Whether the keys are another text's."""

    def cells(self, step: str) -> Cells | None:
        """Which numbers a row of :meth:`rows` shows, in the columns of :meth:`shown`.

        Products are no value of their own: they are the first step of the scores.
        """
        if not self.at:
            return None
        site = "scores" if step.startswith("products") else step.removesuffix("_bias").removesuffix("_width")
        return Cells(f"{self.at}{site}", (self.head, self.query, COLUMN), columns=span_of(self.shown()))

    def rows(self) -> dict[str, np.ndarray]:
        """The rows over the keys that this model has, by the key of their name, in order."""
        rows = {f"products{self.form}": self.products}
        if self.scaled:
            rows["scores_width" if self.width else "scores"] = self.scores
        if self.capped is not None:
            rows["capped"] = self.capped
        if self.bias is not None:
            rows["bias"] = self.bias
        rows["masked" if self.bias is None else "masked_bias"] = self.masked
        return {**rows, "pattern": self.pattern}

    @property
    def fetched(self) -> np.ndarray:
        """The length of each weighted value, [T]."""
        return np.asarray(self.pattern * np.linalg.norm(self.values, axis=-1))

    @property
    def n_seen(self) -> int:
        """How many keys the mask shows."""
        return int(np.isfinite(self.mask).sum())

    def shown(self, most: int = MAX_WRITTEN) -> np.ndarray:
        """Positions of the keys to draw: of long texts the query's own, where it is a key, and those of most weight.

        One key that the mask hides stands among them, where there is one.
        """
        length = len(self.labels)
        if length <= most:
            return np.arange(length)
        own = [] if self.is_cross else [self.query]
        hidden = np.flatnonzero(~np.isfinite(self.mask))
        example = hidden[np.abs(hidden - self.query).argsort(kind="stable")[:1]]
        rest = np.setdiff1d(np.flatnonzero(np.isfinite(self.mask)), own)
        rest = rest[np.argsort(-self.pattern[rest], kind="stable")[: most - len(own) - len(example)]]
        return np.sort(np.concatenate([own, example, rest])).astype(int)


def step_strips(view: StepsView, names: Mapping[str, str]) -> StripsView:
    """Rows of aligned cells, one column a key, and the weighted value vectors as bars below.

    ``names`` has a name for each of :data:`STEPS`, and for the bars, "weighted". Of long texts
    only the keys of :meth:`StepsView.shown` are drawn.
    """
    shown = view.shown()
    drawn = [
        scaled(names[step], values[shown], "share" if step == "pattern" else "signed", cells=view.cells(step))
        for step, values in view.rows().items()
    ]
    drawn.append(scaled(names["weighted"], view.fetched[shown], "bars", role="value"))
    return aligned(drawn, [view.labels[position] for position in shown], span_of(shown))
