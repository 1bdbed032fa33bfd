"""What both twins expect next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from viz_model.drawing import axes, bars, theme
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import percent
from viz_model.topics.norm_placement.pictures.look import COLOURS, MARGIN, NAMES, Numbers


class PredictionsView(NamedTuple):
    """Next-token probabilities of two distributions for the tokens that either ranks among its first.

    ``labels`` [N] and ``probs`` {name: [N]} in falling order of the larger probability; ``top``
    names each distribution's first choice and ``overlap`` is Σ min(p, q) over the full vocabulary.
    """

    labels: tuple[str, ...]
    probs: Numbers
    top: Mapping[str, str]
    top_probs: Mapping[str, float]
    overlap: float

    def facts(self) -> dict[str, str]:
        """For prose; the values of keys in ``_top`` are tokens, as typed by whoever made them."""
        return {
            "overlap": f"{self.overlap:.0%}",
            **{f"{name}_top": label for name, label in self.top.items()},
            **{f"{name}_p": percent(p) for name, p in self.top_probs.items()},
        }


def draw_predictions(view: PredictionsView) -> Sheet:
    """Two bars a token."""
    figure = Sheet()
    rows = theme.unique(view.labels)
    for name, probs in view.probs.items():
        bars.across(
            figure,
            probs,
            COLOURS[name],
            rows=rows,
            width=None,
            name=NAMES[name],
            hover="%{y}<br><b>%{x:.3%}</b>",
            extra=NAMES[name],
            outside=[percent(p) for p in probs],
            size=theme.SMALL,
            constraintext="none",
        )
    top = max(float(probs.max()) for probs in view.probs.values())
    figure.update_layout(barmode="group", bargap=0.3, bargroupgap=0.06)
    figure.update_yaxes(type="category", autorange="reversed", **theme.ticks(view.labels))
    axes.across(figure, grid=True, tickformat=".0%" if top > 0.05 else ".2%", range=[0, top * 1.18], nticks=6)
    return theme.finished(figure, height=70 + 38 * len(rows), margin=MARGIN, legend="above")
