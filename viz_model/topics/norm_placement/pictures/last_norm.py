"""What the last norm does, one part at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, theme
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import percent
from viz_model.topics.norm_placement.numbers.last_norm import VARIANTS, LastNorm
from viz_model.topics.norm_placement.pictures.look import COLOURS, MARGIN, NAMES


class LastNormView(NamedTuple):
    """Of the token that is looked at under each variant of the last norm: what is drawn [4], and what is written."""

    values: np.ndarray
    texts: tuple[str, ...]

    @classmethod
    def of(cls, found: LastNorm, token: int, choices: Sequence[str]) -> LastNormView:
        """The largest probability with its token, one of ``choices`` [4]; the length of a vector without logits."""
        if found.p is None:
            lengths = found.lengths[:, token]
            return cls(lengths, tuple(f"{length:.1f}" for length in lengths))
        p = found.p[:, token]
        return cls(p, tuple(f"{choice} {percent(float(each))}" for choice, each in zip(choices, p, strict=True)))


def facts(found: LastNorm) -> dict[str, str]:
    """For prose: medians over the positions, and at how many the first choice is another than without the norm."""
    said = {"level": f"{found.level:.1f}", "gain": f"{found.gain:.2f}", "positions": str(found.lengths.shape[1])}
    for n, variant in enumerate(VARIANTS):
        said[f"{variant}_length"] = f"{np.median(found.lengths[n]):.1f}"
        if found.p is not None:
            said[f"{variant}_p"], said[f"{variant}_changed"] = (
                percent(np.median(found.p[n])),
                str(found.changed(variant)),
            )
    return said


def draw_last_norm(views: Mapping[str, LastNormView], names: Sequence[str], axis: str) -> Sheet:
    """A bar a variant and model: the largest probability with its token, or the vector's length."""
    figure, rows = Sheet(), list(range(len(VARIANTS)))
    for place, view in views.items():
        texts = [theme.plain(text) for text in view.texts]
        look = {"name": NAMES[place], "outside": texts, "hover": "<b>%{x:.3f}</b>", "extra": NAMES[place]}
        bars.across(figure, view.values, COLOURS[place], rows=rows, width=None, constraintext="none", **look)
    figure.update_layout(barmode="group", bargap=0.3, bargroupgap=0.06)
    axes.rows(figure, names, edge=0.5)
    largest = max(float(view.values.max()) for view in views.values())
    axes.across(figure, axis, grid=True, range=[0, largest * 1.35], nticks=6)
    return theme.finished(figure, height=110 + 34 * len(rows) * len(views), margin=MARGIN, legend="above")
